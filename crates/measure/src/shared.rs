//! Defines the memory that the sampler process and the collector share: a control block, and one track per CPU.
//!
//! Everything in it is atomic and valid when zero, so that the collector can read the state of a sampler that dies
//! at any instruction.

use crate::os::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::thread::futex;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// A value with a cache line of its own (128 bytes: x86 fetches lines in pairs, some arm64 cores have 128-byte lines).
#[repr(C, align(128))]
#[derive(Default)]
pub(crate) struct CacheLine<T>(pub T);

/// State of the whole sampler process.
#[repr(C, align(4096))]
#[derive(Default)]
pub(crate) struct Control {
    /// Not 0: the samplers have to end. Every iteration of the busy loop reads it.
    pub stop: CacheLine<AtomicU32>,
    /// [`gate`]: the phase that the sampler process may enter; a futex.
    pub gate: CacheLine<AtomicU32>,
    /// When the windows start, on `CLOCK_MONOTONIC`; set before the gate opens.
    pub start_monotonic_ns: AtomicU64,
    /// Threads that wait for the window, whether or not their setup succeeded.
    pub ready: AtomicU32,
    /// Number of threads whose window is over; a futex.
    pub done: AtomicU32,
    /// Result of mlockall: 0 not tried yet, 1 locked, otherwise -errno.
    pub locked: AtomicI32,
    /// Not 0: errno of a thread that could not be started.
    pub spawn_errno: AtomicI32,
}

/// Values of [`Control::gate`]. At 0 the child waits to be moved into its partition.
pub(crate) mod gate {
    /// The threads may start their setup.
    pub(crate) const PREPARE: u32 = 1;
    /// The window starts.
    pub(crate) const GO: u32 = 2;
}

/// Values of [`Track::state`].
pub(crate) mod state {
    /// In setup, or waiting for the window.
    pub(crate) const IDLE: u32 = 0;
    /// The window has started, and samples are taken.
    pub(crate) const SAMPLING: u32 = 1;
    /// The report is complete.
    pub(crate) const DONE: u32 = 2;
    /// The thread could not be pinned; its errno is in [`Track::errno`].
    pub(crate) const NOT_PINNED: u32 = 3;
}

/// State of one sampler thread. The ring's slots follow the track.
#[repr(C, align(4096))]
#[derive(Default)]
pub(crate) struct Track {
    /// Number of samples pushed; written by the sampler.
    pub head: CacheLine<AtomicU64>,
    /// Number of samples removed; written by the collector.
    pub tail: CacheLine<AtomicU64>,
    /// When the sampler was last seen alive, in its own ticks; noise writes it in every iteration.
    pub last_seen: CacheLine<AtomicU64>,
    /// [`state`].
    pub state: CacheLine<AtomicU32>,
    /// The collector's request before the window: the number of a round; see [`crate::counter::offset`].
    pub ping: CacheLine<AtomicU64>,
    /// The round that was answered.
    pub pong: CacheLine<AtomicU64>,
    /// The counter at that answer.
    pub pong_ticks: AtomicU64,
    /// Whether the thread has to answer; a futex.
    pub must_answer: AtomicU32,
    /// Errno of pinning.
    pub errno: AtomicI32,
    /// Errno of a refused policy; 0 if it was granted.
    pub policy_errno: AtomicI32,
    /// Policy and priority read back, as the numbers of [`crate::sampler::policy_code`].
    pub policy: AtomicU32,
    /// Priority read back.
    pub priority: AtomicU32,
    /// The limit of the claim in ticks, by the calibration.
    pub claim_ticks: AtomicU64,
    /// The thread's TID.
    pub tid: AtomicU32,
    /// Latency: when the windows start on this thread's clock; set before the gate opens.
    pub start_clock_ns: AtomicU64,
    /// Start of the window: counter.
    pub start_ticks: AtomicU64,
    /// Start of the window: raw clock at `start_ticks`.
    pub start_raw_ns: AtomicU64,
    /// Duration of reading both.
    pub start_width_ns: AtomicU64,
    /// Start of the window: `CLOCK_MONOTONIC`.
    pub start_ns: AtomicU64,
    /// Shortly after the window: counter.
    pub end_ticks: AtomicU64,
    /// Shortly after the window: raw clock.
    pub end_raw_ns: AtomicU64,
    /// Duration of reading both.
    pub end_width_ns: AtomicU64,
    /// The actual end of the window, in ticks, or on the sampler's clock. Everything up to here is accounted for.
    pub covered: AtomicU64,
    /// Latency: expected wake-ups missed. Noise: gaps that did not fit in the ring.
    pub missed: AtomicU64,
    /// The part of `missed` that did not fit in the ring.
    pub dropped: AtomicU64,
    /// Number of gaps or wake-ups seen.
    pub seen: AtomicU64,
    /// Not 0: the sample that ended the measurement, in the track's ticks.
    pub hit: AtomicU64,
    /// Noise: iterations of the loop.
    pub iterations: AtomicU64,
    /// Noise: shortest iteration in ticks.
    pub iteration_min: AtomicU64,
    /// Page faults in the window.
    pub page_faults: AtomicU64,
    /// Voluntary switches in the window.
    pub voluntary: AtomicU64,
    /// Involuntary switches in the window.
    pub involuntary: AtomicU64,
    /// Not 0: the seccomp filter could not be installed.
    pub seccomp_errno: AtomicI32,
}

