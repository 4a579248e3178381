//! Forks: short-lived processes, one after the other, so that the kernel creates and destroys address spaces.

use crate::os::{self, ForkSide};
use rustix::process::{WaitOptions, waitpid};
use std::time::Duration;

/// Never returns.
pub(super) fn run() {
    loop {
        match os::fork() {
            Ok(ForkSide::Child) => os::exit_now(0),
            Ok(ForkSide::Parent(pid)) => {
                let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
                let _ = waitpid(pid, WaitOptions::empty());
            }
            // Too many processes: leave room for other programs.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}
