//! Tests the boot line on the disk of a Raspberry Pi, with the arm64 binary on an arm64 kernel. QEMU has no firmware
//! that reads `cmdline.txt`, so the lab passes the edited line to the kernel.

use super::boot_disk::GuestSequence;
use crate::disk::{Disk, Firmware};
use crate::kernels::ARM64;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs in `make dist`.
pub const SCENARIO: Scenario = Scenario {
    name: "boot_raspberry_pi",
    about: "arm64 with cmdline.txt: the boot line is set or tried, isolates, and is cleared to the same bytes",
    cells,
    script,
    check,
};

const DISK: Disk = Disk {
    firmware: Firmware::Lines {
        always: "cmdline.txt",
        once: "tryboot.txt",
    },
    install: concat!(
        include_str!("../../guest/disk.sh"),
        include_str!("../../guest/install-raspberry-pi.sh")
    ),
    size_mib: 256,
};

const SHAPE: GuestShape = GuestShape {
    memory_mib: 512,
    modules: &[
        "virtio_mmio",
        "virtio_console",
        "virtio_blk",
        "crc32c_generic",
        "ext4",
        "vfat",
        "nls_cp437",
        "nls_ascii",
    ],
    disk: Some(&DISK),
    ..USUAL
};

/// Emulates the firmware: it boots the line of `cmdline.txt` or, after `reboot '0 tryboot'`, the line of the file that
/// `tryboot.txt` names.
const FIRMWARE: &str = "force=--force
again() {
    rec cmdline.txt cat /boot/firmware/cmdline.txt
    sync
    reboot -f
}
again_without_power() { again; }
again_tried() {
    rec tryboot.txt cat /boot/firmware/$(sed -n 's/^cmdline=//p' /boot/firmware/tryboot.txt)
    again
}
[ $LAB_BOOT = 1 ] && rec unforced quietcore boot set --cpus 2-3 --dry-run
";

fn cells() -> Vec<ScenarioCell> {
    let cell = |story: GuestSequence| {
        let shape = GuestShape {
            name: story.name(),
            ..SHAPE
        };
        ScenarioCell::new(ARM64, CgroupLayout::V2).on(shape).within(500)
    };
    [GuestSequence::Trial, GuestSequence::Set].map(cell).into()
}

fn script(cell: &ScenarioCell) -> String {
    GuestSequence::of(cell.shape.name).script(FIRMWARE)
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    GuestSequence::of(cell.shape.name).check(seen, verdict);
    let unforced = seen.get("1/unforced");
    verdict.that(
        !matches!(unforced.status, -1 | 0),
        format!("the only line is edited without --force: {}", unforced.text()),
    );
}
