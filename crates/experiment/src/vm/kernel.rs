//! Defines a kernel for guests, and the error if QEMU cannot be started.

use guest::qemu::PROGRAM;
use root::Failure;
use std::path::PathBuf;

/// A kernel's image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelImage {
    /// Its path.
    pub path: PathBuf,
    /// Its release, from the image.
    pub release: String,
}

/// The error if QEMU cannot be started.
pub fn not_started(error: &std::io::Error) -> Failure {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "it is not installed".to_owned(),
        _ => error.to_string(),
    };
    Failure::usage(
        format!("{PROGRAM} cannot be started"),
        why,
        "install it: Debian and Ubuntu call the package qemu-system-x86, Fedora qemu-system-x86-core, Arch qemu-system-x86",
    )
}
