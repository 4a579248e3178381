//! Compares reading the generated machine from an archive with reading it from a directory.

use crate::speed::{CommandCost, inspect, ms};
use std::path::Path;
use std::process::Command;
use xtask::error::{TaskResult, XtaskError, output};

/// Prints time and memory of both, and their ratio.
///
/// # Errors
/// [`XtaskError`] when the archive cannot be written or read.
pub fn run(binary: &Path, dir: &Path) -> TaskResult {
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Ok(());
    };
    println!("the same machine as an archive, beside its directory:");
    println!(
        "{:<22} {:>10} {:>10} {:>8} {:>10} {:>10}",
        "", "wall ms", "CPU ms", "MiB", "time", "memory"
    );
    for ending in ["tar", "tar.gz"] {
        let archive = dir.with_extension(ending);
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(parent).arg("-caf").arg(&archive).arg(name);
        output(&mut tar)?;
        for flags in [&["--json"] as &[&str], &["--tasks", "--irqs", "--json"]] {
            let plain = inspect(binary, dir, flags)?;
            let packed = inspect(binary, &archive, flags)?;
            row("directory", flags, &plain, "");
            let ratio = format!(
                "{:>10} {:>10}",
                format!(
                    "x {:.1}",
                    packed.wall.as_secs_f64() / plain.wall.as_secs_f64().max(1e-6)
                ),
                format!("x {:.1}", packed.peak_kib as f64 / plain.peak_kib.max(1) as f64)
            );
            row(ending, flags, &packed, &ratio);
        }
        std::fs::remove_file(&archive).map_err(XtaskError::file(&archive))?;
    }
    Ok(())
}

fn row(name: &str, flags: &[&str], cost: &CommandCost, ratio: &str) {
    println!(
        "{:<22} {:>10.1} {:>10.1} {:>8.1} {ratio}",
        format!("{name} {}", flags.join(" ").replace("--", "").replace(" json", "")),
        ms(cost.wall),
        ms(cost.cpu()),
        cost.peak_kib as f64 / 1024.0,
    );
}
