//! Forks: processes that end at once, one after the other, so that the kernel makes and takes apart address spaces.

use crate::os::{self, Side};
use rustix::process::{WaitOptions, waitpid};
use std::time::Duration;

/// Never returns.
pub(super) fn run() {
    loop {
        match os::fork() {
            Ok(Side::Child) => os::exit_now(0),
            Ok(Side::Parent(pid)) => {
                let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
                let _ = waitpid(pid, WaitOptions::empty());
            }
            // Too many processes: others need the room more than a load does.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}
