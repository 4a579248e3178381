//! The latency sampler: sleeps to a fixed grid of times, or for a fixed time, and notes how late it wakes.

use crate::Clock;
use crate::ring::Writer;
use crate::shared::Track;
use std::sync::atomic::{AtomicU32, Ordering};

/// The grid of due times on the sampler's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The first due time.
    pub first: u64,
    /// The last due time of the window.
    pub last: u64,
    /// Distance.
    pub interval: u64,
}

impl Grid {
    /// So many due times: one after every whole interval.
    pub(crate) fn new(start_ns: u64, periods: u64, interval_ns: u64) -> Grid {
        let interval = interval_ns.max(1);
        Grid {
            first: start_ns.saturating_add(interval),
            last: start_ns.saturating_add(periods.max(1).saturating_mul(interval)),
            interval,
        }
    }

    /// How many due times had come at `now`. Computed from the grid alone, not from what the loop did.
    pub(crate) fn due_until(&self, now: u64) -> u64 {
        match now.min(self.last).checked_sub(self.first) {
            Some(since) => since / self.interval + 1,
            None => 0,
        }
    }

    /// How many further due times had come when the thread that was due at `due` woke `late`.
    #[inline]
    pub(crate) fn skipped(&self, due: u64, late: u64) -> u64 {
        (late / self.interval).min(self.last.saturating_sub(due) / self.interval)
    }
}

/// What a wake-up is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The clock of all times.
    pub clock: Clock,
    /// The wake-up that ends the measurement: as late as this, or later. `i64::MAX` when none does.
    pub limit_ns: i64,
}

/// What the loop leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// When it woke last: every due time up to here was recorded or missed.
    pub covered: u64,
    /// Wake-ups.
    pub seen: u64,
    /// The limit was reached: this late, at the time `covered`.
    pub hit_ns: Option<u64>,
}

impl End {
    /// Notes a wake-up; whether it was one too late.
    #[inline]
    fn take(&mut self, due: u64, late: i64, terms: Terms) -> bool {
        self.seen += 1;
        // A clock that was set back is no reason to count a due time as still to come.
        self.covered = due.saturating_add(late.max(0).cast_unsigned());
        if late >= terms.limit_ns {
            self.hit_ns = Some(late.cast_unsigned());
        }
        self.hit_ns.is_some()
    }
}

/// One sleep per period, nothing else. A wake-up that comes after further due times counts these as missed and
/// goes on with the next on the grid.
pub(crate) fn sample(
    grid: Grid,
    terms: Terms,
    track: &Track,
    writer: &mut Writer<'_>,
    stop: &AtomicU32,
) -> End {
    let mut due = grid.first;
    let mut end = End::default();
    loop {
        terms.clock.sleep_until(due);
        let now = terms.clock.now_ns();
        let late = now.wrapping_sub(due).cast_signed();
        let skipped = grid.skipped(due, late.max(0).cast_unsigned());
        writer.push(due, late.cast_unsigned(), skipped);
        let is_hit = end.take(due, late, terms);
        track.alive.0.store(now, Ordering::Relaxed);
        due += skipped * grid.interval;
        if is_hit || due >= grid.last || stop.load(Ordering::Relaxed) != 0 {
            return end;
        }
        due += grid.interval;
    }
}

/// One sleep of the interval after the other: no due times, so none can be missed.
pub(crate) fn sample_relative(
    [interval, periods, length]: [u64; 3],
    terms: Terms,
    track: &Track,
    writer: &mut Writer<'_>,
    stop: &AtomicU32,
) -> End {
    let begun = terms.clock.now_ns();
    let mut end = End::default();
    loop {
        let due = terms.clock.now_ns() + interval;
        terms.clock.sleep_for(interval);
        let now = terms.clock.now_ns();
        let late = now.wrapping_sub(due).cast_signed();
        writer.push(due, late.cast_unsigned(), 0);
        let is_hit = end.take(due, late, terms);
        track.alive.0.store(now, Ordering::Relaxed);
        let is_over = end.seen >= periods || now.saturating_sub(begun) >= length;
        if is_hit || is_over || stop.load(Ordering::Relaxed) != 0 {
            return end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_of_a_window() {
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
            assert_eq!(grid.due_until(now), due, "at {now}");
        }
        assert_eq!(
            Grid::new(0, 0, 1_000).due_until(u64::MAX),
            1,
            "a window shorter than a period has one"
        );
    }
}
