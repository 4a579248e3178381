//! `make bench-blame`: `blame` against disturbances whose true culprits are known, on this machine.

use std::process::Command;
use xtask::error::{TaskResult, XtaskError, lab_guest, product, target_dir};

/// Runs it; the words go on to `lab-guest truth`.
///
/// # Errors
/// [`XtaskError::Failed`] when a bound was missed; others when it could not run at all.
pub(crate) fn run(words: &[&str]) -> TaskResult {
    // SAFETY: a plain call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        println!("SKIP: bench-blame: needs root for tracing and real-time priorities");
        return Ok(());
    }
    let folder = target_dir().join("bench");
    std::fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    let out = folder.join("blame-truth.json");
    let (quietcore, guest) = (product()?, lab_guest()?);
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
