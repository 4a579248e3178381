//! Tests the boot line on a disk with systemd-boot: what the boot loader really boots after an edit.

use super::boot_disk::GuestSequence;
use crate::disk::{Disk, Firmware};
use crate::kernels::K7;
use crate::packages::SYSTEMD_BOOT;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs with the newest kernel, started by its own EFI stub.
pub const SCENARIO: Scenario = Scenario {
    name: "boot_systemd",
    about: "a disk with systemd-boot: the boot line is set or tried, isolates, and is cleared to the same bytes",
    cells,
    script,
    check,
};

const DISK: Disk = Disk {
    firmware: Firmware::Uefi,
    install: concat!(
        include_str!("../../guest/disk.sh"),
        include_str!("../../guest/install-systemd-boot.sh")
    ),
    size_mib: 256,
};

const SHAPE: GuestShape = GuestShape {
    memory_mib: 512,
    modules: &[
        "virtio_pci",
        "virtio_blk",
        "crc32c_generic",
        "ext4",
        "vfat",
        "nls_cp437",
        "nls_ascii",
        "efivarfs",
    ],
    packages: Some(&SYSTEMD_BOOT),
    disk: Some(&DISK),
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    let cell = |story: GuestSequence| {
        let shape = GuestShape {
            name: story.name(),
            ..SHAPE
        };
        ScenarioCell::new(K7, CgroupLayout::V2).on(shape).within(500)
    };
    [GuestSequence::Trial, GuestSequence::Set].map(cell).into()
}

fn script(cell: &ScenarioCell) -> String {
    GuestSequence::of(cell.shape.name).script("")
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    GuestSequence::of(cell.shape.name).check(seen, verdict);
}
