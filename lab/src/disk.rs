//! Guests that boot from a disk, through real firmware and a real boot loader.
//!
//! The first guest is loaded by QEMU like all others. It makes partitions and file systems, copies itself there and
//! installs the boot loader, with Debian's own programs: so the host needs neither root nor tools. Then the machine
//! starts from that disk, as often as the scenario wants: `again` in a guest's script starts it anew, `$boot` counts.

use crate::error::LabError;
use crate::packages::{self, Packages};
use std::fs::File;
use std::path::Path;

/// A disk and what brings its boot loader up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The firmware.
    pub firmware: Firmware,
    /// The guest script that fills the empty disk `/dev/vda`; `$release` is the kernel's. It has to record `installed`.
    pub install: &'static str,
    /// Size, MiB. The file is sparse.
    pub size_mib: u64,
}

/// What runs before the boot loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firmware {
    /// QEMU's own BIOS.
    Bios,
    /// OVMF of Debian, with its variables in a file beside the disk.
    Uefi,
}

/// UEFI for virtual machines.
const OVMF: Packages = Packages {
    name: "ovmf-1",
    suite: "bookworm",
    names: &["ovmf"],
};

/// What QEMU is told of a disk.
pub struct Blank {
    /// The disk.
    pub disk: Vec<String>,
    /// The firmware. A kernel that QEMU loads itself needs none.
    pub firmware: Vec<String>,
}

/// Makes the empty disk and the firmware's memory in `dir`.
///
/// # Errors
/// [`LabError`] when it cannot be written, or the firmware is not to be had.
pub fn make(disk: &Disk, dir: &Path) -> Result<Blank, LabError> {
    let image = dir.join("disk");
    let file = File::create(&image).map_err(LabError::file(&image))?;
    file.set_len(disk.size_mib << 20)
        .map_err(LabError::file(&image))?;
    let arguments = vec![
        // The image is thrown away after the scenario: nobody has to wait for the host's disk.
        "-drive".to_owned(),
        format!("if=none,id=disk,format=raw,cache=unsafe,file={}", image.display()),
        "-device".to_owned(),
        "virtio-blk-pci,drive=disk".to_owned(),
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
    Ok(Blank {
        disk: arguments,
        firmware: drives,
    })
}

/// Removes what [`make`] wrote.
pub fn remove(dir: &Path) {
    for name in ["disk", "variables"] {
        std::fs::remove_file(dir.join(name)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_empty_and_of_its_size_and_goes_again() {
        let dir = std::env::temp_dir().join(format!("lab-disk-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let disk = Disk {
            firmware: Firmware::Bios,
            install: "",
            size_mib: 3,
        };
        let blank = make(&disk, &dir).unwrap();
        let image = dir.join("disk");
        assert_eq!(std::fs::read(&image).unwrap(), vec![0; 3 << 20]);
        assert!(
            blank
                .disk
                .iter()
                .any(|word| word.ends_with(&format!("file={}", image.display())))
        );
        assert!(blank.firmware.is_empty(), "the BIOS is QEMU's own");
        remove(&dir);
        assert!(!image.exists());
        std::fs::remove_dir(&dir).unwrap();
    }
}
