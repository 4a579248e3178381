//! Downloads packages with a private apt configuration. It installs nothing on the host.
//!
//! The configuration has its own sources, state and cache inside the lab's cache directory. It uses the mirror of the
//! host's own configuration and verifies the packages with Debian's archive keyring.

use crate::error::{LabError, run};
use crate::kernels::ALL;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Maximum age of the package lists. Younger lists are used without network access.
const LISTS_STAY_FRESH: Duration = Duration::from_secs(7 * 24 * 3600);

/// The private configuration for one architecture, in its own directory.
pub struct Apt {
    dir: PathBuf,
    arch: &'static str,
}

/// The lab's download cache: `$XDG_CACHE_HOME/quietcore-lab`, or the same under `~/.cache`.
#[must_use]
pub fn cache_dir() -> PathBuf {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("quietcore-lab")
}

impl Apt {
    /// Writes the configuration for an architecture into `dir`.
    ///
    /// # Errors
    /// [`LabError`] when this machine has no Debian mirror configured or the directory cannot be written.
    pub fn prepare(dir: &Path, arch: &'static str) -> Result<Apt, LabError> {
        for folder in ["lists/partial", "cache/archives/partial", "debs"] {
            let folder = dir.join(folder);
            std::fs::create_dir_all(&folder).map_err(LabError::file(&folder))?;
        }
        let apt = Apt {
            dir: dir.to_owned(),
            arch,
        };
        let status = dir.join("status");
        std::fs::write(&status, "").map_err(LabError::file(&status))?;
        let sources = sources(&mirror()?, arch);
        let path = dir.join("sources.list");
        if std::fs::read_to_string(&path).ok().as_deref() != Some(sources.as_str()) {
            std::fs::write(&path, sources).map_err(LabError::file(&path))?;
            std::fs::remove_file(apt.stamp()).ok();
        }
        Ok(apt)
    }

    /// Fetches the package lists when they are missing or old.
    ///
    /// # Errors
    /// [`LabError::Program`] when apt fails.
    pub fn refresh(&self, how: Refresh) -> Result<(), LabError> {
        let age = std::fs::metadata(self.stamp())
            .and_then(|meta| meta.modified())
            .ok()
            .and_then(|time| SystemTime::now().duration_since(time).ok());
        if how == Refresh::WhenOld && age.is_some_and(|age| age < LISTS_STAY_FRESH) {
            return Ok(());
        }
        run(self.command("apt-get").args(["-qq", "--error-on=any", "update"]))?;
        let stamp = self.stamp();
        std::fs::write(&stamp, "").map_err(LabError::file(&stamp))
    }

    /// The names of all kernel packages.
    ///
    /// # Errors
    /// [`LabError::Program`] when apt fails.
    pub fn kernel_packages(&self) -> Result<Vec<String>, LabError> {
        let found = run(self.command("apt-cache").args(["pkgnames", "linux-"]))?;
        Ok(found.lines().map(str::to_owned).collect())
    }

    /// Downloads packages and returns the files.
    ///
    /// # Errors
    /// [`LabError::Program`] when apt fails; [`LabError::NoKernel`] when a file is missing afterwards.
    pub fn download(&self, packages: &[String]) -> Result<Vec<PathBuf>, LabError> {
        let debs = self.dir.join("debs");
        run(self
            .command("apt-get")
            .current_dir(&debs)
            .args(["-qq", "download"])
            .args(packages))?;
        let name = |package: &String| package.split('=').next().unwrap_or_default().to_owned();
        let names = packages.iter().map(name);
        names.map(|name| self.downloaded(&debs, &name)).collect()
    }

