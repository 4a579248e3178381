//! Detects whether this process was started with a standard output.
//!
//! The standard library opens `/dev/null` in place of a closed descriptor (`>&-`), before `main`. Writes then succeed
//! and are lost. So this is checked earlier, by a function that the loader calls.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// The loader calls the functions in this section before the standard library runs.
#[used]
#[unsafe(link_section = ".init_array")]
static INIT_HOOK: extern "C" fn() = record_descriptors;

extern "C" fn record_descriptors() {
    // SAFETY: plain numbers; a descriptor that does not exist only returns an error.
    let flags = unsafe { libc::fcntl(1, libc::F_GETFD) };
    IS_OUTPUT_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether standard output was closed when this process was started.
#[must_use]
pub fn is_output_closed() -> bool {
    IS_OUTPUT_CLOSED.load(Ordering::Relaxed)
}
