//! When a result in between is due: soon after the beginning, then every second, and never so often that keeping
//! takes more than a small part of the collector's time, because the rings of the samplers fill meanwhile.

/// The first one: a run that is killed at once shall have something.
const FIRST_NS: u64 = 200_000_000;

/// Time between two kept results.
const PERIOD_NS: u64 = 1_000_000_000;

/// The collector's time for each unit of it that keeping takes.
const SHARE: u64 = 20;

/// When the next one is due, on `CLOCK_MONOTONIC`.
pub(super) struct Schedule {
    next_ns: u64,
}

impl Schedule {
    /// For a window that begins then.
    pub(super) fn starting(start_ns: u64) -> Schedule {
        Schedule {
            next_ns: start_ns.saturating_add(FIRST_NS),
        }
    }

    /// Whether it is time.
    pub(super) fn due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// One was kept, from `begun_ns` to `ended_ns`.
    pub(super) fn kept(&mut self, begun_ns: u64, ended_ns: u64) {
        let took = ended_ns.saturating_sub(begun_ns);
        let pause = PERIOD_NS.max(took.saturating_mul(SHARE));
        self.next_ns = begun_ns.saturating_add(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_keeping_is_rare() {
        let second = 1_000_000_000;
        let mut schedule = Schedule::starting(0);
        assert!(!schedule.due(100_000_000) && schedule.due(200_000_000));
        schedule.kept(second, second + 1_000_000);
        assert!(!schedule.due(2 * second - 1) && schedule.due(2 * second));
        schedule.kept(10 * second, 13 * second);
        assert!(!schedule.due(69 * second) && schedule.due(70 * second));
    }
}
