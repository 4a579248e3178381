//! Tests the boot line on a disk with Debian's GRUB: what the boot loader really starts after an edit.

use super::boot_disk::GuestSequence;
use crate::disk::{Disk, Firmware};
use crate::kernels::K6_1;
use crate::packages::GRUB;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs with the kernel that Debian ships with this GRUB.
pub const SCENARIO: Scenario = Scenario {
    name: "boot_grub",
    about: "a disk with GRUB: the boot line is set or tried, isolates, and is cleared to the same bytes",
    cells,
    script,
    check,
};

const DISK: Disk = Disk {
    firmware: Firmware::Bios,
    install: concat!(
        include_str!("../../guest/disk.sh"),
        include_str!("../../guest/install-grub.sh")
    ),
    size_mib: 256,
};

/// A guest with that disk.
pub(super) const SHAPE: GuestShape = GuestShape {
    memory_mib: 512,
    modules: &["virtio_pci", "virtio_blk", "crc32c_generic", "ext4"],
    packages: Some(&GRUB),
    disk: Some(&DISK),
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    let cell = |story: GuestSequence| {
        let shape = GuestShape {
            name: story.name(),
            ..SHAPE
        };
        ScenarioCell::new(K6_1, CgroupLayout::V2).on(shape).within(500)
    };
    [GuestSequence::Trial, GuestSequence::Set].map(cell).into()
}

fn script(cell: &ScenarioCell) -> String {
    GuestSequence::of(cell.shape.name).script("")
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    GuestSequence::of(cell.shape.name).check(seen, verdict);
}
