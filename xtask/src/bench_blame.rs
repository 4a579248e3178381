//! `make bench-blame`: `blame` against disturbances whose true culprits are known, on this machine.

use crate::error::{Done, XtaskError, build_static, target_dir};
use std::path::PathBuf;
use std::process::Command;

/// Runs it; the words go on to `lab-guest truth`.
///
/// # Errors
/// [`XtaskError::Failed`] when a bound was missed; others when it could not run at all.
pub(crate) fn run(words: &[&str]) -> Done {
    // SAFETY: a plain call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        println!("SKIP: bench-blame: needs root for tracing and real-time priorities");
        return Ok(());
    }
    let folder = target_dir().join("bench");
    std::fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    let out = folder.join("blame-truth.json");
    let (quietcore, guest) = binaries()?;
    let status = Command::new(&guest)
        .args(["truth", "--quietcore"])
        .arg(&quietcore)
        .arg("--out")
        .arg(&out)
        .args(words)
        .status()
        .map_err(XtaskError::file(&guest))?;
    println!("written: {}", out.display());
    if status.success() {
        Ok(())
    } else {
        Err(XtaskError::Failed)
    }
}

/// `QUIETCORE_BIN` and `LAB_GUEST_BIN`, or release builds.
fn binaries() -> Done<(PathBuf, PathBuf)> {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let (Some(quietcore), Some(guest)) = (given("QUIETCORE_BIN"), given("LAB_GUEST_BIN")) {
        return Ok((quietcore, guest));
    }
    let folder = build_static(&["quietcore", "lab"])?;
    Ok((folder.join("quietcore"), folder.join("lab-guest")))
}
