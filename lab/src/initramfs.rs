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
const SERVICE: &[u8] = include_bytes!("../guest/service.sh");

/// Builds the archive for one guest, with a second kernel to install if given. It is not compressed: QEMU reads it
/// faster than a guest decompresses it.
///
/// # Errors
/// [`LabError::File`] when a program or module cannot be read.
pub fn build(
    programs: &HostPrograms,
    ready: &BootableKernel,
    beside: Option<&BootableKernel>,
    userland: Option<&Userland>,
    cell: &ScenarioCell,
    script: &str,
) -> Result<Vec<u8>, LabError> {
    let mut archive = Archive::default();
    for dir in [
        "bin", "dev", "proc", "sys", "run", "tmp", "root", "etc", "var", "var/lib", "modules",
    ] {
        archive.dir(dir);
    }
    archive.program("init", INIT);
    archive.program("bin/lab.sh", LIBRARY);
    archive.program("bin/lab", b"#!/bin/sh\n. /bin/lab.sh\n\"$@\"\n");
    let busybox = ready.unpacked.busybox().unwrap_or_else(|| programs.busybox.clone());
    archive.program("bin/busybox", &read(&busybox)?);
    archive.link("bin/sh", "busybox");
    archive.program("bin/quietcore", &read(&programs.quietcore)?);
    archive.program("bin/lab-guest", &read(&programs.guest)?);
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
    if let Some(userland) = userland {
        archive.program("bin/service.sh", SERVICE);
        userland.install(&mut archive)?;
        Userland::link(&mut archive, cell.shape.packages);
    }
    Ok(archive.finish())
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
