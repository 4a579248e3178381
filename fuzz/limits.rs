//! Limits for one input of a target: memory, counted by an allocator, and work, compared with that for a shorter input.
//!
//! `cargo fuzz` and the ordinary tests share these limits. `scripts/fuzz` adds those of libFuzzer itself, among them
//! the time for one input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Memory that every target may use, in bytes.
const MEMORY_BYTES: usize = 16 << 20;

/// Additional memory for each byte of the input, in bytes.
const MEMORY_RATIO: usize = 256;

/// The allocator refuses a single request for more than this many bytes, which ends the process. It is far above the
/// limits, so a target exceeds those first.
const REQUEST_BYTES: usize = 1 << 30;

/// Targets that may use more, with the reason.
const MORE_MEMORY: &[(&str, usize)] = &[
    // An xz decoder may use 100 MiB (`MAX_DECODER_KIB` of crates/root/src/archive.rs), in addition to the tree of
    // files.
    ("archives", 144 << 20),
    // bitcalc may use 64 MiB on its stack (`MAX_STACK_BITS` of crates/compat/src/bitcalc.rs), one byte per bit.
    ("arguments", 96 << 20),
    // An HdrHistogram of five digits has up to 49 MiB of counters (from 1 to 2^63), and takes them while one line is read.
    ("foreign_results", 80 << 20),
    // A machine with `CpuSet::MAX_CPU` CPUs: 800 bytes for each.
    ("machine_files", 64 << 20),
    ("packed_files", 144 << 20),
];

/// An allocator that counts the memory of each thread.
pub struct CountingAllocator;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // When a thread ends, it frees its own memory after these variables are destroyed.
    let _ = LIVE.try_with(|live| {
        live.set(live.get().wrapping_add(bytes));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call is passed to the system's allocator, which follows the rules, or returns null, which means no
// memory.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > REQUEST_BYTES {
            return std::ptr::null_mut();
        }
        count(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() > REQUEST_BYTES {
            return std::ptr::null_mut();
        }
        count(layout.size().cast_signed());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > REQUEST_BYTES {
            return std::ptr::null_mut();
        }
        // The old block and the new one may exist at the same time.
        count(size.cast_signed());
        count(-layout.size().cast_signed());
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// The memory that a call used.
#[derive(Clone, Copy, Debug)]
pub struct CallMemory {
    /// Maximum memory at one time, in bytes.
    pub peak_bytes: usize,
    /// Memory that it has not freed, in bytes.
    #[allow(dead_code)] // libFuzzer watches the whole process for that.
    pub left_bytes: isize,
}

/// Calls a function and counts its memory, without that of other threads.
pub fn memory_of(call: impl FnOnce()) -> CallMemory {
    let before = LIVE.get();
    PEAK.set(before);
    call();
    CallMemory {
        peak_bytes: usize::try_from(PEAK.get() - before).unwrap_or(0),
        left_bytes: LIVE.get() - before,
    }
}

/// The memory that a target may use for an input of this length, in bytes.
pub fn allowed_bytes(target: &str, length: usize) -> usize {
    let more = MORE_MEMORY.iter().find(|(name, _)| *name == target);
    more.map_or(MEMORY_BYTES, |(_, bytes)| *bytes) + MEMORY_RATIO * length
}

/// Runs a target on an input, and panics if it uses more memory than allowed.
pub fn run_within(target: &str, run: fn(&[u8]), bytes: &[u8]) -> CallMemory {
    let memory = memory_of(|| run(bytes));
    let allowed = allowed_bytes(target, bytes.len());
    assert!(
        memory.peak_bytes <= allowed,
        "target {target} used {} bytes of memory for an input of {} bytes, and may use {allowed}",
        memory.peak_bytes,
        bytes.len()
    );
    memory
}
