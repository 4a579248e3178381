//! Sets the allocator of the binary.
//!
//! The allocator of musl returns every small group of pages at once, and requests it again for the next file.

/// The global allocator of `main.rs`. Tests and fuzzing targets link the library with their own allocator.
pub use dlmalloc::GlobalDlmalloc as Allocator;

/// Makes the allocator usable in forked children. Otherwise, a child forked during another thread's allocation would wait
/// forever for that thread, which does not exist in the child. Must be called first.
pub fn survives_forks() {
    // SAFETY: there is only one thread, and no process has been forked.
    unsafe { dlmalloc::enable_alloc_after_fork() };
}
