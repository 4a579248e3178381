//! Clocks in nanoseconds, and times for people.

use rustix::time::{ClockId, Timespec, clock_gettime};

const SECOND_NS: u64 = 1_000_000_000;

/// `CLOCK_MONOTONIC`. No system call where the clock source can be read from user space.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// `CLOCK_MONOTONIC_RAW`: the hardware's pace, not slewed by time synchronisation.
pub(crate) fn raw_ns() -> u64 {
    nanos(clock_gettime(ClockId::MonotonicRaw))
}

/// Sleeps until a time on `CLOCK_MONOTONIC`: one system call.
#[inline]
pub(crate) fn sleep_until(at_ns: u64) {
    let request = Timespec {
        tv_sec: i64::try_from(at_ns / SECOND_NS).unwrap_or(i64::MAX),
        #[allow(clippy::cast_possible_wrap, clippy::unnecessary_cast)]
        tv_nsec: (at_ns % SECOND_NS) as _,
    };
    // Signals are blocked; whatever else ends the sleep early is seen in the time that is read next.
    let _ = rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &request);
}

/// The wall clock now, as RFC 3339 in UTC.
pub(crate) fn wall_time() -> String {
    machine::utc_text(u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap_or(0))
}

#[inline]
fn nanos(time: Timespec) -> u64 {
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    let (seconds, nanos) = (time.tv_sec as u64, time.tv_nsec as u64);
    seconds * SECOND_NS + nanos
}
