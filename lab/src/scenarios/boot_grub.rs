//! The boot line on a disk with Debian's GRUB: what the boot loader really starts after an edit.

use super::boot_disk;
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
    about: "a disk with GRUB: the boot line is set, isolates, and is cleared to the same bytes",
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

const SHAPE: Shape = Shape {
    memory_mib: 512,
    modules: &["virtio_pci", "virtio_blk", "crc32c_generic", "ext4"],
    packages: Some(&GRUB),
    disk: Some(&DISK),
    ..USUAL
};

fn cells() -> Vec<Cell> {
    vec![Cell::new(K6_1, Layout::V2).on(SHAPE).within(240)]
}

const EDITS: &str = "edit_set() {
    [ -d /etc/default/grub.d ] || mkdir /etc/default/grub.d
    echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus=managed_irq,domain,2-3 nohz_full=2-3\"' >/etc/default/grub.d/edit.cfg
    update-grub
}
edit_clear() {
    rm /etc/default/grub.d/edit.cfg
    update-grub
}
";

fn script(_: &Cell) -> String {
    boot_disk::set_and_clear(EDITS)
}

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
    boot_disk::check_set_and_clear(seen, verdict);
}
