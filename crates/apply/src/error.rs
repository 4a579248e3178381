//! Defines what can fail while the machine is changed.

use root::state::{LIB_DIR, RUN_DIR};
use root::{Failure, RootError, Status};
use std::fmt;

/// Why a change or an undo failed. The display has three lines: what, why, what to do next.
#[derive(Debug)]
pub enum ApplyError {
    /// A file of the machine or of our state.
    Root(RootError),
    /// The machine lacks what the plan needs.
    Unable {
        /// What is missing.
        why: String,
        /// What would help.
        next: String,
    },
    /// A cgroup with that name exists already and is not ours.
    Exists {
        /// The cgroup.
        path: String,
    },
    /// Another intent is active for a partition with that name.
    OtherIntent {
        /// Its name.
        name: String,
        /// Its CPUs.
        cpus: String,
        /// When it was applied.
        since: String,
    },
    /// CPUs that belong to another partition.
    CpusInUse {
        /// The CPUs.
        cpus: String,
        /// The name of that partition.
        name: String,
        /// When it was applied.
        since: String,
    },
    /// No partition with that name is active.
    NoPartition {
        /// The name.
        name: String,
        /// The names of the partitions that are active.
        in_force: Vec<String>,
    },
    /// A record in the middle of an apply.
    Within {
        /// The record that the user named.
        to: u64,
        /// The partition of the apply.
        name: String,
        /// The record before it.
        before: u64,
        /// Its last record.
        end: u64,
    },
    /// An unfinished apply.
    Unfinished {
        /// The process that started it.
        pid: u32,
        /// When.
        since: String,
    },
    /// A partition whose resize is unfinished.
    Resizing {
        /// Its name.
        name: String,
        /// The CPUs that it was to have.
        cpus: String,
        /// The process that started it.
        pid: u32,
        /// When.
        since: String,
    },
    /// Another process is changing the machine right now.
    Busy {
        /// That process.
        holder: String,
    },
    /// A step failed and everything before it was undone.
    RolledBack {
        /// The change that failed.
        change: String,
        /// The kernel's error.
        why: String,
        /// Whether the former state is restored.
        undone: String,
        /// What to do.
        next: String,
        /// The errno, if there is one.
        errno: Option<i32>,
    },
    /// Stopped by the user.
    Interrupted {
        /// Whether the former state is restored.
        undone: String,
    },
    /// A journal that cannot be decoded.
    Journal {
        /// Which record.
        record: usize,
        /// The problem.
        why: String,
    },
    /// An intact record that another version wrote.
    OtherVersion {
        /// The journal, ledger or file of notes.
        file: String,
        /// The number of the record, from 1.
        record: usize,
        /// What cannot be decoded.
        why: String,
        /// The version that wrote it, if a record has it.
        writer: Option<String>,
    },
    /// A journal of changes that survive a restart, if it cannot be decoded.
    Installed {
        /// Its file.
        name: &'static str,
        /// Which record.
        record: usize,
        /// The problem.
        why: String,
    },
    /// The guard could not be started.
    Guard {
        /// Why.
        why: String,
    },
    /// The loader's own tool failed.
    Tool {
        /// The command line.
        command: String,
        /// The tool's message.
        why: String,
        /// What to do.
        next: String,
    },
    /// Another process is measuring with a tracer whose settings are shared.
    Tracing {
        /// The process.
        pid: u32,
    },
    /// There is nothing to confirm.
    NothingToConfirm {
        /// Why.
        why: String,
    },
}

/// What to do if there is nothing to undo or to confirm.
/// The failure for a partition that is not active: the active ones, and those that may be meant.
fn no_partition(name: &str, in_force: &[String]) -> Failure {
    let why = match in_force {
        [] => "none is active".to_owned(),
        names => format!("active: {}", names.join(", ")),
    };
    let meant = plan::words::did_you_mean(name, in_force.iter().map(String::as_str));
    let next = meant.unwrap_or_else(|| SEE_HISTORY.to_owned());
    Failure::usage(format!("no partition {name} is active"), why, next)
}

const SEE_HISTORY: &str = "`quietcore history` shows what was done";

/// The state of the machine or of our files does not allow it: what, why, next.
fn conflict(what: impl Into<String>, why: impl ToString, next: impl Into<String>) -> Failure {
    Failure::new(Status::Conflict, what, why, next)
}

