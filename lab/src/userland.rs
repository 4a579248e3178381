//! Provides systemd for guests that use it as init: its programs, their libraries, and targets without services. Its
//! journal is available for scenarios that start it, and dpkg of the same release for those that install packages.

use crate::apt::{Apt, Refresh, cache_dir};
use crate::error::{LabError, run};
use crate::kernels::{LabKernel, version_key};
use crate::packages::Packages;
use guest::Archive;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs that a guest runs. The executor exists since 255.
const PROGRAMS: &[&str] = &[
    "systemd",
    "systemd-executor",
    "systemd-shutdown",
    "systemctl",
    "systemd-run",
    "systemd-journald",
    "journalctl",
    "dpkg",
    "dpkg-deb",
    "dpkg-query",
    "dpkg-split",
    // dpkg-deb uses options that busybox lacks.
    "tar",
];
/// Libraries that systemd 257 and later load at run time. Without the first, systemd knows no mounts. Without the
/// second, it silently ignores the system call filter of a unit.
const LOADED_LATER: &[&str] = &["libmount.so.1", "libseccomp.so.2"];
/// Packages, each with all its dependencies. The first only recommends the second.
const PACKAGES: &[&str] = &["systemd", "libseccomp2", "dpkg", "tar"];
/// Units in addition to targets and slices. No unit starts them automatically.
const UNITS: &[&str] = &[
    "systemd-journald.service",
    "systemd-journald.socket",
    "systemd-reboot.service",
];
/// Name of the cache directory. Other content needs another name.
const FOLDER: &str = "systemd-4";
/// Library directories of Debian's packages; older packages lack the first directory's prefix.
const LIBRARIES: &[&str] = &[
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/systemd",
    "lib/systemd",
    "usr/lib/systemd",
];

/// A systemd in the cache.
#[derive(Clone, Debug)]
pub struct Userland {
    /// Contains `bin/`, `lib/` and `units/`, each without subdirectories.
    dir: PathBuf,
}

/// Provides the systemd that Debian ships with a kernel: from the cache if possible, otherwise downloaded.
///
/// # Errors
/// [`LabError`] when it is neither in the cache nor available for download.
pub fn ready(kernel: LabKernel) -> Result<Userland, LabError> {
    let suite = kernel.suites.first().copied().unwrap_or_default();
    let cache = cache_dir();
    let home = cache.join(FOLDER).join(suite);
    // If a systemd is in the cache, an unreachable mirror is not an error.
    fetch(&cache, &home, suite, kernel).or_else(|error| newest_cached(&home).ok_or(error))
}

fn fetch(cache: &Path, home: &Path, suite: &str, kernel: LabKernel) -> Result<Userland, LabError> {
    let apt = Apt::prepare(&cache.join(format!("apt-{}", kernel.arch)), kernel.arch)?;
    // If the lists are missing or older than the mirror, which drops a package when its successor arrives, they are
    // downloaded again below.
    let fresh = apt.refresh(Refresh::WhenOld);
    fresh.and_then(|()| of_lists(&apt, home, suite)).or_else(|_| {
        apt.refresh(Refresh::Always)?;
        of_lists(&apt, home, suite)
    })
}

/// Provides the version in the package lists.
fn of_lists(apt: &Apt, home: &Path, suite: &str) -> Result<Userland, LabError> {
    let packages = apt.with_dependencies(PACKAGES, suite)?;
    let version = packages
        .iter()
        .find_map(|package| package.strip_prefix("systemd="))
        .unwrap_or_default();
    let userland = Userland {
        dir: home.join(version),
    };
    if !userland.dir.is_dir() {
        unpack(&apt.download(&packages)?, &userland)?;
    }
    Ok(userland)
}

fn newest_cached(home: &Path) -> Option<Userland> {
    let entries = std::fs::read_dir(home).ok()?;
    let versions = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let version = versions
        .filter(|name| !name.ends_with(".part") && !name.ends_with(".whole"))
        .max_by_key(|name| version_key(name))?;
    Some(Userland {
        dir: home.join(version),
    })
}

