//! Decides when `check` runs again: notifications are collected, and all checks together stay a small share of a CPU.

use std::time::Duration;
use watch::drift::{BucketLevel, Burst, CheckRequest, Interval, Notification, TokenBucket};

/// No checks run while a change of ours is under way. A change that was killed delays them no longer than this.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is to be checked, and when. Times are since the start of the daemon.
#[derive(Debug)]
pub struct CheckPacing {
    burst: Burst,
    /// The pause after each check.
    soon: Interval,
    /// The longer pause after checks without news, when the bucket is empty.
    seldom: Interval,
    bucket: TokenBucket,
    /// Since when a change of ours has delayed checks.
    delayed_since: Option<Duration>,
}

impl Default for CheckPacing {
    fn default() -> CheckPacing {
        CheckPacing {
            burst: Burst::default(),
            soon: Interval::QUESTIONS,
            seldom: Interval::FEWER_QUESTIONS,
            bucket: TokenBucket::QUESTIONS,
            delayed_since: None,
        }
    }
}

impl CheckPacing {
    /// Adds a notification for the next check.
    pub fn add(&mut self, now: Duration, notification: Notification) {
        self.burst.add(now, notification);
    }

    /// The time of the next check, which may be over; `None` without notifications.
    pub fn next_check(&self, now: Duration) -> Option<Duration> {
        let ready = match self.bucket.level(now) {
            BucketLevel::Ample => self.soon.next_run(),
            BucketLevel::Short => self.seldom.next_run(),
        };
        self.burst.check_time(ready)
    }

    /// Whether the next check is to run now.
    pub fn is_ready(&self, now: Duration) -> bool {
        self.next_check(now).is_some_and(|time| time <= now)
    }

    /// Whether the check has to wait for a change of ours, which it would find incomplete.
    pub fn waits_for_change(&mut self, now: Duration, is_under_way: bool) -> bool {
        if !is_under_way {
            self.delayed_since = None;
            return false;
        }
        let since = *self.delayed_since.get_or_insert(now);
        let is_patient = now.saturating_sub(since) < PATIENCE;
        if is_patient {
            self.soon.record_run(now, Duration::ZERO);
        }
        is_patient
    }

    /// Takes what is to be checked.
    pub fn take(&mut self) -> CheckRequest {
        self.burst.take()
    }

    /// Records a check that ended now. One with news does not delay the next.
    pub fn record(&mut self, now: Duration, cost: Duration, news: usize) {
        self.soon.record_run(now, cost);
        if news == 0 {
            self.seldom.record_run(now, cost);
            self.bucket.spend(now, cost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_notification_is_checked_once_after_it_settled() {
        let mut pacing = CheckPacing::default();
        assert_eq!(pacing.next_check(SECOND), None);
        pacing.add(SECOND, Notification::Thread);
        assert!(!pacing.is_ready(SECOND));
        assert!(pacing.is_ready(2 * SECOND));
        assert!(!pacing.take().layers.is_empty());
        assert!(!pacing.is_ready(3 * SECOND));
    }

    #[test]
    fn a_change_of_ours_delays_checks_and_a_killed_one_only_for_a_while() {
        let mut pacing = CheckPacing::default();
        pacing.add(Duration::ZERO, Notification::Thread);
        assert!(pacing.waits_for_change(SECOND, true));
        assert!(pacing.waits_for_change(15 * SECOND, true));
        assert!(!pacing.waits_for_change(16 * SECOND, true));
        // A later change is waited for again.
        assert!(!pacing.waits_for_change(17 * SECOND, false));
        assert!(pacing.waits_for_change(18 * SECOND, true));
    }

    #[test]
    fn expensive_checks_without_news_become_seldom_and_those_with_news_do_not() {
        let run = |news| {
            let mut pacing = CheckPacing::default();
            for second in 1..60 {
                pacing.record(second * SECOND, SECOND, news);
            }
            pacing.add(60 * SECOND, Notification::Thread);
            pacing.next_check(60 * SECOND).unwrap_or_default()
        };
        assert!(run(0) > run(1) + 10 * SECOND, "{:?} {:?}", run(0), run(1));
    }
}
