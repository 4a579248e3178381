//! What a measurement, a guest and a link have in common: a child that is heard while it speaks, and that may be silent for long.

use root::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{Error, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What came meanwhile.
pub enum ChildOutput {
    /// Nothing, or a signal: the caller looks whether it is to stop, and asks again.
    Nothing,
    /// The next part.
    Part(Vec<u8>),
    /// Nothing will come any more.
    Closed,
}

/// Waits at most so long for the next part of what is said.
///
/// # Errors
/// What `poll` or `read` say.
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

/// Starts a child that is heard, that dies with us, and that a Ctrl-C on the terminal does not reach: it is ours to hand on.
///
/// # Errors
/// What `spawn` says.
pub fn start(command: &mut Command) -> Result<Child, Error> {
    let parent = std::process::id();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    // SAFETY: between fork and exec it makes two system calls that take no memory.
    unsafe { command.pre_exec(move || process::die_with(parent).map_err(Error::from_raw_os_error)) };
    command.spawn()
}
