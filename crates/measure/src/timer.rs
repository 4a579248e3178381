//! Implements the latency sampler: sleeps until times on a fixed grid, or for a fixed time, and records how late it wakes.

use crate::Clock;
use crate::ring::RingWriter;
use crate::shared::Track;
use std::sync::atomic::{AtomicU32, Ordering};

/// The grid of expected wake-up times on the sampler's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The first expected time.
    pub first: u64,
    /// The last expected time of the window.
    pub last: u64,
    /// Distance between two expected times.
    pub interval: u64,
}

impl Grid {
    /// A grid of `periods` expected times: one after every whole interval.
    pub(crate) fn new(start_ns: u64, periods: u64, interval_ns: u64) -> Grid {
        let interval = interval_ns.max(1);
        Grid {
            first: start_ns.saturating_add(interval),
            last: start_ns.saturating_add(periods.max(1).saturating_mul(interval)),
            interval,
        }
    }

    /// Number of expected times up to `now`. Computed from the grid alone, independent of the loop.
    pub(crate) fn expected_until(&self, now: u64) -> u64 {
        match now.min(self.last).checked_sub(self.first) {
            Some(since) => since / self.interval + 1,
            None => 0,
        }
    }

    /// Number of further expected times that passed until the thread expected at `due` woke `late`.
    #[inline]
    pub(crate) fn skipped(&self, expected_at: u64, late: u64) -> u64 {
        (late / self.interval).min(self.last.saturating_sub(expected_at) / self.interval)
    }
}

/// The reference of a wake-up's lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LatenessReference {
    /// The clock for all times.
    pub clock: Clock,
    /// The lateness at which a wake-up ends the measurement. `i64::MAX` if none does.
    pub limit_ns: i64,
}

/// The result of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimerEnd {
    /// The last wake-up: every expected time up to here was recorded or missed.
    pub covered: u64,
    /// Number of wake-ups.
    pub seen: u64,
    /// The lateness that reached the limit, at the time `covered`.
    pub hit_ns: Option<u64>,
}

impl TimerEnd {
    /// Records a wake-up; returns whether it reached the limit.
    #[inline]
    fn take(&mut self, expected_at: u64, late: i64, terms: LatenessReference) -> bool {
        self.seen += 1;
        // If the clock was set back, the expected time still counts as passed.
        self.covered = expected_at.saturating_add(late.max(0).cast_unsigned());
        if late >= terms.limit_ns {
            self.hit_ns = Some(late.cast_unsigned());
        }
        self.hit_ns.is_some()
    }
}

/// Sleeps once per period. A wake-up that comes after further expected times counts these as missed and
/// continues with the next time on the grid.
pub(crate) fn sample(
    grid: Grid,
    terms: LatenessReference,
    track: &Track,
    writer: &mut RingWriter<'_>,
    stop: &AtomicU32,
) -> TimerEnd {
    let mut expected_at = grid.first;
    let mut end = TimerEnd::default();
    loop {
        terms.clock.sleep_until(expected_at);
        let now = terms.clock.now_ns();
        let late = now.wrapping_sub(expected_at).cast_signed();
        let skipped = grid.skipped(expected_at, late.max(0).cast_unsigned());
        writer.push(expected_at, late.cast_unsigned(), skipped);
        let is_hit = end.take(expected_at, late, terms);
        track.last_seen.0.store(now, Ordering::Relaxed);
        expected_at += skipped * grid.interval;
        if is_hit || expected_at >= grid.last || stop.load(Ordering::Relaxed) != 0 {
            return end;
        }
        expected_at += grid.interval;
    }
}

/// Sleeps for the interval repeatedly: there are no expected times, so none can be missed.
pub(crate) fn sample_relative(
    [interval, periods, length]: [u64; 3],
    terms: LatenessReference,
    track: &Track,
    writer: &mut RingWriter<'_>,
    stop: &AtomicU32,
) -> TimerEnd {
    let start_ns = terms.clock.now_ns();
    let mut end = TimerEnd::default();
    loop {
        let expected_at = terms.clock.now_ns() + interval;
        terms.clock.sleep_for(interval);
        let now = terms.clock.now_ns();
        let late = now.wrapping_sub(expected_at).cast_signed();
        writer.push(expected_at, late.cast_unsigned(), 0);
        let is_hit = end.take(expected_at, late, terms);
        track.last_seen.0.store(now, Ordering::Relaxed);
        let is_over = end.seen >= periods || now.saturating_sub(start_ns) >= length;
        if is_hit || is_over || stop.load(Ordering::Relaxed) != 0 {
            return end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_of_a_window_has_every_expected_wake_up() {
        let grid = Grid::new(1_000, 10, 1_000);
        assert_eq!(
            grid,
            Grid {
                first: 2_000,
                last: 11_000,
                interval: 1_000
            }
        );
        for (now, due) in [
            (0, 0),
            (1_999, 0),
            (2_000, 1),
            (2_999, 1),
            (3_000, 2),
            (11_000, 10),
            (u64::MAX, 10),
        ] {
            assert_eq!(grid.expected_until(now), due, "at {now}");
        }
        assert_eq!(
            Grid::new(0, 0, 1_000).expected_until(u64::MAX),
            1,
            "a window shorter than a period has one"
        );
    }
}