    /// Packages of a suite with all their dependencies, each as `NAME=VERSION`.
    pub fn with_dependencies(&self, packages: &[&str], suite: &str) -> Result<Vec<String>, LabError> {
        let words = [
            "-qq",
            "--no-install-recommends",
            "--simulate",
            "--target-release",
            suite,
            "install",
        ];
        let found = run(self.command("apt-get").args(words).args(packages))?;
        // `Inst NAME (VERSION ...)`
        let one = |line: &str| {
            let (name, rest) = line.strip_prefix("Inst ")?.split_once(" (")?;
            let version = rest.split(' ').next()?;
            Some(format!("{name}={version}"))
        };
        Ok(found.lines().filter_map(one).collect())
    }

    fn downloaded(&self, debs: &Path, name: &str) -> Result<PathBuf, LabError> {
        // The name may be followed by a suite, in apt's syntax.
        let start = format!("{}_", name.split('/').next().unwrap_or(name));
        let ends = [format!("_{}.deb", self.arch), "_all.deb".to_owned()];
        let entries = std::fs::read_dir(debs).map_err(LabError::file(debs))?;
        let fits = |path: &PathBuf| {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            file.starts_with(&start) && ends.iter().any(|end| file.ends_with(end))
        };
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(fits)
            .ok_or_else(|| LabError::NoKernel {
                id: name.to_owned(),
                why: format!("apt-get download left no file in {}", debs.display()),
            })
    }

    fn stamp(&self) -> PathBuf {
        self.dir.join("lists.stamp")
    }

    /// An apt command that reads and writes only inside the private directory.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let at = |name: &str| self.dir.join(name).display().to_string();
        let options = [
            format!("Dir::State={}", at("")),
            format!("Dir::State::lists={}", at("lists")),
            format!("Dir::State::status={}", at("status")),
            format!("Dir::Cache={}", at("cache")),
            format!("Dir::Etc::sourcelist={}", at("sources.list")),
            "Dir::Etc::sourceparts=-".to_owned(),
            "Dir::Etc::preferences=-".to_owned(),
            "Dir::Etc::preferencesparts=-".to_owned(),
            format!("APT::Architecture={}", self.arch),
            format!("APT::Architectures={}", self.arch),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=3".to_owned(),
            // Other index files (software centre data) would double the download.
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11-icons-small::DefaultEnabled=false".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled=false".to_owned(),
            // The unprivileged download user cannot enter a cache below the home directory of root.
            "APT::Sandbox::User=root".to_owned(),
        ];
        for option in options {
            command.args(["-o", &option]);
        }
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        command
    }
}

/// When the package lists are downloaded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Only when they are a week old or belong to other sources.
    WhenOld,
    /// Always: a download failed because the mirror has changed.
    Always,
}

/// The base address of this machine's Debian mirror, without the last slash.
///
/// # Errors
/// [`LabError::NoKernel`] when apt has no mirror of Debian.
pub fn mirror() -> Result<String, LabError> {
    if let Ok(set) = std::env::var("QUIETCORE_LAB_MIRROR") {
        return Ok(set.trim_end_matches('/').to_owned());
    }
    let listed = run(Command::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]))?;
    let debian = listed
        .lines()
        .map(|uri| uri.trim_end_matches('/'))
        .find(|uri| uri.ends_with("/debian"));
    debian.map(str::to_owned).ok_or_else(|| LabError::NoKernel {
        id: "all".to_owned(),
        why: "apt has no Debian mirror configured; set one in QUIETCORE_LAB_MIRROR".to_owned(),
    })
}

fn sources(mirror: &str, arch: &str) -> String {
    let kernels = ALL.iter().filter(|kernel| kernel.arch == arch);
    let suites: BTreeSet<&str> = kernels.flat_map(|kernel| kernel.suites).copied().collect();
    suites.into_iter().map(|suite| source(mirror, suite) + "\n").collect()
}

/// The line of `sources.list` for a suite.
pub fn source(mirror: &str, suite: &str) -> String {
    let tree = if suite.ends_with("-security") { "-security" } else { "" };
    format!("deb [signed-by={KEYRING}] {mirror}{tree} {suite} main")
}
