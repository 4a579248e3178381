//! The allocator of the binary.
//!
//! musl's own gives every small group of pages back at once, and asks for it again for the next file that is read.

/// What `main.rs` declares. Tests and fuzzing targets link the library with an allocator of their own.
pub use dlmalloc::GlobalDlmalloc as Allocator;

/// Makes it usable in forked children: without this, a child that was forked while another thread was just allocating waits for
/// that thread for ever, and the thread is not there. To be called first of all.
pub fn survives_forks() {
    // SAFETY: there is one thread, and nothing has been forked.
    unsafe { dlmalloc::enable_alloc_after_fork() };
}
