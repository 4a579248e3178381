//! Builds the guest's only file system: busybox, the binary under test, the guest's own program, modules, the scenario.

use crate::error::LabError;
use crate::kernels::BootableKernel;
use crate::packages;
use crate::scenario::ScenarioCell;
use crate::userland::Userland;
use guest::Archive;
use std::path::{Path, PathBuf};

/// Programs of the host that go into every guest.
#[derive(Clone, Debug)]
pub struct HostPrograms {
    /// The static quietcore.
    pub quietcore: PathBuf,
    /// The static lab-guest.
    pub guest: PathBuf,
    /// A static busybox.
    pub busybox: PathBuf,
    /// The directory of quietcore's own packages, for guests that install them.
    pub debs: PathBuf,
}

const INIT: &[u8] = include_bytes!("../guest/init.sh");
const LIBRARY: &[u8] = include_bytes!("../guest/lab.sh");
const SERVICE: &[u8] = include_bytes!("../guest/lab.service");
const SERVICE_SCRIPT: &[u8] = include_bytes!("../guest/service.sh");

/// What a guest has in addition to the lab's own programs.
#[derive(Clone, Copy, Debug)]
pub enum GuestSystem<'a> {
    /// busybox.
    Busybox,
    /// busybox, and systemd as init.
    Systemd(&'a Userland),
    /// An installed Debian, as an archive (see [`crate::debian`]).
    Debian(&'a Path),
}

/// Builds the archive for one guest, with a second kernel to install if given. It is not compressed: QEMU reads it
/// faster than a guest decompresses it.
///
/// # Errors
/// [`LabError::File`] when a program or module cannot be read.
pub fn build(
    programs: &HostPrograms,
    ready: &BootableKernel,
    beside: Option<&BootableKernel>,
    system: GuestSystem<'_>,
    cell: &ScenarioCell,
    script: &str,
) -> Result<Vec<u8>, LabError> {
    let mut archive = Archive::default();
    archive.dir("modules");
    archive.program("init", INIT);
    match system {
        // There `/bin` is a link.
        GuestSystem::Debian(_) => lab_programs(&mut archive, "usr/bin", programs)?,
        GuestSystem::Busybox | GuestSystem::Systemd(_) => {
            for dir in [
                "bin", "dev", "proc", "sys", "run", "tmp", "root", "etc", "var", "var/lib",
            ] {
                archive.dir(dir);
            }
            let busybox = ready.unpacked.busybox().unwrap_or_else(|| programs.busybox.clone());
            archive.program("bin/busybox", &read(&busybox)?);
            archive.link("bin/sh", "busybox");
            archive.program("bin/quietcore", &read(&programs.quietcore)?);
            lab_programs(&mut archive, "bin", programs)?;
        }
    }
    modules(&mut archive, ready, "modules", "order", cell.shape.modules)?;
    modules(&mut archive, ready, "modules", "later", cell.shape.later)?;
    if let Some(beside) = beside {
        let dir = format!("modules-{}", beside.release);
        archive.dir(&dir);
        modules(&mut archive, beside, &dir, "order", cell.shape.modules)?;
    }
    if let Some(packages) = cell.shape.packages {
        packages::add(&mut archive, &packages::ready(packages)?)?;
    }
    for name in cell.shape.debs {
        archive.file(&format!("root/{name}"), &read(&programs.debs.join(name))?);
    }
    if let Some(disk) = cell.shape.disk {
        archive.dir("boot");
        archive.dir("mnt");
        for kernel in std::iter::once(ready).chain(beside) {
            archive.file(
                &format!("boot/vmlinuz-{}", kernel.release),
                &read(&kernel.unpacked.image())?,
            );
        }
        archive.program("install", disk.install.as_bytes());
    }
    archive.program("scenario", script.as_bytes());
    match system {
        GuestSystem::Busybox => {}
        GuestSystem::Systemd(userland) => {
            userland.install(&mut archive)?;
            Userland::link(&mut archive, cell.shape.packages);
            archive.file("etc/systemd/system/lab.service", SERVICE);
        }
        GuestSystem::Debian(installed) => {
            archive.program("root/quietcore", &read(&programs.quietcore)?);
            archive.file("etc/systemd/system/lab.service", SERVICE);
            // The kernel unpacks one archive after the other.
            let mut both = read(installed)?;
            both.extend(archive.finish());
            return Ok(both);
        }
    }
    Ok(archive.finish())
}

/// What runs a scenario.
fn lab_programs(archive: &mut Archive, bin: &str, programs: &HostPrograms) -> Result<(), LabError> {
    archive.program(&format!("{bin}/lab.sh"), LIBRARY);
    archive.program(&format!("{bin}/lab"), b"#!/bin/sh\n. /bin/lab.sh\n\"$@\"\n");
    archive.program(&format!("{bin}/service.sh"), SERVICE_SCRIPT);
    archive.program(&format!("{bin}/lab-guest"), &read(&programs.guest)?);
    Ok(())
}

/// The modules of a kernel, and the list of their load order.
fn modules(
    archive: &mut Archive,
    ready: &BootableKernel,
    dir: &str,
    list: &str,
    module_names: &[&str],
) -> Result<(), LabError> {
    let mut names = String::new();
    for module in ready.unpacked.modules(module_names) {
        let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        archive.program(&format!("{dir}/{name}"), &read(&module)?);
        names.push_str(&format!("/{dir}/{name}\n"));
    }
    archive.program(&format!("{dir}/{list}"), names.as_bytes());
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    std::fs::read(path).map_err(LabError::file(path))
}
