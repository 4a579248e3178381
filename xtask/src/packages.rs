//! Makes the packages of a release: `.deb`, `.rpm` and tarball, from one list of files (`packages/contents.rs`).
//!
//! Debian's own `dpkg-deb` and `rpmbuild` write them: both come with Debian, and both take their times from
//! `SOURCE_DATE_EPOCH`. Tools that read one description for both formats (nfpm) are not packaged by Debian.

mod contents;
mod deb;
mod front_end_pages;
mod linked;
mod lint;
mod notices;
mod rpm;
mod sbom;
mod stage;

pub use contents::PackageInputs;
pub use lint::{MissingLinter, lint};
pub use sbom::write_inventory;

use crate::error::{TaskResult, XtaskError, output};
use contents::{PackageFormat, PackagedFile};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A processor that releases are built for, as each of the formats names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackageArch {
    /// In file names of binaries and tarballs.
    pub name: &'static str,
    /// Debian's name.
    deb: &'static str,
    /// RPM's name.
    rpm: &'static str,
    /// The target whose dependencies are linked.
    pub target: &'static str,
}

/// x86-64.
pub const X86_64: PackageArch = PackageArch {
    name: "x86_64",
    deb: "amd64",
    rpm: "x86_64",
    target: "x86_64-unknown-linux-musl",
};
/// arm64.
pub const AARCH64: PackageArch = PackageArch {
    name: "aarch64",
    deb: "arm64",
    rpm: "aarch64",
    target: "aarch64-unknown-linux-musl",
};
/// armv7 with hardware floating point.
pub const ARMV7: PackageArch = PackageArch {
    name: "armv7",
    deb: "armhf",
    rpm: "armv7hl",
    target: "armv7-unknown-linux-musleabihf",
};
/// Packages without programs.
const ANY: PackageArch = PackageArch {
    name: "any",
    deb: "all",
    rpm: "noarch",
    target: "",
};

/// A version of the packages, and the time that all files in them have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageVersion {
    /// Version of the program.
    pub version: String,
    /// Which packages of that version these are, from 1.
    pub revision: u32,
    /// `SOURCE_DATE_EPOCH`: seconds since 1970.
    pub epoch_s: u64,
}

impl PackageVersion {
    /// The version of this source. Its time is `SOURCE_DATE_EPOCH` if it is set, otherwise that of the newest commit.
    ///
    /// # Errors
    /// [`XtaskError::Program`] when neither is available.
    pub fn of_this_source(revision: u32) -> TaskResult<PackageVersion> {
        let text = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(set) => set,
            Err(_) => output(Command::new("git").args(["log", "-1", "--format=%ct"]))?,
        };
        let epoch_s = text.trim().parse().map_err(|_| XtaskError::Program {
            program: "git".to_owned(),
            why: format!("{text:?} is no time; set SOURCE_DATE_EPOCH to seconds since 1970"),
        })?;
        Ok(PackageVersion {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision,
            epoch_s,
        })
    }

    /// `VERSION-REVISION`.
    fn full(&self) -> String {
        format!("{}-{}", self.version, self.revision)
    }

    /// The time in a format of `date`.
    fn date(&self, format: &str) -> TaskResult<String> {
        let mut date = Command::new("date");
        date.env("LC_ALL", "C");
        let text = output(date.args(["-u", &format!("-d@{}", self.epoch_s), format]))?;
        Ok(text.trim().to_owned())
    }
}

/// What a package states about itself, beside its files.
struct PackageInfo<'a> {
    name: &'static str,
    summary: &'static str,
    /// Lines of at most 75 letters.
    description: &'static [&'static str],
    arch: PackageArch,
    version: &'a PackageVersion,
    role: PackageRole,
}

/// What a package is for. Relations and maintainer scripts follow from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PackageRole {
    /// The program: needs no other package, and has the scripts of `packaging/scripts`.
    Program,
    /// Links to the program, in place of the tools of the same names.
    FrontEnds,
}

