//! The interval of recurring work: long enough that the work stays within its share of a CPU, whatever one run costs.

use std::time::Duration;

/// The interval of one kind of work.
#[derive(Clone, Debug)]
pub struct Interval {
    share: u32,
    least: Duration,
    most: Duration,
    due: Duration,
}

impl Interval {
    /// All layers: what the kernel changed by itself, and what no source told.
    pub const FILES: Interval = Interval::new(20_000, Duration::from_secs(10), Duration::from_secs(900));
    /// What is counted for each CPU.
    pub const COUNTERS: Interval = Interval::new(8_000, Duration::from_secs(1), Duration::from_secs(600));
    /// Where each thread may run, while no program begins ...
    pub const SWEEPS: Interval = Interval::new(10_000, Duration::from_secs(1), Duration::from_secs(600));
    /// ... and while some do, for one of them may be `taskset`.
    pub const BUSY_SWEEPS: Interval = Interval::new(300, Duration::from_millis(250), Duration::from_secs(5));
    /// Reading which processes began, changed and ended, while some do: a tenth of a CPU at most.
    pub const PROCESSES: Interval = Interval::new(9, Duration::from_millis(100), Duration::from_secs(2));
    /// Reading who wrote which file of the kernel: any user may write some of them without end.
    pub const WRITES: Interval = Interval::new(20, Duration::from_millis(1), Duration::from_secs(2));
    /// Questions for what happened: a second after the last one at the latest, however dear that was ...
    pub const QUESTIONS: Interval = Interval::new(4, Duration::from_millis(100), Duration::from_secs(1));
    /// ... and these while the token bucket is empty.
    pub const FEWER_QUESTIONS: Interval =
        Interval::new(4_000, Duration::from_millis(200), Duration::from_secs(60));

    /// It may take the `share`th part of the time; from its end to its next begin pass `least` to `most`.
    #[must_use]
    pub const fn new(share: u32, least: Duration, most: Duration) -> Interval {
        Interval {
            share,
            least,
            most,
            due: Duration::ZERO,
        }
    }

    /// The part of the time that it takes where each costs so much.
    #[must_use]
    pub fn share(&self, cost: Duration) -> f64 {
        let pause = self.pause(cost);
        cost.as_secs_f64() / (pause + cost).as_secs_f64()
    }

    /// What passes from the end of one that costs so much to the begin of the next, at least.
    #[must_use]
    pub fn pause(&self, cost: Duration) -> Duration {
        cost.saturating_mul(self.share).clamp(self.least, self.most)
    }

    /// When it is due.
    #[must_use]
    pub fn due(&self) -> Duration {
        self.due
    }

    /// It was done now, and took so much of a CPU.
    pub fn done(&mut self, now: Duration, cost: Duration) {
        self.due = now.saturating_add(self.pause(cost));
    }
}
