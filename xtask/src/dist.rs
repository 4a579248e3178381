//! Builds one static binary each for x86-64, arm64 and armv7 (`make dist`), checks their sizes, and starts the latter
//! two in an emulator.

use crate::dist_armv7;
use crate::error::{TaskResult, XtaskError, build_static, output, target_dir, top};
use crate::lab_run;
use crate::report::TaskReport;
use lab::scenarios;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Maximum size of a binary, bytes.
const LIMIT: u64 = 8_000_000;

/// Builds all three binaries, checks their sizes, and starts the foreign ones in an emulated machine.
///
/// # Errors
/// [`XtaskError`] when a build fails; [`XtaskError::Failed`] when a binary is too large or does not start.
pub fn run() -> TaskResult {
    let version = env!("CARGO_PKG_VERSION");
    let dist = top().join("dist");
    std::fs::create_dir_all(&dist).map_err(XtaskError::file(&dist))?;
    let native = || -> TaskResult<(PathBuf, PathBuf)> {
        Ok((
            build_static("quietcore")?.join("quietcore"),
            build_static("lab")?.join("lab-guest"),
        ))
    };
    let mut fine = true;
    for (arch, built) in [
        ("x86_64", native()),
        ("aarch64", aarch64()),
        ("armv7", dist_armv7::build()),
    ] {
        let (binary, guest) = match built {
            Ok(built) => built,
            Err(error) => {
                println!("FAIL  {arch}: {error}");
                fine = false;
                continue;
            }
        };
        let to = dist.join(format!("quietcore-{version}-{arch}"));
        std::fs::copy(&binary, &to).map_err(XtaskError::file(&binary))?;
        let bytes = std::fs::metadata(&to).map_err(XtaskError::file(&to))?.len();
        let is_static = is_static(&to)?;
        let small = bytes <= LIMIT;
        let word = if small && is_static { "ok   " } else { "FAIL " };
        let kind = if is_static { "static" } else { "NOT static" };
        println!(
            "{word} {} {:.2} MB (limit {:.0}), {kind}",
            to.display(),
            bytes as f64 / 1e6,
            LIMIT as f64 / 1e6
        );
        fine &= small && is_static;
        let scenarios: &[[&str; 2]] = match arch {
            "aarch64" => &[
                ["foreign", "6.1-arm64"],
                ["measuring_arm64", "6.1-arm64"],
                ["boot_raspberry_pi", "6.1-arm64"],
            ],
            "armv7" => &[["foreign", "6.1-armhf"]],
            _ => continue,
        };
        for filter in scenarios {
            fine &= smoke(&to, &guest, filter)?;
        }
    }
    if fine { Ok(()) } else { Err(XtaskError::Failed) }
}

fn aarch64() -> TaskResult<(PathBuf, PathBuf)> {
    let target = "aarch64-unknown-linux-musl";
    // Uses the linker of the toolchain itself, so no C compiler for the architecture is needed.
    output(
        Command::new("cargo")
            .args(["build", "--release", "--locked", "--target", target])
            .args([
                "-p",
                "quietcore",
                "-p",
                "lab",
                "--bin",
                "quietcore",
                "--bin",
                "lab-guest",
            ])
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld")
            .env(
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUSTFLAGS",
                "-C link-self-contained=yes",
            ),
    )?;
    let folder = target_dir().join(target).join("release");
    Ok((folder.join("quietcore"), folder.join("lab-guest")))
}

/// Whether an ELF file has no interpreter (`PT_INTERP`, 3), so that it starts without other files.
fn is_static(path: &Path) -> TaskResult<bool> {
    let bytes = std::fs::read(path).map_err(XtaskError::file(path))?;
    let number = |at: usize, size: usize| -> Option<usize> {
        let field = bytes.get(at..at + size)?;
        field.iter().rev().try_fold(0_usize, |value, byte| {
            value.checked_mul(256)?.checked_add(usize::from(*byte))
        })
    };
    let wide = bytes.get(4) == Some(&2);
    let (table, entry, count) = if wide {
        (number(32, 8), number(54, 2), number(56, 2))
    } else {
        (number(28, 4), number(42, 2), number(44, 2))
    };
    let (Some(table), Some(entry), Some(count)) = (table, entry, count) else {
        return Ok(false);
    };
    Ok(bytes.starts_with(b"\x7fELF") && (0..count).all(|place| number(table + place * entry, 4) != Some(3)))
}

/// Whether the scenarios that match a filter pass with foreign binaries.
fn smoke(binary: &Path, guest: &Path, filter: &[&str]) -> TaskResult<bool> {
    let filter: Vec<String> = filter.iter().map(|word| (*word).to_owned()).collect();
    let programs = (binary.to_owned(), guest.to_owned());
    let totals = lab_run::run_with(programs, &scenarios::jobs(&filter), &mut TaskReport::default());
    Ok(totals.failed == 0)
}
