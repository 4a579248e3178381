//! Builds for armv7: with the toolchain's own musl target if it exists, otherwise with Debian's compiler for armhf.

use crate::error::{TaskResult, output, target_dir, top};
use std::path::PathBuf;
use std::process::Command;

const MUSL: &str = "armv7-unknown-linux-musleabihf";
const GLIBC: &str = "armv7-unknown-linux-gnueabihf";
/// Flags for a binary that is not position independent, because the linked start files are those of a plain static
/// program.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static -C linker-flavor=ld.lld";

/// Builds quietcore and lab-guest.
///
/// # Errors
/// [`crate::error::XtaskError::Program`] when no compiler is available or the build fails.
pub fn build() -> TaskResult<(PathBuf, PathBuf)> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "-p", "quietcore", "-p", "lab"]);
    cargo.args(["--bin", "quietcore", "--bin", "lab-guest", "--target"]);
    let installed = output(Command::new("rustc").args(["--print", "target-libdir", "--target", MUSL]));
    let target = if installed.is_ok_and(|folder| PathBuf::from(folder.trim()).is_dir()) {
        cargo
            .arg(MUSL)
            .env("CARGO_TARGET_ARMV7_UNKNOWN_LINUX_MUSLEABIHF_LINKER", "rust-lld");
        target_dir().join(MUSL)
    } else {
        let toolchain = PathBuf::from(output(&mut Command::new(top().join("scripts/toolchain-armv7")))?.trim());
        cargo
            .arg(GLIBC)
            .env("RUSTC", toolchain.join("rustc"))
            .env(
                "CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_LINKER",
                toolchain.join("linker"),
            )
            .env("CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_RUSTFLAGS", FLAGS)
            // A separate directory: otherwise each compiler's build would discard that of the other.
            .env("CARGO_TARGET_DIR", target_dir().join("armv7"));
        target_dir().join("armv7").join(GLIBC)
    };
    output(&mut cargo)?;
    Ok((target.join("release/quietcore"), target.join("release/lab-guest")))
}
