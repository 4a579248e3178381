//! Memory: copies more than a cache holds, and maps and unmaps pages, which creates work for the kernel.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::hint::black_box;

/// One program's largest buffer, and the maximum for all programs together.
const BUFFER_BYTES: usize = 16 << 20;
const ALL_BYTES: usize = 512 << 20;

/// Size of the mapping that every round creates and removes.
const CHURN_BYTES: usize = 1 << 20;

/// Never returns, unless memory is refused. `programs` is the number of concurrent programs.
pub(super) fn run(programs: usize) {
    let bytes = (ALL_BYTES / programs.max(1)).clamp(CHURN_BYTES, BUFFER_BYTES);
    let Some(buffer) = map(bytes) else { return };
    let (low, high) = buffer.split_at_mut(buffer.len() / 2);
    loop {
        high.copy_from_slice(low);
        black_box(&high);
        low.copy_from_slice(high);
        black_box(&low);
        if churn(CHURN_BYTES).is_none() {
            return;
        }
    }
}

/// Maps that many bytes, touches every page, and unmaps them; `None` where the kernel refuses.
pub(super) fn churn(bytes: usize) -> Option<()> {
    let pages = map(bytes)?;
    for page in pages.chunks_mut(4096) {
        page[..1].fill(1);
    }
    black_box(&pages);
    let base = pages.as_mut_ptr();
    // SAFETY: the mapping was just created with this size, and `pages` is not used again.
    unsafe { munmap(base.cast(), bytes) }.ok()
}

fn map(bytes: usize) -> Option<&'static mut [u8]> {
    // SAFETY: a fresh private mapping of `bytes` zeroed bytes aliases nothing; it lives until this process
    // ends or unmaps it itself.
    unsafe {
        let base = mmap_anonymous(
            std::ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
        .ok()?;
        Some(std::slice::from_raw_parts_mut(base.cast::<u8>(), bytes))
    }
}
