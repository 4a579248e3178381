//! Prepares what the runner needs from the host: programs, kernels, emulator.

use crate::initramfs::{GuestSystem, HostPrograms};
use crate::kernels::{ALL, BootableKernel, LabKernel};
use crate::runner::ScenarioJob;
use crate::scenario::{GuestInit, ScenarioCell};
use crate::userland::{self, Userland};
use crate::{accelerator, debian, unpack};
use guest::qemu::Accelerator;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why a JSON document does not match its schema; `None` for a document without one.
pub type DocumentCheck = Box<dyn Fn(&serde_json::Value) -> Option<Vec<String>> + Sync>;

/// What the runner needs from the host.
pub struct Bench {
    /// The programs for the guests.
    pub programs: HostPrograms,
    /// The available kernels by their ID, or why one is missing.
    pub kernels: BTreeMap<&'static str, Result<BootableKernel, String>>,
    /// The systemd of each kernel that a cell boots with systemd, by the kernel's ID.
    pub userlands: BTreeMap<&'static str, Result<Userland, String>>,
    /// The installed Debian, if a cell boots it.
    pub debian: Option<Result<PathBuf, String>>,
    /// What executes the guests' instructions.
    pub accelerator: Accelerator,
    /// The directory for consoles, records and claims.
    pub out: PathBuf,
    /// Checks every JSON document that a command in a guest prints.
    pub documents: DocumentCheck,
}

impl Bench {
    /// Prepares what the jobs need: kernels, their systemd, and the accelerator. Packages of quietcore that guests install
    /// are taken from `debs` in `out`.
    ///
    /// # Errors
    /// [`MissingProgram`] when no guest can be started at all.
    pub fn prepare(
        jobs: &[ScenarioJob],
        quietcore: PathBuf,
        guest: PathBuf,
        out: PathBuf,
        documents: DocumentCheck,
    ) -> Result<Bench, MissingProgram> {
        let busybox = host()?;
        let mut kernels = BTreeMap::new();
        for (kernel, result) in unpack::ready(&kernels_of(jobs)) {
            kernels.insert(kernel.id, result.map_err(|error| error.to_string()));
        }
        let mut images = kernels.values().flatten().filter(|ready| ready.kernel.arch == "amd64");
        let accelerator = images
            .next()
            .map_or(Accelerator::Tcg, |ready| accelerator::of_host(&ready.unpacked.image()));
        Ok(Bench {
            programs: HostPrograms {
                quietcore,
                guest,
                busybox,
                debs: debs(&out),
            },
            kernels,
            userlands: userlands(jobs),
            debian: (jobs.iter().any(|job| job.cell.init == GuestInit::Debian))
                .then(|| debian::ready().map_err(|error| error.to_string())),
            accelerator,
            out,
            documents,
        })
    }

    /// The system of a cell, or why it is missing.
    pub(crate) fn system(&self, cell: &ScenarioCell) -> Result<GuestSystem<'_>, &str> {
        match cell.init {
            GuestInit::Script => Ok(GuestSystem::Busybox),
            GuestInit::Systemd => match self.userlands.get(cell.kernel.id) {
                Some(Ok(userland)) => Ok(GuestSystem::Systemd(userland)),
                Some(Err(why)) => Err(why),
                None => Err("its systemd was not prepared"),
            },
            GuestInit::Debian => match &self.debian {
                Some(Ok(archive)) => Ok(GuestSystem::Debian(archive)),
                Some(Err(why)) => Err(why),
                None => Err("its Debian was not installed"),
            },
        }
    }

    /// The second kernel of a cell that needs it, or why it is missing.
    pub(crate) fn beside(&self, cell: &ScenarioCell) -> Result<Option<&BootableKernel>, &str> {
        let Some(kernel) = cell.shape.beside else {
            return Ok(None);
        };
        match self.kernels.get(kernel.id) {
            Some(Ok(ready)) => Ok(Some(ready)),
            Some(Err(why)) => Err(why),
            None => Err("its second kernel was not prepared"),
        }
    }
}

/// Where packages of quietcore are, in the directory for records of guests.
#[must_use]
pub fn debs(out: &Path) -> PathBuf {
    out.join("debs")
}

/// Why no guest can be started: a program is missing on the host.
#[derive(Debug, thiserror::Error)]
#[error("no {0} here; `scripts/setup test` installs it on Debian and Ubuntu")]
pub struct MissingProgram(&'static str);

/// Checks what every guest needs from the host, and returns the static busybox.
fn host() -> Result<PathBuf, MissingProgram> {
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    for program in ["qemu-system-x86_64", "dpkg-deb", "modinfo", "apt-get", "xz", "zstd"] {
        if !is_there(program) {
            return Err(MissingProgram(program));
        }
    }
    let places = ["/usr/bin/busybox", "/bin/busybox"].map(PathBuf::from);
    let busybox = places.into_iter().find(|path| path.is_file());
    busybox.ok_or(MissingProgram("static busybox"))
}

/// The kernels that the jobs boot or install.
fn kernels_of(jobs: &[ScenarioJob]) -> Vec<LabKernel> {
    let used = |kernel: &&LabKernel| {
        let is_of = |job: &ScenarioJob| job.cell.kernel == **kernel || job.cell.shape.beside == Some(**kernel);
        jobs.iter().any(is_of)
    };
    ALL.iter().filter(used).copied().collect()
}

/// The systemd of every kernel that a job boots with one.
fn userlands(jobs: &[ScenarioJob]) -> BTreeMap<&'static str, Result<Userland, String>> {
    let used = |kernel: &&LabKernel| {
        let is_of = |job: &ScenarioJob| job.cell.kernel == **kernel && job.cell.init == GuestInit::Systemd;
        jobs.iter().any(is_of)
    };
    let ready = |kernel: &LabKernel| userland::ready(*kernel).map_err(|error| error.to_string());
    let kernels = ALL.iter().filter(used);
    kernels.map(|kernel| (kernel.id, ready(kernel))).collect()
}
