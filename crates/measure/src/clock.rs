//! Reads clocks in nanoseconds and formats times.

use crate::{Clock, os};
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

const SECOND_NS: u64 = 1_000_000_000;

impl Clock {
    /// `None` for the clock that the library cannot sleep on.
    fn id(self) -> Option<ClockId> {
        match self {
            Clock::Monotonic => Some(ClockId::Monotonic),
            Clock::Realtime => Some(ClockId::Realtime),
            Clock::Tai => None,
            Clock::Boottime => Some(ClockId::Boottime),
        }
    }

    /// Current time of this clock. No system call where the clock source can be read from user space.
    #[inline]
    pub(crate) fn now_ns(self) -> u64 {
        match self.id() {
            Some(id) => nanos(clock_gettime(id)),
            // Every kernel since 3.10 has it.
            None => clock_gettime_dynamic(DynamicClockId::Tai).map_or(0, nanos),
        }
    }

    /// Sleeps until a time on this clock: one system call.
    #[inline]
    pub(crate) fn sleep_until(self, at_ns: u64) {
        // Signals are blocked. If the sleep ends early for another reason, the next clock reading shows it.
        match self.id() {
            Some(id) => drop(rustix::thread::clock_nanosleep_absolute(id, &timespec(at_ns))),
            None => os::sleep(libc::CLOCK_TAI, libc::TIMER_ABSTIME, at_ns),
        }
    }

    /// Sleeps for a time on this clock: one system call.
    #[inline]
    pub(crate) fn sleep_for(self, length_ns: u64) {
        match self.id() {
            Some(id) => drop(rustix::thread::clock_nanosleep_relative(id, &timespec(length_ns))),
            None => os::sleep(libc::CLOCK_TAI, 0, length_ns),
        }
    }
}

/// `CLOCK_MONOTONIC`. No system call where the clock source can be read from user space.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// `CLOCK_MONOTONIC_RAW`: the hardware rate, not slewed by time synchronisation.
pub(crate) fn raw_ns() -> u64 {
    nanos(clock_gettime(ClockId::MonotonicRaw))
}

/// `CLOCK_MONOTONIC` minus `CLOCK_MONOTONIC_RAW`, from the narrowest of several readings.
pub(crate) fn ahead_ns() -> i64 {
    let mut best = (u64::MAX, 0);
    for _ in 0..16 {
        let (before, monotonic, after) = (raw_ns(), monotonic_ns(), raw_ns());
        let width = after.saturating_sub(before);
        if width < best.0 {
            best = (width, monotonic.wrapping_sub(before + width / 2).cast_signed());
        }
    }
    best.1
}

/// Current wall-clock time, as RFC 3339 in UTC.
pub(crate) fn wall_time() -> String {
    machine::utc_text(u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap_or(0))
}

#[inline]
fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(ns / SECOND_NS).unwrap_or(i64::MAX),
        #[allow(clippy::unnecessary_cast)]
        tv_nsec: (ns % SECOND_NS) as _,
    }
}

#[inline]
fn nanos(time: Timespec) -> u64 {
    #[allow(clippy::unnecessary_cast)]
    let (seconds, nanos) = (time.tv_sec as u64, time.tv_nsec as u64);
    seconds * SECOND_NS + nanos
}
