//! Wake-ups: two processes pass a byte back and forth, so that each wakes the other, across CPUs if possible.

use crate::os::Errno;
use rustix::io::{read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::OwnedFd;

/// The two pipes between the partners.
pub(super) struct PipePair {
    there: (OwnedFd, OwnedFd),
    back: (OwnedFd, OwnedFd),
}

/// The role of a process.
#[derive(Clone, Copy)]
pub(super) enum WakeUpRole {
    /// Sends first.
    SendsFirst,
    /// Waits first.
    Answers,
}

impl PipePair {
    /// Two close-on-exec pipes.
    pub(super) fn new() -> Result<PipePair, Errno> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(rustix::io::Errno::raw_os_error);
        Ok(PipePair {
            there: pipe()?,
            back: pipe()?,
        })
    }

    /// Never returns, unless a pipe breaks. Each partner holds both ends, so if one dies, the
    /// other sleeps until both are ended.
    pub(super) fn run(&self, role: WakeUpRole) {
        let (from, to) = match role {
            WakeUpRole::SendsFirst => (&self.back.0, &self.there.1),
            WakeUpRole::Answers => (&self.there.0, &self.back.1),
        };
        let mut byte = [0_u8];
        if let WakeUpRole::SendsFirst = role
            && write(to, &byte).is_err()
        {
            return;
        }
        while matches!(read(from, &mut byte), Ok(1)) && write(to, &byte).is_ok() {}
    }
}