/// What prevents a change: what failed, why, what to do next.
fn about_obstacle(error: &ApplyError) -> Failure {
    match error {
        ApplyError::Unable { why, next } => Failure::unable("the plan cannot be applied here", why, next),
        ApplyError::Exists { path } => conflict(
            format!("{path} already exists"),
            "quietcore did not create it, so it is left alone",
            "choose another name with --partition, or remove it first",
        ),
        ApplyError::OtherIntent { name, cpus, since } => conflict(
            format!("partition {name} with CPU {cpus} is active with other settings"),
            format!("it was applied at {since}, and each name can be used once"),
            format!("change it with --resize, or undo it first with `quietcore undo --partition {name}`"),
        ),
        ApplyError::CpusInUse { cpus, name, since } => conflict(
            format!("CPU {cpus} belongs to partition {name}"),
            format!("it was applied at {since}"),
            format!("choose other CPUs, or undo it with `quietcore undo --partition {name}` first"),
        ),
        ApplyError::NoPartition { name, in_force } => no_partition(name, in_force),
        ApplyError::Within { to, name, before, end } => Failure::usage(
            format!("record {to} is inside the changes of partition {name}"),
            "an apply is undone completely or not at all",
            format!("use --to {before} to undo it, or --to {end} to keep it"),
        ),
        ApplyError::Unfinished { pid, since } => conflict(
            "an unfinished change is active",
            format!("process {pid} was stopped during `apply` at {since}"),
            "finish it with `quietcore undo`; `undo --skip-changed` accepts what other programs have changed since, `undo \
             --force` restores it",
        ),
        ApplyError::Resizing { name, cpus, pid, since } => conflict(
            format!("recreating partition {name} with CPU {cpus} did not finish"),
            format!("process {pid} was stopped during that at {since}; its programs may be outside"),
            "restore the state before the partition with `quietcore undo`, then apply again",
        ),
        ApplyError::Busy { holder } => conflict(
            "another quietcore is changing this machine",
            holder,
            "wait for it, or stop it",
        ),
        ApplyError::Guard { why } => Failure::unable(
            "the guard could not be started",
            why,
            "nothing is changed without it; try again",
        ),
        ApplyError::Tracing { pid } => conflict(
            "the kernel's tracer is in use",
            format!("process {pid} measures with it, and its settings are shared by all users"),
            "wait for it, or measure without --tracer",
        ),
        ApplyError::NothingToConfirm { why } => conflict("nothing waits for a confirmation", why, SEE_HISTORY),
        _ => about_change(error),
    }
}

/// What the errors of a change and of the files about it say.
fn about_change(error: &ApplyError) -> Failure {
    match error {
        ApplyError::Root(error) => error.into(),
        ApplyError::RolledBack {
            change,
            why,
            undone,
            next,
            errno,
        } => {
            let status = match errno {
                Some(libc::EACCES | libc::EPERM) => Status::Denied,
                _ => Status::Unable,
            };
            Failure::new(status, format!("{change}: {why}"), undone, next)
        }
        ApplyError::Interrupted { undone } => {
            Failure::new(Status::Failed, "interrupted", undone, "run it again when you want")
        }
        ApplyError::Journal { record, why } => conflict(
            "the journal cannot be read",
            format!("record {record} is damaged: {why}"),
            format!("it was not changed; look at {RUN_DIR}/journal, and reboot to restore the state of the boot"),
        ),
        ApplyError::OtherVersion {
            file,
            record,
            why,
            writer,
        } => {
            let version = writer
                .as_ref()
                .map_or("another version".to_owned(), |writer| format!("quietcore {writer}"));
            conflict(
                format!("cannot use {file}"),
                format!("record {record} is intact, but {why}; {version} wrote it"),
                "use that version of quietcore or a newer one; the file was not changed",
            )
        }
        ApplyError::Installed { name, record, why } => conflict(
            format!("the journal {LIB_DIR}/{name} cannot be read"),
            format!("record {record} is damaged: {why}"),
            "it was not changed; look at it: it lists every file and its former content",
        ),
        ApplyError::Tool { command, why, next } => Failure::unable(format!("{command} failed"), why, next),
        ApplyError::Unable { .. }
        | ApplyError::Exists { .. }
        | ApplyError::OtherIntent { .. }
        | ApplyError::CpusInUse { .. }
        | ApplyError::NoPartition { .. }
        | ApplyError::Within { .. }
        | ApplyError::Unfinished { .. }
        | ApplyError::Resizing { .. }
        | ApplyError::Busy { .. }
        | ApplyError::Guard { .. }
        | ApplyError::Tracing { .. }
        | ApplyError::NothingToConfirm { .. } => about_obstacle(error),
    }
}

impl From<&ApplyError> for Failure {
    fn from(error: &ApplyError) -> Failure {
        about_change(error)
    }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Failure {
        Failure::from(&error)
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplyError::Root(error) => error.fmt(out),
            other => Failure::from(other).fmt(out),
        }
    }
}

impl std::error::Error for ApplyError {}

impl From<RootError> for ApplyError {
    fn from(error: RootError) -> ApplyError {
        ApplyError::Root(error)
    }
}

/// The errno of a refusal, or the error itself if it has none.
pub(crate) fn refusal(error: root::RootError) -> Result<i32, ApplyError> {
    error.errno().ok_or(ApplyError::Root(error))
}
