//! The boot line on a disk with systemd-boot.

use crate::disk::{Disk, Firmware};
use crate::kernels::K6_1;
use crate::packages::SYSTEMD_BOOT;
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::{Layout, Shape, USUAL};
use crate::verdict::Verdict;

/// With the systemd-boot that Debian ships beside this kernel.
pub const SCENARIO: Scenario = Scenario {
    name: "boot_systemd",
    about: "a disk with systemd-boot: the boot line is set, isolates, and is cleared to the same bytes",
    cells,
    script,
    check,
};

const DISK: Disk = Disk {
    firmware: Firmware::Uefi,
    install: concat!(include_str!("../../guest/disk.sh"), include_str!("../../guest/install-systemd-boot.sh")),
    size_mib: 256,
};

const SHAPE: Shape = Shape {
    memory_mib: 512,
    modules: &["virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "vfat", "nls_cp437", "nls_ascii", "efivarfs"],
    packages: Some(&SYSTEMD_BOOT),
    disk: Some(&DISK),
    ..USUAL
};

fn cells() -> Vec<Cell> {
    vec![Cell::new(K6_1, Layout::V2).on(SHAPE).within(240)]
}

fn script(_: &Cell) -> String {
    "case $LAB_BOOT in
1) rec line cat /proc/cmdline; again ;;
2) rec line cat /proc/cmdline ;;
esac
".to_owned()
}

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
    verdict.status(seen, "1/line", 0);
    verdict.status(seen, "2/line", 0);
}
