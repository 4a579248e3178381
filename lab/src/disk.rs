//! Boots guests from a disk, through real firmware and a real boot loader.
//!
//! QEMU loads the first guest like all others. That guest creates partitions and file systems, copies itself there and
//! installs the boot loader, with Debian's own programs, so the host needs neither root nor tools. Then the machine
//! boots from that disk as often as the scenario needs: `again` in the guest's script restarts it, and `$LAB_BOOT`
//! counts the boots.

use crate::error::LabError;
use crate::packages::{self, Packages};
use crate::records::GuestRecords;
use crate::vm::{VmBoot, VmEnd, VmMachine, VmOutcome, boot};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// A disk and how its boot loader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The firmware.
    pub firmware: Firmware,
    /// The guest script that fills the empty disk `/dev/vda`; `$release` is the kernel's. It must record `installed`.
    pub install: &'static str,
    /// Size, MiB. The file is sparse.
    pub size_mib: u64,
}

/// A system whose boot lines are plain files, and no boot loader.
pub const PLAIN: Disk = Disk {
    firmware: Firmware::Lines {
        always: "line",
        once: "never",
    },
    install: concat!(
        include_str!("../guest/disk.sh"),
        include_str!("../guest/install-plain.sh")
    ),
    size_mib: 128,
};

/// The firmware that runs before the boot loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firmware {
    /// QEMU's own BIOS.
    Bios,
    /// OVMF of Debian, with its variables in a file beside the disk.
    Uefi,
    /// Firmware that QEMU lacks. The lab loads the kernel instead, and passes the boot line as that firmware does.
    Lines {
        /// The record with the boot line, valid until the next such record. The guest that fills the disk makes the
        /// first.
        always: &'static str,
        /// The record with a boot line for the next boot only.
        once: &'static str,
    },
}

/// UEFI firmware for virtual machines.
const OVMF: Packages = Packages {
    name: "ovmf-1",
    suite: "bookworm",
    names: &["ovmf"],
};

/// Maximum number of boots of a machine whose boot lines the lab passes.
const MOST_STARTS: u32 = 12;

/// Fills a disk in a first guest, then boots the machine from it until the scenario ends.
///
/// # Errors
/// [`LabError`] when QEMU cannot be started, or the firmware is not available.
pub fn boot_from(
    disk: &Disk,
    image: &Path,
    initramfs: &[u8],
    machine: &VmMachine,
    dir: &Path,
) -> Result<VmOutcome, LabError> {
    let blank = make(disk, machine.cell.kernel.arch, dir)?;
    let kernel = |line: Option<&str>, dir: &Path| {
        let start = VmBoot::Kernel { image, initramfs, line };
        boot(&start, &blank.disk, machine, dir)
    };
    let mut outcome = kernel(None, &dir.join("install"))?;
    if outcome.records.get("installed").status == 0 {
        let installed = outcome.duration;
        outcome = match disk.firmware {
            Firmware::Bios | Firmware::Uefi => {
                let devices = [blank.disk.clone(), blank.firmware].concat();
                boot(&VmBoot::Disk, &devices, machine, dir)?
            }
            Firmware::Lines { always, once } => {
                let next = |line: &str, time: u32| kernel(Some(line), &dir.join(format!("boot{time}")));
                by_lines(&outcome.records, [always, once], &next)?
            }
        };
        outcome.duration += installed;
    } else if outcome.end != VmEnd::Emulator {
        outcome.end = VmEnd::NotInstalled;
    }
    remove(dir);
    Ok(outcome)
}

/// Runs the boots one after the other, each with the boot line from the records of the previous one.
fn by_lines(
    installed: &GuestRecords,
    [always, once]: [&str; 2],
    next: &dyn Fn(&str, u32) -> Result<VmOutcome, LabError>,
) -> Result<VmOutcome, LabError> {
    let mut line = recorded(installed, always).unwrap_or_default();
    let mut tried = None;
    let (mut records, mut took) = (GuestRecords::default(), Duration::ZERO);
    let mut time = 1;
    loop {
        let mut outcome = next(&tried.unwrap_or_else(|| line.clone()), time)?;
        line = recorded(&outcome.records, always).unwrap_or(line);
        tried = recorded(&outcome.records, once);
        records.join(outcome.records);
        took += outcome.duration;
        if outcome.end != VmEnd::Stopped || time == MOST_STARTS {
            (outcome.records, outcome.duration) = (records, took);
            return Ok(outcome);
        }
        time += 1;
    }
}

/// The first line of a guest's record, whose name may start with the number of the boot.
fn recorded(records: &GuestRecords, name: &str) -> Option<String> {
    let found = records.names().find(|full| full.rsplit('/').next() == Some(name))?;
    records.get(found).stdout.lines().next().map(str::to_owned)
}

/// QEMU's arguments for a disk.
struct BlankDisk {
    disk: Vec<String>,
    /// Empty if QEMU loads the kernel itself.
    firmware: Vec<String>,
}

/// Creates the empty disk and the firmware's memory in `dir`.
fn make(disk: &Disk, arch: &str, dir: &Path) -> Result<BlankDisk, LabError> {
    let image = dir.join("disk");
    let file = File::create(&image).map_err(LabError::file(&image))?;
    file.set_len(disk.size_mib << 20).map_err(LabError::file(&image))?;
    let arguments = vec![
        // The image is deleted after the scenario, so no write must reach the host's disk.
        "-drive".to_owned(),
        format!("if=none,id=disk,format=raw,cache=unsafe,file={}", image.display()),
        "-device".to_owned(),
        if arch == "amd64" {
            "virtio-blk-pci,drive=disk".to_owned()
        } else {
            "virtio-blk-device,drive=disk".to_owned()
        },
    ];
    let mut drives = Vec::new();
    if disk.firmware == Firmware::Uefi {
        let firmware = packages::ready(&OVMF)?.join("usr/share/OVMF");
        let variables = dir.join("variables");
        let empty = firmware.join("OVMF_VARS_4M.fd");
        std::fs::copy(&empty, &variables).map_err(LabError::file(&empty))?;
        let code = firmware.join("OVMF_CODE_4M.fd");
        for (unit, file, more) in [(0, &code, ",readonly=on"), (1, &variables, "")] {
            drives.push("-drive".to_owned());
            drives.push(format!(
                "if=pflash,format=raw,unit={unit},file={}{more}",
                file.display()
            ));
        }
    }
    Ok(BlankDisk {
        disk: arguments,
        firmware: drives,
    })
}

/// Removes what [`make`] wrote.
fn remove(dir: &Path) {
    for name in ["disk", "variables"] {
        std::fs::remove_file(dir.join(name)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_image_is_empty_has_its_size_and_is_removed() {
        let dir = std::env::temp_dir().join(format!("lab-disk-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let disk = Disk {
            firmware: Firmware::Bios,
            install: "",
            size_mib: 3,
        };
        let blank = make(&disk, "amd64", &dir).unwrap();
        let image = dir.join("disk");
        assert_eq!(std::fs::read(&image).unwrap(), vec![0; 3 << 20]);
        assert!(
            blank
                .disk
                .iter()
                .any(|word| word.ends_with(&format!("file={}", image.display())))
        );
        assert!(blank.disk.contains(&"virtio-blk-pci,drive=disk".to_owned()));
        assert!(blank.firmware.is_empty(), "the BIOS is QEMU's own");
        remove(&dir);
        assert!(!image.exists());
        std::fs::remove_dir(&dir).unwrap();
    }
}
