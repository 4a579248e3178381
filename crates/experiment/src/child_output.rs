//! Reads the output of a child while it runs, for measurements, guests and links. The child may be silent for long.

use root::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{Error, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The result of waiting for output.
pub enum ChildOutput {
    /// Nothing, or a signal: the caller checks whether to stop, and calls again.
    Nothing,
    /// The next part.
    Part(Vec<u8>),
    /// The end of the output.
    Closed,
}

/// Waits for the next part of the output, up to this time.
///
/// # Errors
/// Errors of `poll` or `read`.
pub fn next_part(from: &mut (impl Read + AsFd), wait: Duration) -> Result<ChildOutput, Error> {
    let wait = Timespec::try_from(wait).ok();
    match poll(&mut [PollFd::new(from, PollFlags::IN)], wait.as_ref()) {
        Ok(0) | Err(Errno::INTR) => return Ok(ChildOutput::Nothing),
        Ok(_) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut part = vec![0; 1 << 16];
    match from.read(&mut part) {
        Ok(0) => Ok(ChildOutput::Closed),
        Ok(count) => {
            part.truncate(count);
            Ok(ChildOutput::Part(part))
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(ChildOutput::Nothing),
        Err(error) => Err(error),
    }
}

/// Starts a child with piped output. It dies with us, and Ctrl-C on the terminal does not reach it: we forward that.
///
/// # Errors
/// Errors of `spawn`.
pub fn start(command: &mut Command) -> Result<Child, Error> {
    let parent = std::process::id();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    // SAFETY: between fork and exec the closure makes two system calls that allocate no memory.
    unsafe { command.pre_exec(move || process::kill_with_parent(parent).map_err(Error::from_raw_os_error)) };
    command.spawn()
}
