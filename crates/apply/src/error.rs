//! What can go wrong while the machine is changed.

use root::state::{LIB_DIR, RUN_DIR};
use root::{Failure, RootError, Status};

/// Why a change or an undo did not happen. The display has three lines: what, why, what to do next.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A file of the machine or of our state.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The machine lacks what the plan needs.
    #[error("the plan cannot be applied here\n{why}\n{next}")]
    Unable {
        /// What is missing.
        why: String,
        /// What would help.
        next: String,
    },
    /// Something with that name is there already and is not ours.
    #[error(
        "{path} exists already\nit was not made by quietcore, so it is left alone\n\
         choose another name with --partition, or remove it first"
    )]
    Exists {
        /// The cgroup.
        path: String,
    },
    /// Another intent is in force for a partition of that name.
    #[error(
        "another intent is in force: partition {name} with CPU {cpus}\n\
         it was applied at {since}, and a name stands for one partition\n\
         give it other CPUs with --resize, take it back with `quietcore undo --partition {name}`, or choose \
         another name with --partition"
    )]
    OtherIntent {
        /// Its name.
        name: String,
        /// Its CPUs.
        cpus: String,
        /// When.
        since: String,
    },
    /// CPUs that another partition has.
    #[error(
        "CPU {cpus} belongs to partition {name}\nit was applied at {since}\n\
         choose other CPUs, or take it back with `quietcore undo --partition {name}` first"
    )]
    Taken {
        /// The CPUs.
        cpus: String,
        /// Whose they are.
        name: String,
        /// Since when.
        since: String,
    },
    /// No partition of that name is in force.
    #[error("no partition {name} is in force\nin force: {in_force}\n`quietcore history` shows what was done")]
    NoPartition {
        /// The name.
        name: String,
        /// Those that are.
        in_force: String,
    },
    /// A record in the middle of an apply.
    #[error(
        "record {to} is in the middle of what was done for partition {name}\n\
         an apply is taken back as a whole or not at all\n\
         use --to {before} to take it back, or --to {end} to keep it"
    )]
    Within {
        /// What the user named.
        to: u64,
        /// Whose it is.
        name: String,
        /// The record before it.
        before: u64,
        /// Its last record.
        end: u64,
    },
    /// An apply that did not finish.
    #[error(
        "an unfinished change is in force\nprocess {pid} was stopped in the middle of `apply` at {since}\n\
         finish it with `quietcore undo`; `undo --keep` accepts what other programs have changed since, `undo --force` restores it"
    )]
    Unfinished {
        /// Who began it.
        pid: u32,
        /// When.
        since: String,
    },
    /// A partition that was to be made anew, and was not to the end.
    #[error(
        "making partition {name} anew with CPU {cpus} did not finish\n\
         process {pid} was stopped in the middle of it at {since}; its programs may be outside\n\
         give back the state before the partition with `quietcore undo`, then apply again"
    )]
    Resizing {
        /// Its name.
        name: String,
        /// The CPUs that it was to get.
        cpus: String,
        /// Who began it.
        pid: u32,
        /// When.
        since: String,
    },
    /// Somebody is changing the machine right now.
    #[error("another quietcore is changing this machine\n{holder}\nwait for it, or stop it")]
    Busy {
        /// Who.
        holder: String,
    },
    /// A step failed and everything before it was taken back.
    #[error("{change}: {why}\n{undone}\n{next}")]
    RolledBack {
        /// The change that failed.
        change: String,
        /// What the kernel said.
        why: String,
        /// Whether the former state is back.
        undone: String,
        /// What to do.
        next: String,
        /// The errno, where there is one.
        errno: Option<i32>,
    },
    /// Stopped by the user.
    #[error("interrupted\n{undone}\nrun it again when you like")]
    Interrupted {
        /// Whether the former state is back.
        undone: String,
    },
    /// A journal that cannot be understood.
    #[error(
        "the journal cannot be read\nrecord {record} is damaged: {why}\n\
         it is kept as it is; look at {RUN_DIR}/journal, and reboot to get the boot state back"
    )]
    Journal {
        /// Which record.
        record: usize,
        /// What is wrong.
        why: String,
    },
    /// A record that is intact, and that another version wrote.
    #[error(
        "cannot use {file}\nrecord {record} is intact, but {why}; {} wrote it\n\
         use that version of quietcore or a newer one; the file was not changed",
        version(writer.as_deref())
    )]
    OtherVersion {
        /// The journal, ledger or file of notes.
        file: String,
        /// Which record of it, from 1.
        record: usize,
        /// What is not understood.
        why: String,
        /// The version that wrote it, where a record says that.
        writer: Option<String>,
    },
    /// A journal of what outlives a restart that cannot be understood.
    #[error(
        "the journal {LIB_DIR}/{name} cannot be read\nrecord {record} is damaged: {why}\n\
         it is kept as it is; look at it: it names every file and what stood there before"
    )]
    Installed {
        /// Its file.
        name: &'static str,
        /// Which record.
        record: usize,
        /// What is wrong.
        why: String,
    },
    /// The guard could not be started.
    #[error("the guard could not be started\n{why}\nwithout it nothing is changed; try again")]
    Guard {
        /// Why.
        why: String,
    },
    /// The loader's own tool did not do it.
    #[error("{command} failed\n{why}\n{next}")]
    Tool {
        /// As a user would type it.
        command: String,
        /// What it said.
        why: String,
        /// What to do.
        next: String,
    },
    /// Another process measures with a tracer whose settings all share.
    #[error(
        "the kernel's tracer is taken\nprocess {pid} measures with it, and its settings are the same for everybody\n\
         wait for it, or measure without --method"
    )]
    Tracing {
        /// The process.
        pid: u32,
    },
    /// There is nothing to confirm.
    #[error("nothing waits for a confirmation\n{why}\n`quietcore history` shows what was done")]
    NothingToConfirm {
        /// Why.
        why: String,
    },
}

fn version(writer: Option<&str>) -> String {
    writer.map_or_else(
        || "another version".to_owned(),
        |writer| format!("quietcore {writer}"),
    )
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Failure {
        let status = match &error {
            ApplyError::Root(_) => Status::Unable,
            ApplyError::Unable { .. } | ApplyError::Guard { .. } | ApplyError::Tool { .. } => Status::Unable,
            ApplyError::RolledBack { errno, .. } => match errno {
                Some(libc::EACCES | libc::EPERM) => Status::Denied,
                _ => Status::Unable,
            },
            ApplyError::Exists { .. }
            | ApplyError::OtherIntent { .. }
            | ApplyError::Taken { .. }
            | ApplyError::Unfinished { .. }
            | ApplyError::Resizing { .. }
            | ApplyError::Busy { .. }
            | ApplyError::Tracing { .. }
            | ApplyError::Journal { .. }
            | ApplyError::OtherVersion { .. }
            | ApplyError::Installed { .. }
            | ApplyError::NothingToConfirm { .. } => Status::Conflict,
            ApplyError::NoPartition { .. } | ApplyError::Within { .. } => Status::Usage,
            ApplyError::Interrupted { .. } => Status::Failed,
        };
        if let ApplyError::Root(error) = error {
            return error.into();
        }
        let failure = Failure::of_lines(status, &error);
        Failure {
            next: failure.next.replace('\n', "; "),
            ..failure
        }
    }
}
