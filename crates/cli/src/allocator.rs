//! The allocator of the binary.
//!
//! musl's own gives every small group of pages back at once, and asks for it again for the next file that is read.

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Makes it usable in forked children: without this, a child that was forked while another thread was just allocating waits for
/// that thread for ever, and the thread is not there. To be called first of all.
pub fn survives_forks() {
    // SAFETY: there is one thread, and nothing has been forked.
    unsafe { dlmalloc::enable_alloc_after_fork() };
}
