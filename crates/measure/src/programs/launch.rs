//! Starting one program with everything that it shall have before its first instruction.

use super::Order;
use crate::{MeasureError, os};
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts it. A file for its output is made anew at the first start and continued later.
///
/// # Errors
/// [`MeasureError::Program`]: the program, its files or its cgroup cannot be had, or the kernel refuses its CPUs or its
/// policy.
pub(super) fn launch(order: &Order, continued: bool) -> Result<Child, MeasureError> {
    let failed = |what: String, errno: i32| MeasureError::Program {
        name: order.name.clone(),
        what,
        errno,
    };
    let (program, arguments) = order
        .command
        .split_first()
        .ok_or_else(|| failed("start nothing".to_owned(), libc::ENOENT))?;
    let how = match continued {
        false => OFlags::TRUNC,
        true => OFlags::APPEND,
    };
    let sink = |path: &Path| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | how;
        rustix::fs::open(path, flags, Mode::from_raw_mode(0o666))
            .map(Stdio::from)
            .map_err(|errno| failed(format!("write {}", path.display()), errno.raw_os_error()))
    };
    let door: Option<OwnedFd> = order
        .door
        .as_deref()
        .map(|door| {
            rustix::fs::open(door, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
                .map_err(|errno| failed(format!("enter the cgroup of {door}"), errno.raw_os_error()))
        })
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
        os::Start {
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
