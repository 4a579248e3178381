//! Extracts the image and a few modules from a kernel's packages. The rest is not kept.

use crate::apt::{Apt, Refresh, cache_dir};
use crate::error::{LabError, run};
use crate::kernels::{BootableKernel, LabKernel, version_key};
use crate::vmlinux;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Modules that scenarios may request; their dependencies are included.
const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_blk",
    "nvme",
    "ahci",
    "sd_mod",
    "virtio_mmio",
    "virtio_console",
    // ext4 requests this module from the kernel by the name of its algorithm, which no dependency list contains.
    "crc32c_generic",
    "ext4",
    "vfat",
    "nls_cp437",
    "nls_ascii",
    "efivarfs",
    "virtio_rng",
    "cpuid",
];

/// A kernel's files in the cache.
#[derive(Clone, Debug)]
pub struct UnpackedKernel {
    /// Contains `vmlinuz` and `modules/`.
    pub dir: PathBuf,
}

impl UnpackedKernel {
    /// The kernel image.
    #[must_use]
    pub fn image(&self) -> PathBuf {
        self.dir.join("vmlinuz")
    }

    /// The file that QEMU loads: the decompressed kernel if it exists, otherwise the image.
    #[must_use]
    pub fn boots(&self) -> PathBuf {
        let plain = self.dir.join("vmlinux");
        if plain.is_file() { plain } else { self.image() }
    }

    /// Whether it was unpacked with the current list of modules.
    fn is_whole(&self) -> bool {
        let order = std::fs::read_to_string(self.dir.join("order")).unwrap_or_default();
        let names: Vec<&str> = order.lines().filter_map(|line| line.split(' ').next()).collect();
        self.image().is_file() && MODULES.iter().all(|module| names.contains(module))
    }

    /// A busybox for the kernel's architecture, if it differs from the host's.
    #[must_use]
    pub fn busybox(&self) -> Option<PathBuf> {
        Some(self.dir.join("busybox")).filter(|path| path.is_file())
    }

    /// Module files for `insmod`, dependencies first.
    #[must_use]
    pub fn modules(&self, names: &[&str]) -> Vec<PathBuf> {
        let order = std::fs::read_to_string(self.dir.join("order")).unwrap_or_default();
        let mut files = Vec::new();
        for line in order.lines() {
            let mut words = line.split_whitespace();
            if words.next().is_some_and(|name| names.contains(&name)) {
                for module in words.map(|module| self.dir.join("modules").join(format!("{module}.ko"))) {
                    if !files.contains(&module) {
                        files.push(module);
                    }
                }
            }
        }
        files
    }
}

/// Provides kernels: from the cache if possible, otherwise downloaded. Returns one result for each. A missing kernel
/// does not affect the others.
#[must_use]
pub fn ready(kernels: &[LabKernel]) -> Vec<(LabKernel, Result<BootableKernel, LabError>)> {
    let cache = cache_dir();
    let mut lists: BTreeMap<&str, Result<PackageLists, String>> = BTreeMap::new();
    let mut one = |kernel: LabKernel| {
        let opened = || PackageLists::open(&cache, kernel.arch).map_err(|error| error.to_string());
        let fetched = match lists.entry(kernel.arch).or_insert_with(opened) {
            Ok(lists) => fetch(&cache, kernel, lists),
            Err(why) => Err(LabError::NoKernel {
                id: kernel.id.to_owned(),
                why: why.clone(),
            }),
        };
        // If a kernel is in the cache, an unreachable mirror is not an error.
        fetched.or_else(|error| newest_cached(&cache, kernel).ok_or(error))
    };
    kernels.iter().map(|kernel| (*kernel, one(*kernel))).collect()
}

/// The packages that the mirror offers for one architecture.
struct PackageLists {
    apt: Apt,
    names: Vec<String>,
}

impl PackageLists {
    fn open(cache: &Path, arch: &'static str) -> Result<PackageLists, LabError> {
        let apt = Apt::prepare(&cache.join(format!("apt-{arch}")), arch)?;
        // While a mirror is being updated, it may serve only some suites. Those are enough.
        let refreshed = apt.refresh(Refresh::WhenOld);
        let names = apt.kernel_packages()?;
        if names.is_empty() {
            refreshed?;
        }
        Ok(PackageLists { apt, names })
    }
}

fn fetch(cache: &Path, kernel: LabKernel, lists: &mut PackageLists) -> Result<BootableKernel, LabError> {
    newest(cache, kernel, lists).or_else(|_| {
        // The lists may be older than the mirror, which drops a package when its successor arrives.
        lists.apt.refresh(Refresh::Always)?;
        lists.names = lists.apt.kernel_packages()?;
        newest(cache, kernel, lists)
    })
}

fn newest(cache: &Path, kernel: LabKernel, lists: &PackageLists) -> Result<BootableKernel, LabError> {
    let (release, packages) = kernel.newest(&lists.names).ok_or_else(|| LabError::NoKernel {
        id: kernel.id.to_owned(),
        why: format!(
            "none of {} packages in {} fits",
            lists.names.len(),
            kernel.suites.join(", ")
        ),
    })?;
    let unpacked = UnpackedKernel {
        dir: kernel_dir(cache, kernel).join(&release),
    };
    if !unpacked.is_whole() {
        let mut package_names = packages;
        if kernel.arch != "amd64" {
            package_names.push("busybox-static".to_owned());
        }
        let debs = lists.apt.download(&package_names)?;
        unpack(&debs, &release, &unpacked)?;
    }
    if kernel.arch == "amd64" {
        vmlinux::beside(&unpacked.image())?;
    }
    Ok(BootableKernel {
        kernel,
        release,
        unpacked,
    })
}

