//! The boot line on a disk with Debian's GRUB: what the boot loader really starts after an edit.

use super::boot_disk::Story;
use crate::disk::{Disk, Firmware};
use crate::kernels::K6_1;
use crate::packages::GRUB;
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::{Layout, Shape, USUAL};
use crate::verdict::Verdict;

/// With the kernel that Debian ships beside this GRUB.
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
pub(super) const SHAPE: Shape = Shape {
    memory_mib: 512,
    modules: &["virtio_pci", "virtio_blk", "crc32c_generic", "ext4"],
    packages: Some(&GRUB),
    disk: Some(&DISK),
    ..USUAL
};

fn cells() -> Vec<Cell> {
    let cell = |story: Story| {
        let shape = Shape {
            name: story.name(),
            ..SHAPE
        };
        Cell::new(K6_1, Layout::V2).on(shape).within(500)
    };
    [Story::Trial, Story::Set].map(cell).into()
}

fn script(cell: &Cell) -> String {
    Story::of(cell.shape.name).script("")
}

fn check(cell: &Cell, seen: &Records, verdict: &mut Verdict) {
    Story::of(cell.shape.name).check(seen, verdict);
}
