//! Signals that end a process: held while the machine is changed, or heard by a flag that the change looks at.

use root::process::{self, ENDINGS, Former};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether [`stop_flag`] is set by signals.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// While it lives, [`ENDINGS`] wait, so that none interrupts a change. They take effect when it is dropped.
pub(crate) struct HeldSignals(Former);

impl HeldSignals {
    /// `None` for a command that undoes its changes at a signal: the signal has to reach it.
    pub(crate) fn unless_watched() -> Option<HeldSignals> {
        (!IS_WATCHED.load(Ordering::Relaxed)).then(|| HeldSignals(process::hold_endings()))
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        process::release_signals(&self.0);
    }
}

/// Becomes true at the first of [`ENDINGS`], also at one that arrived while the lock was taken: a command that changes the
/// machine undoes what it did instead of ending in the middle. A hangup that the caller ignores (nohup) stays ignored.
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
