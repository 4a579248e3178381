//! The process that ends the programs when we no longer can: it holds the other end of a pipe, and when that closes
//! because we are gone, it kills every process group that it was told of.
//!
//! The kernel's own signal at a parent's death reaches a program, but not what that program has started (`sh -c "find |
//! tar"` would go on for hours).

use crate::os::{self, Errno, Side};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::fd::OwnedFd;

/// The watching process; it ends by itself when this is dropped.
pub(super) struct Warden {
    pid: u32,
    pipe: Option<OwnedFd>,
}

impl Warden {
    /// Forks the watching process.
    pub(super) fn post() -> Result<Warden, Errno> {
        let (reads, writes) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(rustix::io::Errno::raw_os_error)?;
        match os::fork()? {
            Side::Parent(pid) => Ok(Warden {
                pid,
                pipe: Some(writes),
            }),
            Side::Child => {
                drop(writes);
                os::block_signals();
                // Out of the terminal's group, so that nothing that ends us reaches it.
                let _ = rustix::process::setsid();
                watch(&reads);
                os::exit_now(0)
            }
        }
    }

    /// A program was started: its number is its group's.
    pub(super) fn watch(&self, pid: u32) {
        self.tell(i64::from(pid));
    }

    /// A program was waited for, and nothing is left of its group.
    pub(super) fn forget(&self, pid: u32) {
        self.tell(-i64::from(pid));
    }

    /// Eight bytes at once are never torn. A pipe that is full or gone costs only the second line of defence.
    fn tell(&self, word: i64) {
        if let Some(pipe) = &self.pipe {
            let _ = rustix::io::write(pipe, &word.to_ne_bytes());
        }
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        // Said and not only closed: processes that were forked from us since hold the pipe as well.
        self.tell(0);
        self.pipe = None;
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let _ = rustix::process::waitpid(pid, rustix::process::WaitOptions::empty());
    }
}

fn watch(pipe: &OwnedFd) {
    let mut groups: Vec<i32> = Vec::with_capacity(64);
    let mut word = [0; 8];
    loop {
        match rustix::io::read(pipe, &mut word) {
            Ok(8) => {}
            Err(rustix::io::Errno::INTR) => continue,
            _ => break,
        }
        let said = i64::from_ne_bytes(word);
        if said == 0 {
            return;
        }
        let Ok(group) = i32::try_from(said.unsigned_abs()) else {
            continue;
        };
        groups.retain(|known| *known != group);
        if said > 0 {
            groups.push(group);
        }
    }
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}