fn kernel_dir(cache: &Path, kernel: LabKernel) -> PathBuf {
    cache.join("kernels").join(kernel.id)
}

fn newest_cached(cache: &Path, kernel: LabKernel) -> Option<BootableKernel> {
    let entries = std::fs::read_dir(kernel_dir(cache, kernel)).ok()?;
    let releases = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let with_image = releases.filter(|name| kernel_dir(cache, kernel).join(name).join("vmlinuz").is_file());
    let release = with_image.max_by_key(|name| version_key(name))?;
    let unpacked = UnpackedKernel {
        dir: kernel_dir(cache, kernel).join(&release),
    };
    Some(BootableKernel {
        kernel,
        release,
        unpacked,
    })
}

/// Unpacks into a temporary directory and renames it at the end, so that an interrupted run leaves no incomplete
/// kernel.
fn unpack(debs: &[PathBuf], release: &str, to: &UnpackedKernel) -> Result<(), LabError> {
    let whole = to.dir.with_extension("whole");
    let part = to.dir.with_extension("part");
    for dir in [&whole, &part] {
        std::fs::remove_dir_all(dir).ok();
    }
    std::fs::create_dir_all(part.join("modules")).map_err(LabError::file(&part))?;
    for deb in debs {
        run(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&whole))?;
    }
    let images = [
        whole.join(format!("boot/vmlinuz-{release}")),
        whole.join(format!("usr/lib/modules/{release}/vmlinuz")),
        whole.join(format!("lib/modules/{release}/vmlinuz")),
    ];
    let image = images
        .iter()
        .find(|image| image.is_file())
        .ok_or_else(|| LabError::NoKernel {
            id: release.to_owned(),
            why: "its packages hold no kernel image where the lab looks".to_owned(),
        })?;
    std::fs::copy(image, part.join("vmlinuz")).map_err(LabError::file(image))?;
    for busybox in [whole.join("bin/busybox"), whole.join("usr/bin/busybox")] {
        if busybox.is_file() {
            std::fs::copy(&busybox, part.join("busybox")).map_err(LabError::file(&busybox))?;
        }
    }
    copy_modules(&whole, &part)?;
    std::fs::remove_dir_all(&whole).map_err(LabError::file(&whole))?;
    for deb in debs {
        std::fs::remove_file(deb).map_err(LabError::file(deb))?;
    }
    // An older copy with fewer modules may exist and be in use by guests that are starting, so it is replaced as late
    // as possible.
    std::fs::remove_dir_all(&to.dir).ok();
    std::fs::rename(&part, &to.dir).map_err(LabError::file(&to.dir))
}

/// Copies [`MODULES`] and their dependencies, and writes `order`: a module's name, then the files to load (none if it
/// is built in).
fn copy_modules(whole: &Path, part: &Path) -> Result<(), LabError> {
    let mut found = BTreeMap::new();
    find_modules(whole, &mut found);
    let mut order = String::new();
    for module in MODULES {
        let mut chain = Vec::new();
        depend(module, &found, &mut chain)?;
        for name in &chain {
            if let Some(file) = found.get(name) {
                plain_copy(file, &part.join("modules").join(format!("{name}.ko")))?;
            }
        }
        chain.insert(0, (*module).to_owned());
        order.push_str(&format!("{}\n", chain.join(" ")));
    }
    let path = part.join("order");
    std::fs::write(&path, order).map_err(LabError::file(&path))
}

fn find_modules(dir: &Path, found: &mut BTreeMap<String, PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_modules(&path, found);
        } else if let Some((name, _)) = entry.file_name().to_string_lossy().split_once(".ko") {
            found.insert(name.replace('-', "_"), path);
        }
    }
}

/// Adds a module after all its dependencies. A built-in module has no file and is skipped.
fn depend(name: &str, found: &BTreeMap<String, PathBuf>, chain: &mut Vec<String>) -> Result<(), LabError> {
    let name = name.replace('-', "_");
    let Some(file) = found.get(&name) else {
        return Ok(());
    };
    if chain.contains(&name) {
        return Ok(());
    }
    let needs = run(Command::new("modinfo").args(["-F", "depends"]).arg(file))?;
    for need in needs.trim().split(',').filter(|need| !need.is_empty()) {
        depend(need, found, chain)?;
    }
    chain.push(name);
    Ok(())
}

/// Copies a module uncompressed. Guests load modules with busybox, which may not support the compression.
fn plain_copy(file: &Path, to: &Path) -> Result<(), LabError> {
    if file.extension().is_some_and(|end| end == "xz") {
        let output = Command::new("xz")
            .arg("-dc")
            .arg(file)
            .output()
            .map_err(LabError::file(file))?;
        return std::fs::write(to, output.stdout).map_err(LabError::file(to));
    }
    std::fs::copy(file, to).map(|_| ()).map_err(LabError::file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_unpacked_with_an_older_module_list_is_incomplete() {
        let dir = std::env::temp_dir().join(format!("lab-unpacked-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let kernel = UnpackedKernel { dir: dir.clone() };
        std::fs::write(kernel.image(), "").unwrap();
        let lines: Vec<String> = MODULES.iter().map(|name| format!("{name}\n")).collect();
        let with = |lines: &[String]| std::fs::write(dir.join("order"), lines.concat()).unwrap();
        with(&lines);
        assert!(kernel.is_whole());
        assert!(kernel.modules(MODULES).is_empty(), "what is built in has no file");
        with(&lines[1..]);
        assert!(!kernel.is_whole());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
