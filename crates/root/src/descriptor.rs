//! Opens descriptors for a program before it starts: its output, and access to its cgroup. At that point an error can
//! still be reported.

use crate::RootError;
use crate::error::OnPath;
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Where writing starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteStart {
    /// With an empty file.
    Empty,
    /// At the end of the existing content.
    Append,
}

/// Opens a file, a device or a pipe for a program's output, and creates the file if it is missing.
///
/// # Errors
/// The errno of open.
pub fn sink(path: &Path, begin: WriteStart) -> Result<OwnedFd, RootError> {
    let how = match begin {
        WriteStart::Empty => OFlags::TRUNC,
        WriteStart::Append => OFlags::APPEND,
    };
    open(path, OFlags::WRONLY | OFlags::CREATE | how)
}

/// Opens `cgroup.procs` or `tasks`: a process that writes `0` to it joins that cgroup.
///
/// # Errors
/// The errno of open.
pub fn door(path: &Path) -> Result<OwnedFd, RootError> {
    open(path, OFlags::WRONLY)
}

/// Opens a kernel file for a later write, when opening would be too late (`trace_marker`, `tracing_on`).
///
/// # Errors
/// The errno of open.
pub fn writable(path: &str) -> Result<OwnedFd, RootError> {
    open(Path::new(path), OFlags::WRONLY)
}

/// Opens a kernel file that grows while it is read (`trace_pipe`); reading never blocks.
///
/// # Errors
/// The errno of open.
pub fn readable(path: &str) -> Result<OwnedFd, RootError> {
    open(Path::new(path), OFlags::RDONLY | OFlags::NONBLOCK)
}

fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, RootError> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666)).on(path, "open")
}
