//! Builds for armv7: with the toolchain's own musl target if it exists, otherwise with Debian's compiler for armhf.

use crate::error::{TaskResult, output, target_dir, top};
use std::path::PathBuf;
use std::process::Command;

const MUSL: &str = "armv7-unknown-linux-musleabihf";
const GLIBC: &str = "armv7-unknown-linux-gnueabihf";
/// Flags for a binary that is not position independent, because the linked start files are those of a plain static
/// program. Thumb instructions make it smaller by a quarter.
const FLAGS: &str = "-C target-feature=+crt-static,+thumb-mode -C relocation-model=static -C linker-flavor=ld.lld";

/// A compiler for armv7.
pub enum Armv7Compiler {
    /// The toolchain's own.
    Own,
    /// Debian's, in this directory.
    Debian(PathBuf),
}

impl Armv7Compiler {
    /// Finds it, or downloads it.
    ///
    /// # Errors
    /// [`crate::error::XtaskError::Program`] when the download fails.
    pub fn find() -> TaskResult<Armv7Compiler> {
        let installed = output(Command::new("rustc").args(["--print", "target-libdir", "--target", MUSL]));
        if installed.is_ok_and(|folder| PathBuf::from(folder.trim()).is_dir()) {
            return Ok(Armv7Compiler::Own);
        }
        let folder = output(&mut Command::new(top().join("scripts/toolchain-armv7")))?;
        Ok(Armv7Compiler::Debian(PathBuf::from(folder.trim())))
    }

    /// Builds quietcore and lab-guest.
    ///
    /// # Errors
    /// [`crate::error::XtaskError::Program`] when the build fails.
    pub fn build(&self) -> TaskResult<(PathBuf, PathBuf)> {
        let (mut cargo, folder) = self.cargo("build");
        cargo.arg("--release");
        output(&mut cargo)?;
        Ok((folder.join("release/quietcore"), folder.join("release/lab-guest")))
    }

    /// Checks that they compile.
    ///
    /// # Errors
    /// [`crate::error::XtaskError::Program`] when it does not.
    pub fn check(&self) -> TaskResult {
        output(&mut self.cargo("check").0).map(drop)
    }

    /// A command of cargo for both programs, and the folder of its results.
    fn cargo(&self, name: &str) -> (Command, PathBuf) {
        let mut cargo = Command::new("cargo");
        cargo.args([name, "--locked", "-p", "quietcore", "-p", "lab"]);
        cargo.args(["--bin", "quietcore", "--bin", "lab-guest", "--target"]);
        let folder = match self {
            Armv7Compiler::Own => {
                cargo
                    .arg(MUSL)
                    .env("CARGO_TARGET_ARMV7_UNKNOWN_LINUX_MUSLEABIHF_LINKER", "rust-lld");
                target_dir().join(MUSL)
            }
            Armv7Compiler::Debian(toolchain) => {
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
            }
        };
        (cargo, folder)
    }
}
