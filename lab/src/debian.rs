//! Provides an installed Debian 12 as the root file system of a guest: its packages are configured by Debian's own
//! tools, its init starts what a new installation starts.

use crate::apt::{cache_dir, mirror, source};
use crate::error::{LabError, run};
use std::path::PathBuf;
use std::process::Command;

/// Debian's release.
const SUITE: &str = "bookworm";
/// What an installation has in addition to the packages with priority `required`, and what this needs of it.
const INCLUDED: &str = "systemd-sysv,dbus,kmod,procps,sudo";
/// Name of the file in the cache. Other content needs another name.
const NAME: &str = "debian-12-2.cpio";
/// What an installer writes. The lab mounts everything at boot; an fstab would stand for an installation on a disk.
const HOOK: &str = r#"
set -e
cd "$1"
rm -rf etc/fstab etc/resolv.conf var/cache/apt/* var/lib/apt/lists/*
echo debian >etc/hostname
printf '127.0.0.1 localhost\n127.0.1.1 debian\n' >etc/hosts"#;
const LEFT_OUT: [&str; 3] = ["doc", "man", "locale"];

/// The archive of the installation, in the format of an initramfs: from the cache, otherwise installed by `mmdebstrap`.
///
/// # Errors
/// [`LabError`] when the mirror cannot be reached or a program is missing.
pub fn ready() -> Result<PathBuf, LabError> {
    let archive = cache_dir().join(NAME);
    if archive.is_file() {
        return Ok(archive);
    }
    let [tar, part] = ["tar", "part"].map(|end| archive.with_extension(end));
    run(Command::new("mmdebstrap")
        .args(["--quiet", "--variant=minbase", "--format=tar"])
        .arg(format!("--include={INCLUDED}"))
        .args(LEFT_OUT.map(|dir| format!("--dpkgopt=path-exclude=/usr/share/{dir}/*")))
        .arg(format!("--customize-hook={HOOK}"))
        .arg(SUITE)
        .arg(&tar)
        .arg(source(&mirror()?, SUITE)))?;
    // Owners and modes stay: sudo belongs to root and is setuid.
    let of_tar = format!("@{}", tar.display());
    run(Command::new("bsdtar")
        .args(["--format=newc", "-cf"])
        .arg(&part)
        .arg(of_tar))?;
    std::fs::remove_file(&tar).map_err(LabError::file(&tar))?;
    // Renamed last, so that an interrupted run leaves no incomplete archive.
    std::fs::rename(&part, &archive).map_err(LabError::file(&archive))?;
    Ok(archive)
}
