//! Unpacks Debian's own programs into a guest, for scenarios that compare quietcore with its peers.

use crate::apt::{Apt, Refresh, cache_dir};
use crate::error::{LabError, run};
use guest::Archive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Packages of one suite that are unpacked together. Dependencies are not resolved: the list names them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packages {
    /// Name of the cache directory. Another list needs another name.
    pub name: &'static str,
    /// Suite of Debian.
    pub suite: &'static str,
    /// Package names.
    pub names: &'static [&'static str],
}

/// `cset` and `tuna` of Debian 12 with the Python that they need. No distribution has partrt.
pub const PEERS: Packages = Packages {
    name: "peers-2",
    suite: "bookworm",
    names: &[
        "libc6",
        "libexpat1",
        "zlib1g",
        "python3-minimal",
        "python3.11-minimal",
        "libpython3.11-minimal",
        "libpython3.11-stdlib",
        "cpuset",
        "python3-cpuset",
        "python3-future",
        "python3-lib2to3",
        "tuna",
        "python3-linux-procfs",
        "python3-schedutils",
        "python3-ethtool",
        "python3-six",
        "libnl-3-200",
        "libnl-route-3-200",
    ],
};

/// irqbalance of Debian 12 with the libraries that it loads.
pub const IRQBALANCE: Packages = Packages {
    name: "irqbalance-1",
    suite: "bookworm",
    names: &[
        "irqbalance",
        "libc6",
        "libcap-ng0",
        "libcap2",
        "libgcrypt20",
        "libglib2.0-0",
        "libgpg-error0",
        "liblz4-1",
        "liblzma5",
        "libnuma1",
        "libpcre2-8-0",
        "libsystemd0",
        "libzstd1",
    ],
};

/// GRUB for BIOS machines of Debian 12, its scripts, and the programs that partition a disk and make ext4 there.
pub const GRUB: Packages = Packages {
    name: "grub-1",
    suite: "bookworm",
    names: &[
        "e2fsprogs",
        "fdisk",
        "gettext-base",
        "grub-common",
        "grub-pc-bin",
        "grub2-common",
        "libblkid1",
        "libc6",
        "libcom-err2",
        "libdevmapper1.02.1",
        "libefiboot1",
        "libefivar1",
        "libext2fs2",
        "libfdisk1",
        "liblzma5",
        "libncursesw6",
        "libpcre2-8-0",
        "libreadline8",
        "libselinux1",
        "libsmartcols1",
        "libtinfo6",
        "libudev1",
        "libuuid1",
    ],
};

/// systemd-boot of Debian 12, and the programs that partition a disk and make ext4 there.
pub const SYSTEMD_BOOT: Packages = Packages {
    name: "systemd-boot-1",
    suite: "bookworm",
    names: &[
        "e2fsprogs",
        "fdisk",
        "libblkid1",
        "libc6",
        "libcom-err2",
        "libext2fs2",
        "libfdisk1",
        "libncursesw6",
        "libreadline8",
        "libsmartcols1",
        "libtinfo6",
        "libuuid1",
        "systemd-boot-efi",
    ],
};

/// Programs that busybox lacks or implements differently: `ping -f` and `tar --null -T -` of Debian 12, and a shell
/// that runs them.
pub const PING_AND_TAR: Packages = Packages {
    name: "ping-and-tar-2",
    suite: "bookworm",
    names: &[
        "dash",
        "iputils-ping",
        "libacl1",
        "libc6",
        "libcap2",
        "libidn2-0",
        "libpcre2-8-0",
        "libselinux1",
        "libunistring2",
        "tar",
    ],
};

/// Top-level directories that no guest needs.
const LEFT_OUT: &[&str] = &[
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/lintian",
    "usr/lib/x86_64-linux-gnu/gconv",
];

/// Unpacks the packages into the cache, and returns the directory.
///
/// # Errors
/// [`LabError`] when the mirror lacks them or they cannot be unpacked.
pub fn ready(packages: &Packages) -> Result<PathBuf, LabError> {
    // Concurrent guests may need the same packages, and apt has a single download directory.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let cache = cache_dir();
    let dir = cache.join("packages").join(packages.name);
    if dir.is_dir() {
        return Ok(dir);
    }
    let apt = Apt::prepare(&cache.join("apt-amd64"), "amd64")?;
    apt.refresh(Refresh::WhenOld)?;
    let selected: Vec<String> = packages
        .names
        .iter()
        .map(|name| format!("{name}/{}", packages.suite))
        .collect();
    let debs = match apt.download(&selected) {
        Ok(debs) => debs,
        // The lists may be older than the mirror.
        Err(_) => {
            apt.refresh(Refresh::Always)?;
            apt.download(&selected)?
        }
    };
    // Renamed last, so that an interrupted run leaves no incomplete directory.
    let part = dir.with_extension("part");
    std::fs::remove_dir_all(&part).ok();
    std::fs::create_dir_all(&part).map_err(LabError::file(&part))?;
    for deb in &debs {
        run(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&part))?;
        std::fs::remove_file(deb).map_err(LabError::file(deb))?;
    }
    std::fs::rename(&part, &dir).map_err(LabError::file(&dir))?;
    Ok(dir)
}

/// Adds an unpacked directory to a guest's archive.
///
/// # Errors
/// [`LabError::File`] for what cannot be read.
pub fn add(archive: &mut Archive, dir: &Path) -> Result<(), LabError> {
    add_below(archive, dir, "")
}

fn add_below(archive: &mut Archive, top: &Path, below: &str) -> Result<(), LabError> {
    let dir = top.join(below);
    let mut names: Vec<String> = std::fs::read_dir(&dir)
        .map_err(LabError::file(&dir))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    for name in names {
        let inside = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        let path = top.join(&inside);
        let kind = std::fs::symlink_metadata(&path)
            .map_err(LabError::file(&path))?
            .file_type();
        if LEFT_OUT.contains(&inside.as_str()) {
            continue;
        }
        if kind.is_symlink() {
            let target = std::fs::read_link(&path).map_err(LabError::file(&path))?;
            archive.link(&inside, &target.to_string_lossy());
        } else if kind.is_dir() {
            archive.dir(&inside);
            add_below(archive, top, &inside)?;
        } else if kind.is_file() {
            archive.program(&inside, &std::fs::read(&path).map_err(LabError::file(&path))?);
        }
    }
    Ok(())
}
