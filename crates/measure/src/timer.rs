//! The latency sampler: sleeps to a fixed grid of times and notes how late it wakes.

use crate::clock;
use crate::ring::Writer;
use crate::shared::Lane;
use std::sync::atomic::{AtomicU32, Ordering};

/// The grid of due times on `CLOCK_MONOTONIC`.
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
    /// The due times of a window: one after every whole interval.
    pub(crate) fn new(start_ns: u64, duration_ns: u64, interval_ns: u64) -> Grid {
        let periods = (duration_ns / interval_ns.max(1)).max(1);
        Grid {
            first: start_ns.saturating_add(interval_ns),
            last: start_ns.saturating_add(periods.saturating_mul(interval_ns)),
            interval: interval_ns.max(1),
        }
    }

    /// How many due times had come at `now`. Computed from the grid alone, not from what the loop did.
    pub(crate) fn due_until(&self, now: u64) -> u64 {
        match now.min(self.last).checked_sub(self.first) {
            Some(since) => since / self.interval + 1,
            None => 0,
        }
    }
}

/// What the loop leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// When it woke last: every due time up to here was recorded or missed.
    pub covered: u64,
    /// Wake-ups before their time; the kernel promises that there are none.
    pub early: u64,
}

/// One sleep per period, nothing else. A wake-up that comes after further due times counts these as missed and
/// goes on with the next on the grid.
pub(crate) fn sample(grid: Grid, lane: &Lane, writer: &mut Writer<'_>, stop: &AtomicU32) -> End {
    let mut due = grid.first;
    let mut early = 0;
    loop {
        clock::sleep_until(due);
        let mut now = clock::monotonic_ns();
        if now < due {
            early += 1;
            now = due;
        }
        let latency = now - due;
        let skipped = (latency / grid.interval).min((grid.last - due) / grid.interval);
        writer.push(due, latency, skipped);
        lane.alive.0.store(now, Ordering::Relaxed);
        due += skipped * grid.interval;
        if due >= grid.last || stop.load(Ordering::Relaxed) != 0 {
            return End { covered: now, early };
        }
        due += grid.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_of_a_window() {
        let grid = Grid::new(1_000, 10_500, 1_000);
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
            Grid::new(0, 5, 1_000).due_until(u64::MAX),
            1,
            "a window shorter than a period has one"
        );
    }
}
