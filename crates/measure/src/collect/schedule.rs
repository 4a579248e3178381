//! Schedules intermediate results: one soon after the start, then one every second. Saving them takes only a small share
//! of the collector's time, because the samplers' rings fill during that time.

/// The first one: a run that is killed early still leaves a result.
const FIRST_NS: u64 = 200_000_000;

/// Interval between two intermediate results.
const PERIOD_NS: u64 = 1_000_000_000;

/// Minimum ratio of the collector's time to the time that saving takes.
const SHARE: u64 = 20;

/// Time of the next result, on `CLOCK_MONOTONIC`.
pub(super) struct ResultSchedule {
    next_ns: u64,
}

impl ResultSchedule {
    /// A schedule for a window that starts at `start_ns`.
    pub(super) fn starting(start_ns: u64) -> ResultSchedule {
        ResultSchedule {
            next_ns: start_ns.saturating_add(FIRST_NS),
        }
    }

    /// Whether a result is to be saved now.
    pub(super) fn is_save_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// Records that a result was saved, from `begun_ns` to `ended_ns`.
    pub(super) fn record_save(&mut self, start_ns: u64, ended_ns: u64) {
        let took = ended_ns.saturating_sub(start_ns);
        let pause = PERIOD_NS.max(took.saturating_mul(SHARE));
        self.next_ns = start_ns.saturating_add(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_saves_happen_less_often() {
        let second = 1_000_000_000;
        let mut schedule = ResultSchedule::starting(0);
        assert!(!schedule.is_save_due(100_000_000) && schedule.is_save_due(200_000_000));
        schedule.record_save(second, second + 1_000_000);
        assert!(!schedule.is_save_due(2 * second - 1) && schedule.is_save_due(2 * second));
        schedule.record_save(10 * second, 13 * second);
        assert!(!schedule.is_save_due(69 * second) && schedule.is_save_due(70 * second));
    }
}
