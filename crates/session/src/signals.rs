//! Handles signals that end a process: holds them while the machine is changed, or sets a flag that the change checks.

use root::process::{self, ENDINGS, FormerSignalMask};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether signals set [`stop_flag`].
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Blocks [`ENDINGS`] while it lives, so that none interrupts a change. They are delivered when it is dropped.
pub(crate) struct SignalBlock(FormerSignalMask);

impl SignalBlock {
    /// `None` for a command that undoes its changes on a signal: the signal has to reach it.
    pub(crate) fn unless_watched() -> Option<SignalBlock> {
        (!IS_WATCHED.load(Ordering::Relaxed)).then(|| SignalBlock(process::block_endings()))
    }
}

impl Drop for SignalBlock {
    fn drop(&mut self) {
        process::release_signals(&self.0);
    }
}

/// Becomes true at the first of [`ENDINGS`], including one that arrived while the lock was taken. A command that changes the
/// machine then undoes its work instead of dying halfway. A hangup that the caller ignores (nohup) stays ignored.
pub fn stop_flag() -> &'static AtomicBool {
    static STOP: AtomicBool = AtomicBool::new(false);
    extern "C" fn note(_signal: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
    }
    for signal in ENDINGS {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe; `action` and `former` are fully set.
        unsafe {
            let mut former: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut former);
            if signal == libc::SIGHUP && former.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as *const () as libc::sighandler_t;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    IS_WATCHED.store(true, Ordering::Relaxed);
    process::admit_endings();
    &STOP
}
