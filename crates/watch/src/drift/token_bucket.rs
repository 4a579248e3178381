//! What may be had of a CPU for what others decide: how often they write, and start programs. It is saved while nothing
//! happens, and spent at once when something does.
//!
//! What is done by itself, again and again, has its own [`super::Pace`] and no purse.

use std::time::Duration;

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Funds {
    /// Whatever happens is looked at soon.
    Ample,
    /// It is looked at as seldom as it can be paid for.
    Short,
}

/// What was earned, and what was spent of it.
#[derive(Clone, Debug)]
pub struct Purse {
    share: u32,
    most: Duration,
    earned: Duration,
    spent: Duration,
    at: Duration,
}

impl Purse {
    /// For questions.
    pub const QUESTIONS: Purse = Purse::new(4_000, Duration::from_secs(25));
    /// For looking at the masks of all threads because a program has begun.
    pub const SWEEPS: Purse = Purse::new(10_000, Duration::from_secs(5));

    /// It earns the `share`th part of the time, and saves so much of a CPU at most, which it has at the start.
    #[must_use]
    pub const fn new(share: u32, most: Duration) -> Purse {
        Purse {
            share,
            most,
            earned: most,
            spent: Duration::ZERO,
            at: Duration::ZERO,
        }
    }

    /// Something was done now that took so much of a CPU.
    pub fn pay(&mut self, now: Duration, cost: Duration) {
        self.earned = self.earned_at(now);
        self.at = now;
        self.spent = self.spent.saturating_add(cost);
    }

    /// How it stands now.
    #[must_use]
    pub fn funds(&self, now: Duration) -> Funds {
        match self.spent < self.earned_at(now) {
            true => Funds::Ample,
            false => Funds::Short,
        }
    }

    fn earned_at(&self, now: Duration) -> Duration {
        let more = now
            .saturating_sub(self.at)
            .checked_div(self.share)
            .unwrap_or_default();
        self.earned
            .saturating_add(more)
            .min(self.spent.saturating_add(self.most))
    }
}
