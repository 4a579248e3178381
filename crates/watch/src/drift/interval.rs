//! The interval of recurring work: long enough that the work stays within its share of a CPU, whatever one run costs.

use std::time::Duration;

/// The interval of one kind of work.
#[derive(Clone, Debug)]
pub struct Interval {
    share: u32,
    least: Duration,
    most: Duration,
    next_run: Duration,
}

impl Interval {
    /// All layers: what the kernel changed by itself, and what no source reported.
    pub const FILES: Interval = Interval::new(20_000, Duration::from_secs(10), Duration::from_secs(900));
    /// Reading the configuration, to see whether it has changed. An administrator waits for it.
    pub const CONFIGURATION: Interval = Interval::new(20_000, Duration::from_secs(1), Duration::from_secs(30));
    /// Reading the counters of each CPU.
    pub const COUNTERS: Interval = Interval::new(8_000, Duration::from_secs(1), Duration::from_secs(600));
    /// Reading the allowed CPUs of each thread, while no program starts ...
    pub const SWEEPS: Interval = Interval::new(10_000, Duration::from_secs(1), Duration::from_secs(600));
    /// ... and while programs start, because one of them may be `taskset`.
    pub const BUSY_SWEEPS: Interval = Interval::new(300, Duration::from_millis(250), Duration::from_secs(5));
    /// Reading which processes started, changed and ended, while some do: a tenth of a CPU at most.
    pub const PROCESSES: Interval = Interval::new(9, Duration::from_millis(100), Duration::from_secs(2));
    /// Reading which process wrote which kernel file: any user may write some of them without limit.
    pub const WRITES: Interval = Interval::new(20, Duration::from_millis(1), Duration::from_secs(2));
    /// Reading all processes to find those that an alert's command left behind.
    pub const LEFT_BEHIND: Interval = Interval::new(200, Duration::from_millis(100), Duration::from_secs(5));
    /// Checks after events: at most a second after the last one, whatever its cost ...
    pub const QUESTIONS: Interval = Interval::new(4, Duration::from_millis(100), Duration::from_secs(1));
    /// ... and the interval while the token bucket is empty.
    pub const FEWER_QUESTIONS: Interval = Interval::new(4_000, Duration::from_millis(200), Duration::from_secs(60));

    /// Work may take one part in `share` of the time. From its end to its next start, `least` to `most` pass.
    #[must_use]
    pub const fn new(share: u32, least: Duration, most: Duration) -> Interval {
        Interval {
            share,
            least,
            most,
            next_run: Duration::ZERO,
        }
    }

    /// The share of the time that it takes at this cost.
    #[must_use]
    pub fn share(&self, cost: Duration) -> f64 {
        let pause = self.pause(cost);
        cost.as_secs_f64() / (pause + cost).as_secs_f64()
    }

    /// The minimum time from the end of work at this cost to its next start.
    #[must_use]
    pub fn pause(&self, cost: Duration) -> Duration {
        cost.saturating_mul(self.share).clamp(self.least, self.most)
    }

    /// The time of the next run.
    #[must_use]
    pub fn next_run(&self) -> Duration {
        self.next_run
    }

    /// Records a run that ended now, and its CPU time.
    pub fn record_run(&mut self, now: Duration, cost: Duration) {
        self.next_run = now.saturating_add(self.pause(cost));
    }
}
