//! System calls: short ones, and ones that copy, as fast as they go. Nothing reaches a disk.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{read, write};

/// Never returns, unless `/dev/zero` or `/dev/null` is missing.
pub(super) fn run() {
    let file = |path, flags| open(path, flags | OFlags::CLOEXEC, Mode::empty());
    let (Ok(zero), Ok(null)) = (
        file("/dev/zero", OFlags::RDONLY),
        file("/dev/null", OFlags::WRONLY),
    ) else {
        return;
    };
    let mut buffer = [0_u8; 4096];
    loop {
        let _ = rustix::process::getppid();
        let _ = read(&zero, &mut buffer);
        let _ = write(&null, &buffer);
        rustix::thread::sched_yield();
    }
}
