//! Defines why a lease has no owner.

use root::RootError;

/// Why an owner was not found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OwnerAbsence {
    /// No such process.
    #[error("process {pid} does not exist")]
    NoProcess {
        /// Its number.
        pid: u32,
    },
    /// A thread, whose process may live on without it.
    #[error("{tid} is a thread of process {pid}")]
    Thread {
        /// The thread.
        tid: u32,
        /// Its process.
        pid: u32,
    },
    /// A process that its parent has not reaped.
    #[error("process {pid} has ended")]
    Ended {
        /// Its number.
        pid: u32,
    },
    /// A domain that does not run.
    #[error("{file} does not contain a process number")]
    NoPidFile {
        /// The file of libvirt.
        file: String,
    },
    /// A path that is not plain.
    #[error("its path contains `..` or `.`")]
    Relative,
    /// The root of a hierarchy.
    #[error("the root cgroup never ends")]
    RootCgroup,
    /// No such path in any hierarchy.
    #[error("no cgroup has this path")]
    NoPath,
    /// No such name in any hierarchy.
    #[error("no cgroup has this name")]
    NoName,
    /// An ambiguous name.
    #[error("{count} cgroups have this name; one is {path}")]
    Several {
        /// How many.
        count: usize,
        /// One of them.
        path: String,
    },
    /// A directory that cannot be read.
    #[error(transparent)]
    Unreadable(#[from] RootError),
}
