//! Runs a command on its own terminal, because programs that draw on a terminal do not draw into a pipe.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// Runs a command with its output on a new terminal and prints what it drew. Fails if the command fails.
pub fn run(command: &[&str]) -> Result<(), String> {
    let (program, arguments) = command.split_first().ok_or("terminal COMMAND...")?;
    let (ours, theirs) = pair()?;
    let copy = || theirs.try_clone().map_err(|error| error.to_string());
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(copy()?)
        .stderr(copy()?)
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    // Reading ends when no process has the other side open.
    drop(theirs);
    let mut drawn = Vec::new();
    let mut ours = File::from(ours);
    let mut some = [0; 4096];
    // A terminal returns EIO when its other side is closed.
    while let Ok(count @ 1..) = ours.read(&mut some) {
        drawn.extend_from_slice(some.get(..count).unwrap_or_default());
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    print!("{}", String::from_utf8_lossy(&drawn));
    match status.success() {
        true => Ok(()),
        false => Err(format!("{program}: {status}")),
    }
}

/// Opens both sides of a terminal in raw mode, which leaves written bytes unchanged.
fn pair() -> Result<(OwnedFd, OwnedFd), String> {
    let (mut ours, mut theirs) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: both numbers are written on success; name, settings and size are not requested.
    let status = unsafe { libc::openpty(&raw mut ours, &raw mut theirs, none, none.cast(), none.cast()) };
    if status != 0 {
        return Err(format!("openpty: {}", std::io::Error::last_os_error()));
    }
    // SAFETY: both descriptors are open and have no other owner.
    let pair = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    super::report::raw(pair.1.as_raw_fd());
    Ok(pair)
}
