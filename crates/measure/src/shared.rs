//! The memory that the sampler process and the collector share: a control block, and one track per CPU.
//!
//! Everything in it is atomic and valid when zero, so that a sampler that dies at any instruction leaves a
//! state that the collector can read.

use crate::os::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::thread::futex;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// A value with a cache line of its own (128 bytes: x86 fetches lines in pairs, some arm64 cores have such).
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct Line<T>(pub T);

/// What concerns the whole sampler process.
#[repr(C, align(4096))]
#[derive(Default)]
pub(crate) struct Control {
    /// Not 0: the samplers shall end. Every turn of the busy loop reads it.
    pub stop: Line<AtomicU32>,
    /// [`gate`]: what the sampler process may do; a futex.
    pub gate: Line<AtomicU32>,
    /// When the windows begin, on `CLOCK_MONOTONIC`; set before the gate opens.
    pub start_monotonic_ns: AtomicU64,
    /// Threads that wait for the window, whether or not their preparation worked.
    pub ready: AtomicU32,
    /// Threads whose window is over; a futex.
    pub done: AtomicU32,
    /// Result of mlockall: 0 not tried yet, 1 locked, otherwise -errno.
    pub locked: AtomicI32,
    /// Not 0: errno of a thread that could not be started.
    pub spawn_errno: AtomicI32,
}

/// Values of [`Control::gate`]. At 0 the child waits for being moved into its partition.
pub(crate) mod gate {
    /// The threads may prepare.
    pub(crate) const PREPARE: u32 = 1;
    /// The window begins.
    pub(crate) const GO: u32 = 2;
}

/// Values of [`Track::state`].
pub(crate) mod state {
    /// Preparing, or waiting for the window.
    pub(crate) const IDLE: u32 = 0;
    /// The window has begun, and samples are taken.
    pub(crate) const SAMPLING: u32 = 1;
    /// The report is complete.
    pub(crate) const DONE: u32 = 2;
    /// The thread could not be pinned; its errno is in [`Track::errno`].
    pub(crate) const NOT_PINNED: u32 = 3;
}

/// What concerns one sampler thread. The ring's slots stand behind the track.
#[repr(C, align(4096))]
#[derive(Default)]
pub(crate) struct Track {
    /// Samples pushed; written by the sampler.
    pub head: Line<AtomicU64>,
    /// Samples taken out; written by the collector.
    pub tail: Line<AtomicU64>,
    /// When the sampler was last seen alive, in its own ticks; noise writes it every turn.
    pub alive: Line<AtomicU64>,
    /// [`state`].
    pub state: Line<AtomicU32>,
    /// What the collector asks before the window: the number of a round; see [`crate::counter::offset`].
    pub ping: Line<AtomicU64>,
    /// The round that was answered.
    pub pong: Line<AtomicU64>,
    /// With it: the counter.
    pub pong_ticks: AtomicU64,
    /// Whether the thread shall answer; a futex.
    pub turn: AtomicU32,
    /// Errno of pinning.
    pub errno: AtomicI32,
    /// Errno of a policy that was refused; 0 when it was granted.
    pub policy_errno: AtomicI32,
    /// Policy and priority read back, as the numbers of [`crate::sampler::policy_code`].
    pub policy: AtomicU32,
    /// Priority read back.
    pub priority: AtomicU32,
    /// The limit of the claim in ticks, as the calibration has it.
    pub claim_ticks: AtomicU64,
    /// The thread's number.
    pub tid: AtomicU32,
    /// Latency: when the windows begin on this thread's clock; set before the gate opens.
    pub start_clock_ns: AtomicU64,
    /// Start of the window: counter.
    pub start_ticks: AtomicU64,
    /// Start of the window: raw clock at `start_ticks`.
    pub start_raw_ns: AtomicU64,
    /// How wide the reading of both was.
    pub start_width_ns: AtomicU64,
    /// Start of the window: `CLOCK_MONOTONIC`.
    pub start_ns: AtomicU64,
    /// A moment after the window: counter.
    pub end_ticks: AtomicU64,
    /// A moment after the window: raw clock.
    pub end_raw_ns: AtomicU64,
    /// How wide the reading of both was.
    pub end_width_ns: AtomicU64,
    /// Where the window really ended, in ticks, or on the sampler's clock. Everything up to here is accounted for.
    pub covered: AtomicU64,
    /// Latency: due times missed. Noise: gaps that found no room.
    pub missed: AtomicU64,
    /// The part of `missed` that found no room in the ring.
    pub dropped: AtomicU64,
    /// Gaps seen, or wake-ups.
    pub seen: AtomicU64,
    /// Not 0: the sample that ended the measurement, in the track's ticks.
    pub hit: AtomicU64,
    /// Noise: turns of the loop.
    pub turns: AtomicU64,
    /// Noise: shortest turn in ticks.
    pub turn_min: AtomicU64,
    /// Page faults in the window.
    pub page_faults: AtomicU64,
    /// Voluntary switches in the window.
    pub voluntary: AtomicU64,
    /// Involuntary switches in the window.
    pub involuntary: AtomicU64,
    /// Not 0: the seccomp filter could not be installed.
    pub seccomp_errno: AtomicI32,
}

