//! The armv7 build: rustup's toolchains may lack that target, so Debian's own cross packages are used, unpacked only.

use crate::error::{Done, XtaskError};
use std::path::PathBuf;

/// Builds quietcore and lab-guest.
///
/// # Errors
/// [`XtaskError::Program`] until a toolchain is found.
pub fn build() -> Done<(PathBuf, PathBuf)> {
    Err(XtaskError::Program {
        program: "rustc".into(),
        why: "no armv7 toolchain".into(),
    })
}
