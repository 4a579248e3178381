//! Implements a token bucket of CPU time for work that other programs cause by writing files and starting programs. Time
//! accumulates while nothing happens, and can be spent at once.
//!
//! Work that recurs by itself has its own [`super::Interval`] and no bucket.

use std::time::Duration;

/// Whether a bucket has time left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketLevel {
    /// Time is left: the work is done soon.
    Ample,
    /// No time is left: the work is done as rarely as its cost requires.
    Short,
}

/// The earned CPU time, minus the spent time.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    share: u32,
    most: Duration,
    earned: Duration,
    spent: Duration,
    at: Duration,
}

impl TokenBucket {
    /// For calls of `check`.
    pub const QUESTIONS: TokenBucket = TokenBucket::new(4_000, Duration::from_secs(25));
    /// For reading the masks of all threads because a program has started.
    pub const SWEEPS: TokenBucket = TokenBucket::new(10_000, Duration::from_secs(5));

    /// A bucket that earns one part in `share` of the time and saves `most` CPU time. It is full at the start.
    #[must_use]
    pub const fn new(share: u32, most: Duration) -> TokenBucket {
        TokenBucket {
            share,
            most,
            earned: most,
            spent: Duration::ZERO,
            at: Duration::ZERO,
        }
    }

    /// Records work that ended now, and its CPU time.
    pub fn spend(&mut self, now: Duration, cost: Duration) {
        self.earned = self.earned_at(now);
        self.at = now;
        self.spent = self.spent.saturating_add(cost);
    }

    /// The level now.
    #[must_use]
    pub fn level(&self, now: Duration) -> BucketLevel {
        match self.spent < self.earned_at(now) {
            true => BucketLevel::Ample,
            false => BucketLevel::Short,
        }
    }

    fn earned_at(&self, now: Duration) -> Duration {
        let more = now.saturating_sub(self.at).checked_div(self.share).unwrap_or_default();
        self.earned
            .saturating_add(more)
            .min(self.spent.saturating_add(self.most))
    }
}