/// One sample in shared memory.
#[repr(C, align(32))]
#[derive(Default)]
pub(crate) struct RingSlot {
    pub at: AtomicU64,
    pub value: AtomicU64,
    pub missed: AtomicU64,
}

/// The mapping. Unmapped when dropped; the child never drops it.
pub(crate) struct SharedMapping {
    base: NonNull<u8>,
    bytes: usize,
    tracks: usize,
    slots: usize,
}

// SAFETY: the mapping lives until the drop of its only owner and holds nothing but atomics.
unsafe impl Send for SharedMapping {}
// SAFETY: as above; all access through shared references is atomic.
unsafe impl Sync for SharedMapping {}

impl SharedMapping {
    /// Maps memory for `tracks` tracks with `slots` (a power of two) slots each.
    pub(crate) fn map(tracks: usize, slots: usize) -> Result<SharedMapping, Errno> {
        debug_assert!(slots.is_power_of_two());
        let bytes = size_of::<Control>() + tracks * track_bytes(slots);
        // SAFETY: a fresh anonymous mapping at an address that the kernel chooses aliases nothing.
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
        Ok(SharedMapping {
            base,
            bytes,
            tracks,
            slots,
        })
    }

    /// The control block.
    pub(crate) fn control(&self) -> &Control {
        // SAFETY: the mapping starts with it, is page-aligned, zeroed at first, and lives as long as `self`.
        unsafe { self.base.cast::<Control>().as_ref() }
    }

    /// A track and its slots; `None` after the last.
    pub(crate) fn track(&self, place: usize) -> Option<(&Track, &[RingSlot])> {
        if place >= self.tracks {
            return None;
        }
        let offset = size_of::<Control>() + place * track_bytes(self.slots);
        // SAFETY: `map` allocated `tracks` tracks of `track_bytes(slots)` each after the control block; sizes
        // and alignments are multiples of 4096 and 32; zero is valid for atomics; they live as long as `self`.
        unsafe {
            let track = self.base.add(offset);
            let slots = track.add(size_of::<Track>()).cast::<RingSlot>();
            Some((
                track.cast::<Track>().as_ref(),
                std::slice::from_raw_parts(slots.as_ptr(), self.slots),
            ))
        }
    }

    /// The tracks of all sampling threads.
    pub(crate) fn tracks(&self) -> impl Iterator<Item = &Track> {
        (0..self.tracks)
            .filter_map(|place| self.track(place))
            .map(|(track, _)| track)
    }
}

/// Wakes all threads that wait on a word.
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
        // EAGAIN: the word changed before the wait; EINTR cannot be distinguished from a wake-up. Check again in both cases.
        let _ = futex::wait(word, futex::Flags::empty(), now, None);
    }
}

fn track_bytes(slots: usize) -> usize {
    size_of::<Track>() + (slots * size_of::<RingSlot>()).next_multiple_of(4096)
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size, and no reference outlives `self`.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
