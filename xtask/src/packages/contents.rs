//! Lists the files of each package. All formats are made from this list.

use super::front_end_pages;
use super::linked::LinkedCrates;
use super::notices::notices;
use super::{PackageArch, PackageVersion, maintainer};
use crate::error::{TaskResult, XtaskError, output, top};
use flate2::{Compression, GzBuilder};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The program's path in the units as they are in the repository.
const LOCAL_PROGRAM: &str = "/usr/local/bin/quietcore";

/// The names under which quietcore answers the command lines of other tools (`crates/compat`).
pub(super) const FRONT_ENDS: [&str; 5] = ["cset", "partrt", "bitcalc", "count_ticks", "systress"];

/// Units that are installed and not enabled. A study installs its own while it runs.
const UNITS: [&str; 2] = ["quietcore.service", "quietcore-watch.service"];

/// The format that a list of files is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackageFormat {
    /// Debian's.
    Deb,
    /// RPM.
    Rpm,
    /// An archive that is unpacked in `/usr/local`.
    Tarball,
}

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackagedFile {
    /// Relative to `/`; in a tarball, to the directory where it is unpacked.
    pub(super) path: String,
    pub(super) content: PackagedContent,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PackagedContent {
    /// Mode 755.
    Program(Vec<u8>),
    /// Mode 644.
    Text(Vec<u8>),
    /// The target of a symbolic link.
    Link(String),
}

/// What the program's build provides for the packages of one processor.
#[derive(Clone, Debug)]
pub struct PackageInputs {
    program: Vec<u8>,
    /// File names and texts.
    man: Vec<(String, Vec<u8>)>,
    /// Of bash, zsh and fish.
    completions: [Vec<u8>; 3],
    /// Licences of the crates that are linked.
    notices: String,
}

impl PackageInputs {
    /// Reads a program. `native` is the same program for this machine: it writes man pages and completions.
    ///
    /// # Errors
    /// [`XtaskError`] when a program cannot be read or started, or a crate's licences cannot be read.
    pub fn read(arch: PackageArch, program: &Path, native: &Path) -> TaskResult<PackageInputs> {
        let work = super::work_dir()?;
        let dir = work.path();
        output(Command::new(native).args(["man", "--out"]).arg(dir))?;
        let mut man = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(XtaskError::file(dir))? {
            let path = entry.map_err(XtaskError::file(dir))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            man.push((name, read(&path)?));
        }
        man.sort();
        let completion = |shell| output(Command::new(native).args(["completions", shell])).map(String::into_bytes);
        Ok(PackageInputs {
            program: read(program)?,
            man,
            completions: [completion("bash")?, completion("zsh")?, completion("fish")?],
            notices: notices(&LinkedCrates::of_arch(arch)?)?,
        })
    }
}

/// The files of the program's package.
pub(super) fn program(
    format: PackageFormat,
    inputs: &PackageInputs,
    version: &PackageVersion,
) -> TaskResult<Vec<PackagedFile>> {
    let mut files = PackageList::new(format);
    files.add("bin/quietcore", PackagedContent::Program(inputs.program.clone()));
    for (name, page) in &inputs.man {
        files.text(&format!("share/man/man1/{name}.gz"), compressed(page)?);
    }
    let [bash, zsh, fish] = &inputs.completions;
    files.text("share/bash-completion/completions/quietcore", bash.clone());
    files.text(
        match format {
            PackageFormat::Deb => "share/zsh/vendor-completions/_quietcore",
            PackageFormat::Rpm | PackageFormat::Tarball => "share/zsh/site-functions/_quietcore",
        },
        zsh.clone(),
    );
    files.text("share/fish/vendor_completions.d/quietcore.fish", fish.clone());
    for unit in UNITS {
        let mut text = repository_text(&format!("packaging/systemd/{unit}"))?;
        if format != PackageFormat::Tarball {
            text = text.replace(LOCAL_PROGRAM, "/usr/bin/quietcore");
        }
        files.text(&format!("lib/systemd/system/{unit}"), text.into_bytes());
    }
    for file in ["prometheus/quietcore.rules.yml", "grafana/quietcore.json"] {
        let text = repository_text(&format!("packaging/{file}"))?;
        files.text(&format!("share/quietcore/{file}"), text.into_bytes());
    }
    if format == PackageFormat::Deb {
        let overrides = repository_text("packaging/debian/lintian-overrides")?;
        files.text("share/lintian/overrides/quietcore", overrides.into_bytes());
    }
    files.documents("quietcore", version)?;
    let notices = compressed(inputs.notices.as_bytes())?;
    files.text("share/doc/quietcore/THIRD-PARTY-LICENSES.gz", notices);
    Ok(files.sorted())
}

/// The files of the package of front ends. `native` is the program for this machine.
pub(super) fn front_ends(
    format: PackageFormat,
    native: &Path,
    version: &PackageVersion,
) -> TaskResult<Vec<PackagedFile>> {
    let mut files = PackageList::new(format);
    for name in FRONT_ENDS {
        files.add(&format!("bin/{name}"), PackagedContent::Link("quietcore".to_owned()));
    }
    for (name, page) in front_end_pages::pages(native)? {
        files.text(&format!("share/man/man1/{name}.gz"), compressed(page.as_bytes())?);
    }
    files.documents("quietcore-frontends", version)?;
    Ok(files.sorted())
}

/// Files below the directory of a format.
struct PackageList {
    format: PackageFormat,
    files: Vec<PackagedFile>,
}

impl PackageList {
    fn new(format: PackageFormat) -> PackageList {
        PackageList {
            format,
            files: Vec::new(),
        }
    }

    fn add(&mut self, path: &str, content: PackagedContent) {
        let path = match self.format {
            PackageFormat::Deb | PackageFormat::Rpm => format!("usr/{path}"),
            PackageFormat::Tarball => path.to_owned(),
        };
        self.files.push(PackagedFile { path, content });
    }

    fn text(&mut self, path: &str, text: Vec<u8>) {
        self.add(path, PackagedContent::Text(text));
    }

    /// Licences and changelog, where each format has them.
    fn documents(&mut self, name: &str, version: &PackageVersion) -> TaskResult {
        let changelog = repository_text("CHANGELOG.md")?.into_bytes();
        let documents = format!("share/doc/{name}");
        if self.format == PackageFormat::Deb {
            let copyright = repository_text("packaging/debian/copyright")?;
            self.text(&format!("{documents}/copyright"), copyright.into_bytes());
            self.text(&format!("{documents}/changelog.gz"), compressed(&changelog)?);
            let of_package = compressed(debian_changelog(version)?.as_bytes())?;
            self.text(&format!("{documents}/changelog.Debian.gz"), of_package);
            return Ok(());
        }
        self.text(&format!("{documents}/CHANGELOG.md"), changelog);
        let licences = match self.format {
            PackageFormat::Rpm => format!("share/licenses/{name}"),
            PackageFormat::Deb | PackageFormat::Tarball => documents,
        };
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            self.text(&format!("{licences}/{file}"), repository_text(file)?.into_bytes());
        }
        Ok(())
    }

    fn sorted(mut self) -> Vec<PackagedFile> {
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
        self.files
    }
}

/// Compressed without name and time.
fn compressed(text: &[u8]) -> TaskResult<Vec<u8>> {
    let mut writer = GzBuilder::new().write(Vec::new(), Compression::best());
    let written = writer.write_all(text).and_then(|()| writer.finish());
    written.map_err(XtaskError::file(Path::new("a compressed file")))
}

/// The changelog of the package itself.
fn debian_changelog(version: &PackageVersion) -> TaskResult<String> {
    Ok(format!(
        "quietcore ({}) unstable; urgency=medium\n\n  * Release {}. See changelog.gz for what changed.\n\n -- {}  {}\n",
        version.full(),
        version.version,
        maintainer(),
        version.date("+%a, %d %b %Y %H:%M:%S +0000")?,
    ))
}

/// A text file of the repository.
pub(super) fn repository_text(path: &str) -> TaskResult<String> {
    let path = top().join(path);
    std::fs::read_to_string(&path).map_err(XtaskError::file(&path))
}

fn read(path: &Path) -> TaskResult<Vec<u8>> {
    std::fs::read(path).map_err(XtaskError::file(path))
}
