//! Makes a release (`make dist`): one static binary each for x86-64, arm64 and armv7, their packages, an inventory of what
//! is linked (SBOM), and checksums. Checks the sizes, builds the x86-64 binary twice, and starts the other two in an
//! emulator.

use crate::armv7::Armv7Compiler;
use crate::error::{TaskResult, XtaskError, build_static, output, target_dir, top};
use crate::lab_run;
use crate::packages::{self, AARCH64, ARMV7, PackageArch, PackageInputs, PackageVersion, X86_64};
use crate::report::TaskReport;
use lab::scenarios;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Maximum size of a binary, bytes.
const LIMIT: u64 = 8_000_000;

/// Makes the release in `dist/`, which is emptied first.
///
/// # Errors
/// [`XtaskError`] when the native build or a package fails; [`XtaskError::Failed`] when a binary is too large, does not
/// start or is not reproducible, or when a package has errors.
pub fn run() -> TaskResult {
    let dist = top().join("dist");
    if dist.exists() {
        std::fs::remove_dir_all(&dist).map_err(XtaskError::file(&dist))?;
    }
    std::fs::create_dir_all(&dist).map_err(XtaskError::file(&dist))?;
    let version = PackageVersion::of_this_source(1)?;
    let native = build_static("quietcore")?.join("quietcore");
    let guest = build_static("lab")?.join("lab-guest");
    let mut fine = true;
    let mut made = Vec::new();
    for (arch, built) in [
        (X86_64, Ok((native.clone(), guest))),
        (AARCH64, aarch64()),
        (ARMV7, Armv7Compiler::find().and_then(|compiler| compiler.build())),
    ] {
        let (binary, guest) = match built {
            Ok(built) => built,
            Err(error) => {
                println!("FAIL  {}: {error}", arch.name);
                fine = false;
                continue;
            }
        };
        let to = dist.join(format!("quietcore-{}-{}", version.version, arch.name));
        std::fs::copy(&binary, &to).map_err(XtaskError::file(&binary))?;
        fine &= is_small_and_static(&to)?;
        let inputs = PackageInputs::read(arch, &to, &native)?;
        made.extend(packages::of_program(arch, &inputs, &version, &dist)?);
        made.push(packages::write_inventory(arch, &version, &dist)?);
        made.push(to.clone());
        for filter in smoke_scenarios(arch) {
            fine &= smoke(&to, &guest, filter)?;
        }
    }
    made.extend(packages::of_front_ends(&native, &version, &dist)?);
    fine &= is_clean(&made)?;
    fine &= is_reproducible(&native)?;
    write_checksums(&made, &dist)?;
    if fine { Ok(()) } else { Err(XtaskError::Failed) }
}

/// The scenarios that start the binary of another processor.
fn smoke_scenarios(arch: PackageArch) -> &'static [[&'static str; 2]] {
    match arch {
        AARCH64 => &[
            ["foreign", "6.1-arm64"],
            ["measuring_arm64", "6.1-arm64"],
            ["boot_raspberry_pi", "6.1-arm64"],
        ],
        ARMV7 => &[["foreign", "6.1-armhf"]],
        _ => &[],
    }
}

fn is_small_and_static(binary: &Path) -> TaskResult<bool> {
    let bytes = std::fs::metadata(binary).map_err(XtaskError::file(binary))?.len();
    let is_static = is_static(binary)?;
    let is_good = bytes <= LIMIT && is_static;
    println!(
        "{} {} {:.2} MB (limit {:.0}), {}",
        word(is_good),
        binary.display(),
        bytes as f64 / 1e6,
        LIMIT as f64 / 1e6,
        if is_static { "static" } else { "NOT static" }
    );
    Ok(is_good)
}

/// Whether `lintian` and `rpmlint` find no errors.
fn is_clean(made: &[PathBuf]) -> TaskResult<bool> {
    let why = match packages::lint(made) {
        Ok(None) => return Ok(print_result(true, "lintian and rpmlint find no errors")),
        Ok(Some(missing)) => format!("{} is missing; `scripts/setup dist` installs it", missing.0),
        Err(error) => error.to_string(),
    };
    Ok(print_result(false, &why))
}

/// Whether a second build in another directory gives the same bytes.
fn is_reproducible(native: &Path) -> TaskResult<bool> {
    let again = target_dir().join("again");
    let mut build = Command::new("scripts/build-static");
    let folder = output(build.arg("quietcore").env("CARGO_TARGET_DIR", &again))?;
    let second = top().join(folder.trim()).join("quietcore");
    let read = |path: &Path| std::fs::read(path).map_err(XtaskError::file(path));
    let is_same = read(native)? == read(&second)?;
    if is_same {
        std::fs::remove_dir_all(&again).map_err(XtaskError::file(&again))?;
        return Ok(print_result(true, "a second build gives the same bytes"));
    }
    let differ = format!("{} and {} differ", native.display(), second.display());
    Ok(print_result(false, &differ))
}

fn print_result(is_good: bool, what: &str) -> bool {
    println!("{} {what}", word(is_good));
    is_good
}

fn word(is_good: bool) -> &'static str {
    if is_good { "ok   " } else { "FAIL " }
}

/// Writes `SHA256SUMS`, which `sha256sum --check` reads.
fn write_checksums(made: &[PathBuf], dist: &Path) -> TaskResult {
    let mut names: Vec<&str> = made.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    names.sort_unstable();
    let list = dist.join("SHA256SUMS");
    let mut sums = Command::new("sh");
    sums.args(["-c", "cd \"$1\" && shift && sha256sum -- \"$@\"", "sums"]);
    let text = output(sums.arg(dist).args(names))?;
    std::fs::write(&list, text).map_err(XtaskError::file(&list))
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
    let totals = lab_run::run_with(programs, &scenarios::jobs(&filter), &mut TaskReport::default())?;
    Ok(totals.failed == 0)
}
