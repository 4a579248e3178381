//! The boot line on a disk with systemd-boot: what the boot loader really starts after an edit.

use super::boot_disk;
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
    about: "a disk with systemd-boot: the boot line is set, isolates, and is cleared to the same bytes",
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
    vec![Cell::new(K7, Layout::V2).on(SHAPE).within(240)]
}

const EDITS: &str = "entry=$(ls /boot/efi/loader/entries/*.conf)
edit_set() { sed -i 's/^options.*/& isolcpus=managed_irq,domain,2-3 nohz_full=2-3/' $entry; }
edit_clear() { sed -i 's/ isolcpus=.*//' $entry; }
";

fn script(_: &Cell) -> String {
    boot_disk::set_and_clear(EDITS)
}

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
    boot_disk::check_set_and_clear(seen, verdict);
}