/// Unpacks into a temporary directory and renames it at the end, so that an interrupted run leaves no incomplete copy.
fn unpack(debs: &[PathBuf], to: &Userland) -> Result<(), LabError> {
    let beside = |end: &str| PathBuf::from(format!("{}.{end}", to.dir.display()));
    let (whole, part) = (beside("whole"), beside("part"));
    for dir in [&whole, &part] {
        std::fs::remove_dir_all(dir).ok();
    }
    for dir in ["bin", "lib", "units"] {
        let dir = part.join(dir);
        std::fs::create_dir_all(&dir).map_err(LabError::file(&dir))?;
    }
    for deb in debs {
        run(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&whole))?;
    }
    let mut needed = BTreeSet::new();
    for program in PROGRAMS {
        let places = ["usr/bin", "bin", "usr/lib/systemd", "lib/systemd"];
        let found = places.map(|place| whole.join(place).join(program));
        if let Some(file) = found.iter().find(|file| file.is_file()) {
            needed.extend(libraries(&whole, file)?);
            copy(file, &part.join("bin").join(program))?;
        }
    }
    for name in LOADED_LATER {
        if let Some(file) = library(&whole, name) {
            needed.extend(libraries(&whole, &file)?);
            needed.insert(file);
        }
    }
    for file in &needed {
        copy(file, &part.join("lib").join(file.file_name().unwrap_or_default()))?;
    }
    // Only targets and slices: the services do not exist here, and a guest boots in a second.
    for place in ["usr/lib/systemd/system", "lib/systemd/system"] {
        for entry in std::fs::read_dir(whole.join(place)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_plain = entry.file_type().is_ok_and(|kind| kind.is_file());
            let is_needed = name.ends_with(".target") || name.ends_with(".slice") || UNITS.contains(&name.as_str());
            if is_plain && is_needed {
                copy(&entry.path(), &part.join("units").join(name))?;
            }
        }
    }
    std::fs::remove_dir_all(&whole).map_err(LabError::file(&whole))?;
    for deb in debs {
        std::fs::remove_file(deb).map_err(LabError::file(deb))?;
    }
    std::fs::rename(&part, &to.dir).map_err(LabError::file(&to.dir))
}

/// The libraries of a program, resolved by its own loader among the unpacked packages.
fn libraries(whole: &Path, program: &Path) -> Result<Vec<PathBuf>, LabError> {
    let paths: Vec<String> = LIBRARIES
        .iter()
        .map(|dir| whole.join(dir).display().to_string())
        .collect();
    let loader = library(whole, LOADER).ok_or_else(|| LabError::NoKernel {
        id: "systemd".to_owned(),
        why: format!("its packages hold no {LOADER} where the lab looks"),
    })?;
    let listed = run(Command::new(loader)
        .args(["--library-path", &paths.join(":"), "--list"])
        .arg(program))?;
    let inside = |word: &&str| Path::new(word).starts_with(whole);
    Ok(listed.split_whitespace().filter(inside).map(PathBuf::from).collect())
}

const LOADER: &str = "ld-linux-x86-64.so.2";

fn library(whole: &Path, name: &str) -> Option<PathBuf> {
    let places = LIBRARIES.iter().map(|dir| whole.join(dir).join(name));
    places.into_iter().find(|path| path.exists())
}

fn copy(file: &Path, to: &Path) -> Result<(), LabError> {
    std::fs::copy(file, to).map(|_| ()).map_err(LabError::file(file))
}

impl Userland {
    /// Adds systemd to a guest: programs and libraries where systemd looks for them.
    ///
    /// # Errors
    /// [`LabError::File`] when the cache cannot be read.
    pub fn install(&self, archive: &mut Archive) -> Result<(), LabError> {
        for dir in [
            "usr",
            "usr/bin",
            "usr/lib",
            "usr/lib/systemd",
            "usr/lib/systemd/system",
            "usr/lib/x86_64-linux-gnu",
            "usr/local",
            "usr/local/bin",
            "etc/systemd",
            "etc/systemd/system",
        ] {
            archive.dir(dir);
        }
        archive.link("usr/local/bin/quietcore", "/bin/quietcore");
        for (from, to) in [("lib", "usr/lib/x86_64-linux-gnu"), ("units", "usr/lib/systemd/system")] {
            for (name, content) in self.files(from)? {
                archive.file(&format!("{to}/{name}"), &content);
            }
        }
        for (name, content) in self.files("bin")? {
            let dir = match name.as_str() {
                "systemd" | "systemd-executor" | "systemd-journald" | "systemd-shutdown" => "usr/lib/systemd",
                _ => "usr/bin",
            };
            archive.program(&format!("{dir}/{name}"), &content);
        }
        // The kernel executes the loader like a program.
        let loader = self.dir.join("lib").join(LOADER);
        let content = std::fs::read(&loader).map_err(LabError::file(&loader))?;
        archive.program(&format!("usr/lib/x86_64-linux-gnu/{LOADER}"), &content);
        archive.file("etc/systemd/system.conf", b"[Manager]\nDefaultTimeoutStopSec=10\n");
        archive.file("etc/machine-id", b"00000000000000000000000000000001\n");
        archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n");
        archive.file("etc/group", b"root:x:0:\n");
        Ok(())
    }

    /// The search path of its programs for libraries and for each other. Other Debian packages in the guest have their
    /// own library directories.
    pub fn link(archive: &mut Archive, beside: Option<&Packages>) {
        match beside {
            Some(_) => {
                archive.dir("lib/systemd");
                archive.link("lib/systemd/systemd-shutdown", "/usr/lib/systemd/systemd-shutdown");
            }
            None => {
                archive.link("lib", "usr/lib");
                archive.link("lib64", "usr/lib/x86_64-linux-gnu");
            }
        }
    }

    fn files(&self, folder: &str) -> Result<Vec<(String, Vec<u8>)>, LabError> {
        let dir = self.dir.join(folder);
        let entries = std::fs::read_dir(&dir).map_err(LabError::file(&dir))?;
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let content = std::fs::read(&path).map_err(LabError::file(&path))?;
            files.push((entry.file_name().to_string_lossy().into_owned(), content));
        }
        files.sort();
        Ok(files)
    }
}
