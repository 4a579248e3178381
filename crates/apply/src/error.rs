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
    /// Another intent is in force for a partition with that name.
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
    /// No partition with that name is in force.
    NoPartition {
        /// The name.
        name: String,
        /// The partitions that are in force.
        in_force: String,
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

fn version(writer: Option<&str>) -> String {
    writer.map_or_else(|| "another version".to_owned(), |writer| format!("quietcore {writer}"))
}

impl ApplyError {
    fn status(&self) -> Status {
        match self {
            ApplyError::Root(error) => Failure::from(error).status,
            ApplyError::NoPartition { .. } | ApplyError::Within { .. } => Status::Usage,
            ApplyError::RolledBack {
                errno: Some(libc::EACCES | libc::EPERM),
                ..
            } => Status::Denied,
            ApplyError::Unable { .. }
            | ApplyError::RolledBack { .. }
            | ApplyError::Guard { .. }
            | ApplyError::Tool { .. } => Status::Unable,
            ApplyError::Interrupted { .. } => Status::Failed,
            _ => Status::Conflict,
        }
    }

    /// What failed.
    fn what(&self) -> String {
        match self {
            ApplyError::Root(error) => Failure::from(error).what,
            ApplyError::Unable { .. } => "the plan cannot be applied here".to_owned(),
            ApplyError::Exists { path } => format!("{path} exists already"),
            ApplyError::OtherIntent { name, cpus, .. } => {
                format!("another intent is in force: partition {name} with CPU {cpus}")
            }
            ApplyError::CpusInUse { cpus, name, .. } => format!("CPU {cpus} belongs to partition {name}"),
            ApplyError::NoPartition { name, .. } => format!("no partition {name} is in force"),
            ApplyError::Within { to, name, .. } => {
                format!("record {to} is in the middle of what was done for partition {name}")
            }
            ApplyError::Unfinished { .. } => "an unfinished change is in force".to_owned(),
            ApplyError::Resizing { name, cpus, .. } => {
                format!("recreating partition {name} with CPU {cpus} did not finish")
            }
            ApplyError::Busy { .. } => "another quietcore is changing this machine".to_owned(),
            ApplyError::RolledBack { change, why, .. } => format!("{change}: {why}"),
            ApplyError::Interrupted { .. } => "interrupted".to_owned(),
            ApplyError::Journal { .. } => "the journal cannot be read".to_owned(),
            ApplyError::OtherVersion { file, .. } => format!("cannot use {file}"),
            ApplyError::Installed { name, .. } => format!("the journal {LIB_DIR}/{name} cannot be read"),
            ApplyError::Guard { .. } => "the guard could not be started".to_owned(),
            ApplyError::Tool { command, .. } => format!("{command} failed"),
            ApplyError::Tracing { .. } => "the kernel's tracer is taken".to_owned(),
            ApplyError::NothingToConfirm { .. } => "nothing waits for a confirmation".to_owned(),
        }
    }

    /// The reason.
    fn why(&self) -> String {
        match self {
            ApplyError::Root(error) => Failure::from(error).why,
            ApplyError::Exists { .. } => "it was not made by quietcore, so it is left alone".to_owned(),
            ApplyError::OtherIntent { since, .. } => {
                format!("it was applied at {since}, and a name is for one partition")
            }
            ApplyError::CpusInUse { since, .. } => format!("it was applied at {since}"),
            ApplyError::NoPartition { in_force, .. } => format!("in force: {in_force}"),
            ApplyError::Within { .. } => "an apply is undone completely or not at all".to_owned(),
            ApplyError::Unfinished { pid, since } => {
                format!("process {pid} was stopped in the middle of `apply` at {since}")
            }
            ApplyError::Resizing { pid, since, .. } => {
                format!("process {pid} was stopped in the middle of it at {since}; its programs may be outside")
            }
            ApplyError::Busy { holder } => holder.clone(),
            ApplyError::RolledBack { undone, .. } | ApplyError::Interrupted { undone } => undone.clone(),
            ApplyError::Journal { record, why } | ApplyError::Installed { record, why, .. } => {
                format!("record {record} is damaged: {why}")
            }
            ApplyError::OtherVersion {
                record, why, writer, ..
            } => {
                let version = version(writer.as_deref());
                format!("record {record} is intact, but {why}; {version} wrote it")
            }
            ApplyError::Tracing { pid } => {
                format!("process {pid} measures with it, and its settings are the same for everybody")
            }
            ApplyError::Unable { why, .. }
            | ApplyError::Guard { why }
            | ApplyError::Tool { why, .. }
            | ApplyError::NothingToConfirm { why } => why.clone(),
        }
    }

    /// What to do next.
    fn next(&self) -> String {
        let next = match self {
            ApplyError::Root(error) => return Failure::from(error).next,
            ApplyError::OtherIntent { name, .. } => {
                return format!(
                    "give it other CPUs with --resize, undo it with `quietcore undo --partition {name}`, or choose another name with --partition"
                );
            }
            ApplyError::CpusInUse { name, .. } => {
                return format!("choose other CPUs, or undo it with `quietcore undo --partition {name}` first");
            }
            ApplyError::Within { before, end, .. } => {
                return format!("use --to {before} to undo it, or --to {end} to keep it");
            }
            ApplyError::Journal { .. } => {
                return format!(
                    "it is kept as it is; look at {RUN_DIR}/journal, and reboot to get the boot state back"
                );
            }
            ApplyError::Exists { .. } => "choose another name with --partition, or remove it first",
            ApplyError::NoPartition { .. } | ApplyError::NothingToConfirm { .. } => {
                "`quietcore history` shows what was done"
            }
            ApplyError::Unfinished { .. } => {
                "finish it with `quietcore undo`; `undo --keep` accepts what other programs have changed since, `undo --force` restores it"
            }
            ApplyError::Resizing { .. } => {
                "give back the state before the partition with `quietcore undo`, then apply again"
            }
            ApplyError::Busy { .. } => "wait for it, or stop it",
            ApplyError::Interrupted { .. } => "run it again when you like",
            ApplyError::OtherVersion { .. } => "use that version of quietcore or a newer one; the file was not changed",
            ApplyError::Installed { .. } => {
                "it is kept as it is; look at it: it names every file and what stood there before"
            }
            ApplyError::Guard { .. } => "without it nothing is changed; try again",
            ApplyError::Tracing { .. } => "wait for it, or measure without --method",
            ApplyError::Unable { next, .. } | ApplyError::RolledBack { next, .. } | ApplyError::Tool { next, .. } => {
                next
            }
        };
        next.to_owned()
    }
}

impl From<&ApplyError> for Failure {
    fn from(error: &ApplyError) -> Failure {
        Failure::new(error.status(), error.what(), error.why(), error.next())
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
