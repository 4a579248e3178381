//! Starts one program with all its settings in place before its first instruction.

use super::Order;
use crate::{MeasureError, os};
use root::RootError;
use root::descriptor::{self, WriteStart};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts the program. Its output file is created at the first start and appended to at later ones.
///
/// # Errors
/// [`MeasureError::ConfiguredProgram`]: the program, its files or its cgroup cannot be opened, or the kernel refuses its CPUs or its
/// policy.
pub(super) fn launch(order: &Order, begin: WriteStart) -> Result<Child, MeasureError> {
    let failed = |what: String, errno: i32| MeasureError::Program {
        name: order.name.clone(),
        what,
        errno,
    };
    let (program, arguments) = order
        .command
        .split_first()
        .ok_or_else(|| failed("start nothing".to_owned(), libc::ENOENT))?;
    let opened = |what: String, fd: Result<OwnedFd, RootError>| {
        fd.map_err(|error| failed(what, error.errno().unwrap_or(libc::EIO)))
    };
    let sink =
        |path: &Path| opened(format!("write {}", path.display()), descriptor::sink(path, begin)).map(Stdio::from);
    let door = order
        .door
        .as_deref()
        .map(|door| opened(format!("enter the cgroup of {door}"), descriptor::door(Path::new(door))))
        .transpose()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    if let Some(path) = &order.output {
        command.stdout(sink(path)?);
    }
    if let Some(path) = &order.errors {
        command.stderr(sink(path)?);
    }
    os::on_start(
        &mut command,
        os::ProgramStart {
            parent: std::process::id(),
            door,
            cpus: order.cpus.clone(),
            policy: order.policy,
            priority: order.priority,
        },
    );
    command.spawn().map_err(|error| {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        failed(format!("start {program}"), errno)
    })
}
