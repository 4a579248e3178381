//! Descriptors that a program is given before it starts: where its output goes, and the way into its cgroup, opened
//! while an error can still be told.

use crate::RootError;
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Where writing begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With an empty file.
    Anew,
    /// Behind what is there.
    Further,
}

/// A file, a device or a pipe for a program's output, made where it is not there.
///
/// # Errors
/// The errno of open.
pub fn sink(path: &Path, begin: Begin) -> Result<OwnedFd, RootError> {
    let how = match begin {
        Begin::Anew => OFlags::TRUNC,
        Begin::Further => OFlags::APPEND,
    };
    open(path, OFlags::WRONLY | OFlags::CREATE | how)
}

/// `cgroup.procs` or `tasks`: whoever writes `0` to it is in that cgroup.
///
/// # Errors
/// The errno of open.
pub fn door(path: &Path) -> Result<OwnedFd, RootError> {
    open(path, OFlags::WRONLY)
}

/// A file of the kernel that is written to later, where opening would come too late (`trace_marker`, `tracing_on`).
///
/// # Errors
/// The errno of open.
pub fn writable(path: &str) -> Result<OwnedFd, RootError> {
    open(Path::new(path), OFlags::WRONLY)
}

/// A file of the kernel that grows while it is read (`trace_pipe`); reading never waits.
///
/// # Errors
/// The errno of open.
pub fn readable(path: &str) -> Result<OwnedFd, RootError> {
    open(Path::new(path), OFlags::RDONLY | OFlags::NONBLOCK)
}

fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, RootError> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666))
        .map_err(|errno| RootError::from_io(&path.display().to_string(), "open", &errno.into()))
}