/// Maintainer of the packages: `DEBFULLNAME` and `DEBEMAIL`, as for Debian's tools, if both are set.
fn maintainer() -> String {
    match (std::env::var("DEBFULLNAME"), std::env::var("DEBEMAIL")) {
        (Ok(name), Ok(mail)) => format!("{name} <{mail}>"),
        _ => "the quietcore authors <maintainers@quietcore.example.org>".to_owned(),
    }
}

/// Makes `.deb`, `.rpm` and tarball of the program for one processor.
///
/// # Errors
/// [`XtaskError`] when a tool is missing or refuses, or a file cannot be written.
pub fn of_program(
    arch: PackageArch,
    inputs: &PackageInputs,
    version: &PackageVersion,
    out: &Path,
) -> TaskResult<Vec<PathBuf>> {
    let files = |format| contents::program(format, inputs, version);
    let tarball = stage::tarball(
        &format!("quietcore-{}-{}", version.version, arch.name),
        &files(PackageFormat::Tarball)?,
        version,
        out,
    )?;
    let mut made = in_both_formats(&of_arch(arch, version), &files, out)?;
    made.push(tarball);
    Ok(made)
}

/// Makes `.deb` and `.rpm` of the front ends, which are the same for all processors. `native` is the program for this
/// machine: it writes their man pages.
///
/// # Errors
/// As for [`of_program`].
pub fn of_front_ends(native: &Path, version: &PackageVersion, out: &Path) -> TaskResult<Vec<PathBuf>> {
    in_both_formats(
        &front_ends(version),
        &|format| contents::front_ends(format, native, version),
        out,
    )
}

fn in_both_formats(
    info: &PackageInfo,
    files: &dyn Fn(PackageFormat) -> TaskResult<Vec<PackagedFile>>,
    out: &Path,
) -> TaskResult<Vec<PathBuf>> {
    Ok(vec![
        deb::make(info, &files(PackageFormat::Deb)?, out)?,
        rpm::make(info, &files(PackageFormat::Rpm)?, out)?,
    ])
}

/// Makes what a guest of the lab installs: `quietcore-1.deb`, its successor `quietcore-2.deb` with the same program,
/// and `quietcore-frontends.deb`.
///
/// # Errors
/// As for [`of_program`].
pub fn of_lab(program: &Path, out: &Path) -> TaskResult<()> {
    std::fs::create_dir_all(out).map_err(XtaskError::file(out))?;
    let inputs = PackageInputs::read(X86_64, program, program)?;
    let rename = |from: PathBuf, name: &str| std::fs::rename(&from, out.join(name)).map_err(XtaskError::file(&from));
    for revision in [1, 2] {
        let version = PackageVersion::of_this_source(revision)?;
        let files = contents::program(PackageFormat::Deb, &inputs, &version)?;
        let made = deb::make(&of_arch(X86_64, &version), &files, out)?;
        rename(made, &format!("quietcore-{revision}.deb"))?;
    }
    let version = PackageVersion::of_this_source(1)?;
    let files = contents::front_ends(PackageFormat::Deb, program, &version)?;
    rename(
        deb::make(&front_ends(&version), &files, out)?,
        "quietcore-frontends.deb",
    )
}

fn of_arch(arch: PackageArch, version: &PackageVersion) -> PackageInfo<'_> {
    PackageInfo {
        name: "quietcore",
        summary: "CPU cores that nothing else touches, with proof",
        description: &[
            "Plans, applies, verifies, measures, explains and undoes CPU isolation:",
            "cpuset cgroups, tasks, kernel threads, interrupts, workqueues and the",
            "boot line. Every change is recorded and read back, and undo is exact.",
        ],
        arch,
        version,
        role: PackageRole::Program,
    }
}

fn front_ends(version: &PackageVersion) -> PackageInfo<'_> {
    PackageInfo {
        name: "quietcore-frontends",
        summary: "command lines of cset, partrt and others, by quietcore",
        description: &[
            "Links with which quietcore answers the command lines of cset, partrt,",
            "bitcalc, count_ticks and systress.",
        ],
        arch: ANY,
        version,
        role: PackageRole::FrontEnds,
    }
}

/// An empty directory for intermediate files. It is removed with the value.
fn work_dir() -> TaskResult<TempDir> {
    tempfile::tempdir().map_err(XtaskError::file(&std::env::temp_dir()))
}
