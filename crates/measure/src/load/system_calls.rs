//! System calls: short ones, and ones that copy, at the maximum rate. None uses a disk.
//!
//! `sched_yield` is excluded. Calling it in a loop at a low priority has crashed kernels since 6.6, in
//! `pick_task_fair`: no runnable task was eligible (fixed in mainline by 1319ea57529e, in April 2026; 6.12.118-rt still crashes).

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{read, write};

/// Never returns, unless `/dev/zero` or `/dev/null` is missing.
pub(super) fn run() {
    let file = |path, flags| open(path, flags | OFlags::CLOEXEC, Mode::empty());
    let (Ok(zero), Ok(null)) = (file("/dev/zero", OFlags::RDONLY), file("/dev/null", OFlags::WRONLY)) else {
        return;
    };
    let mut buffer = [0_u8; 4096];
    loop {
        let _ = rustix::process::getppid();
        let _ = read(&zero, &mut buffer);
        let _ = write(&null, &buffer);
    }
}
