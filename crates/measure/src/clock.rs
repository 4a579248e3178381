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
    rfc3339(u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap_or(0))
}

/// Seconds since 1970 as RFC 3339 in UTC.
fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of year 0, in eras of 400 years, so that leap days come last.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 {
        (month + 3, year)
    } else {
        (month - 9, year + 1)
    };
    format!(
        "{:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        year + era * 400,
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

#[inline]
fn nanos(time: Timespec) -> u64 {
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    let (seconds, nanos) = (time.tv_sec as u64, time.tv_nsec as u64);
    seconds * SECOND_NS + nanos
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn dates_of_the_calendar() {
        // From `date -u -d @N +%FT%TZ`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
        }
    }
}
