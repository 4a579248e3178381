//! Locks a state directory with files that one process holds at a time (`flock(2)`).

use super::{StateDir, StatePath};
use crate::RootError;
use crate::error::failed;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Locks of a state directory. Each protects one thing, so that a lock that is held for long does not delay the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockFile {
    /// The state itself.
    State,
    /// The boot files of the machine: a loader's tools may take minutes.
    BootFiles,
}

impl LockFile {
    pub(super) const fn name(self) -> &'static str {
        match self {
            LockFile::State => ".lock",
            LockFile::BootFiles => ".boot-lock",
        }
    }
}

/// The right to change the state, held until dropped.
///
/// A process that is forked without `exec` shares the lock and keeps it; an executed program does not.
#[derive(Debug)]
pub struct Lock {
    _file: OwnedFd,
}

impl StateDir {
    /// Waits for [`LockFile::FrameState`], at most for `wait`.
    ///
    /// # Errors
    /// As [`StateDir::lock_file`].
    pub fn lock(&self, wait: Duration) -> Result<Lock, RootError> {
        self.lock_file(LockFile::State, wait)
    }

    /// Waits for a lock of this directory, at most for `wait`.
    ///
    /// # Errors
    /// [`RootError::Busy`], with the holder, if it is not released in time; [`RootError::FrameState`] for an unsafe lock file.
    pub fn lock_file(&self, which: LockFile, wait: Duration) -> Result<Lock, RootError> {
        let name = which.name();
        let place = StatePath {
            sub: None,
            file: name.to_owned(),
        };
        let shown = self.display_path(name);
        let file = self
            .open_file(&place, OFlags::RDWR | OFlags::CREATE)?
            .ok_or_else(|| failed(&shown, "open", Errno::NOENT))?;
        let deadline = Instant::now() + wait;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(10).min(wait));
                }
                Err(Errno::WOULDBLOCK) => return Err(self.lock_held_error(name)),
                Err(errno) => return Err(failed(&shown, "lock", errno)),
            }
        }
        // The number is only for the message to waiting processes, so a full disk does not matter here.
        let _ = rustix::fs::ftruncate(&file, 0);
        let _ = rustix::io::write(&file, std::process::id().to_string().as_bytes());
        Ok(Lock { _file: file })
    }

    /// The process that last took the lock, in words: for callers that [`StateDir::lock`] refuses.
    #[must_use]
    pub fn holder(&self) -> String {
        self.holder_of(LockFile::State.name())
    }

    fn holder_of(&self, name: &str) -> String {
        let holder = self.read(name).ok().flatten().unwrap_or_default();
        let pid = String::from_utf8_lossy(&holder).trim().to_owned();
        if pid.is_empty() {
            "another process".to_owned()
        } else {
            format!("process {pid}")
        }
    }

    fn lock_held_error(&self, name: &str) -> RootError {
        RootError::Busy {
            path: self.display_path(name),
            holder: self.holder_of(name),
        }
    }
}
