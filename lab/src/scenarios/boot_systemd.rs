//! The boot line on a disk with systemd-boot: what the boot loader actually boots after an edit.

use super::boot_disk::Story;
use crate::disk::{Disk, Firmware};
use crate::kernels::K7;
use crate::packages::SYSTEMD_BOOT;
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::{Layout, Shape, USUAL};
use crate::verdict::Verdict;

/// With the newest kernel, started by its own EFI stub.
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

const SHAPE: Shape = Shape {
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

fn cells() -> Vec<Cell> {
    let cell = |story: Story| {
        let shape = Shape {
            name: story.name(),
            ..SHAPE
        };
        Cell::new(K7, Layout::V2).on(shape).within(500)
    };
    [Story::Trial, Story::Set].map(cell).into()
}

fn script(cell: &Cell) -> String {
    Story::of(cell.shape.name).script("")
}

fn check(cell: &Cell, seen: &Records, verdict: &mut Verdict) {
    Story::of(cell.shape.name).check(seen, verdict);
}