/// One sample as it stands in shared memory.
#[repr(C, align(32))]
#[derive(Default)]
pub(crate) struct Slot {
    pub at: AtomicU64,
    pub value: AtomicU64,
    pub missed: AtomicU64,
}

/// The mapping. Unmapped when dropped; the child never drops it.
pub(crate) struct Shared {
    base: NonNull<u8>,
    bytes: usize,
    tracks: usize,
    slots: usize,
}

// SAFETY: the mapping lives until the drop of its only owner and holds nothing but atomics.
unsafe impl Send for Shared {}
// SAFETY: as above; all access through shared references is atomic.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps room for `tracks` tracks with `slots` (a power of two) slots each.
    pub(crate) fn map(tracks: usize, slots: usize) -> Result<Shared, Errno> {
        debug_assert!(slots.is_power_of_two());
        let bytes = size_of::<Control>() + tracks * track_bytes(slots);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )
        }
        .map_err(rustix::io::Errno::raw_os_error)?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(libc::ENOMEM)?;
        Ok(Shared {
            base,
            bytes,
            tracks,
            slots,
        })
    }

    /// The control block.
    pub(crate) fn control(&self) -> &Control {
        // SAFETY: the mapping begins with it, is page-aligned, zeroed at first, and lives as long as `self`.
        unsafe { self.base.cast::<Control>().as_ref() }
    }

    /// A track and its slots; `None` behind the last.
    pub(crate) fn track(&self, place: usize) -> Option<(&Track, &[Slot])> {
        if place >= self.tracks {
            return None;
        }
        let offset = size_of::<Control>() + place * track_bytes(self.slots);
        // SAFETY: `map` made room for `tracks` tracks of `track_bytes(slots)` each behind the control block; sizes
        // and alignments are multiples of 4096 and 32; zero is valid for atomics; they live as long as `self`.
        unsafe {
            let track = self.base.add(offset);
            let slots = track.add(size_of::<Track>()).cast::<Slot>();
            Some((
                track.cast::<Track>().as_ref(),
                std::slice::from_raw_parts(slots.as_ptr(), self.slots),
            ))
        }
    }

    /// How many threads sample.
    pub(crate) fn tracks(&self) -> usize {
        self.tracks
    }
}

/// Wakes all that wait on a word.
pub(crate) fn notify(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), u32::MAX >> 1);
}

/// Sleeps, without a timer, until a word in shared memory has reached a value.
pub(crate) fn wait_until(word: &AtomicU32, value: u32) {
    loop {
        let now = word.load(Ordering::Acquire);
        if now >= value {
            return;
        }
        // EAGAIN: it changed meanwhile; EINTR cannot be told from a wake-up. Both look again.
        let _ = futex::wait(word, futex::Flags::empty(), now, None);
    }
}

fn track_bytes(slots: usize) -> usize {
    size_of::<Track>() + (slots * size_of::<Slot>()).next_multiple_of(4096)
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size, and no reference outlives `self`.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
