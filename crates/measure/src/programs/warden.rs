//! A process that ends the programs if we no longer can. It holds the other end of a pipe. When the pipe closes
//! because we have exited, it kills every process group that was registered with it.
//!
//! The kernel's parent-death signal reaches a program, but not the program's children (`sh -c "find | tar"` would
//! continue for hours).

use crate::os::{self, Errno, ForkSide};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::fd::OwnedFd;

/// The watching process; it ends by itself when this is dropped.
pub(super) struct ProgramWatchdog {
    pid: u32,
    pipe: Option<OwnedFd>,
}

impl ProgramWatchdog {
    /// Forks the watching process.
    pub(super) fn post() -> Result<ProgramWatchdog, Errno> {
        let (reads, writes) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(rustix::io::Errno::raw_os_error)?;
        match os::fork()? {
            ForkSide::Parent(pid) => Ok(ProgramWatchdog {
                pid,
                pipe: Some(writes),
            }),
            ForkSide::Child => {
                drop(writes);
                os::block_signals();
                // Leave the terminal's process group, so that a signal that ends us does not reach it.
                let _ = rustix::process::setsid();
                watch(&reads);
                os::exit_now(0)
            }
        }
    }

    /// Registers a started program: its PID is its group's number.
    pub(super) fn watch(&self, pid: u32) {
        self.send(i64::from(pid));
    }

    /// Unregisters a program that was reaped and whose group is empty.
    pub(super) fn forget(&self, pid: u32) {
        self.send(-i64::from(pid));
    }

    /// Writes of eight bytes are atomic. If the pipe is full or closed, only this fallback is lost.
    fn send(&self, word: i64) {
        if let Some(pipe) = &self.pipe {
            let _ = rustix::io::write(pipe, &word.to_ne_bytes());
        }
    }
}

impl Drop for ProgramWatchdog {
    fn drop(&mut self) {
        // An explicit message, not only a close: processes that we forked since then hold the pipe as well.
        self.send(0);
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
        let word_value = i64::from_ne_bytes(word);
        if word_value == 0 {
            return;
        }
        let Ok(group) = i32::try_from(word_value.unsigned_abs()) else {
            continue;
        };
        groups.retain(|known| *known != group);
        if word_value > 0 {
            groups.push(group);
        }
    }
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}
