//! `make bench-blame`: compares `blame` on this machine with disturbances whose true culprits are known.

use std::process::Command;
use xtask::error::{TaskResult, XtaskError, lab_guest, product, target_dir};

/// Runs the benchmark. The words are passed to `lab-guest truth`.
///
/// # Errors
/// [`XtaskError::Failed`] when a limit was violated; other errors when the benchmark could not run at all.
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
