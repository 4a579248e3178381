//! What this process was given at its start: whether it has a standard output at all.
//!
//! The standard library opens `/dev/null` in the place of a descriptor that is closed (`>&-`), before `main`. Writes there
//! succeed and nobody gets them, so it is asked earlier than that: by a function that the loader calls.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// The loader calls what stands in this section before anything of the standard library.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: plain numbers; a descriptor that is not there is an error and nothing else.
    let flags = unsafe { libc::fcntl(1, libc::F_GETFD) };
    IS_OUTPUT_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether standard output was closed by whoever started this process.
#[must_use]
pub fn is_output_closed() -> bool {
    IS_OUTPUT_CLOSED.load(Ordering::Relaxed)
}
