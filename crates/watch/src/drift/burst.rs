//! Many notifications, one call of `check`: what arrives within 50 ms is checked together.

use super::{Layers, Notification, WriterProcess, concern};
use std::time::Duration;

/// The delay after the first notification, so that the rest arrives too.
const SETTLE: Duration = Duration::from_millis(50);

/// The maximum number of remembered writers; the newest are kept.
const MOST_WRITERS: usize = 64;

/// The notifications since the last check. Times are of any monotonic clock.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    layers: Layers,
    first: Option<Duration>,
    notifications: u64,
    writers: Vec<WriterProcess>,
}

/// What to check now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRequest {
    /// The layers.
    pub layers: Layers,
    /// The processes that wrote something since the last check, the newest first. Earlier writers cannot have caused what is
    /// found now.
    pub writers: Vec<WriterProcess>,
    /// How many notifications this one check is for.
    pub notifications: u64,
}

impl Burst {
    /// Adds a notification. One that concerns no layer is dropped.
    pub fn add(&mut self, now: Duration, notification: Notification) {
        let layers = concern(&notification);
        if layers.is_empty() {
            return;
        }
        self.layers = self.layers.and(layers);
        self.first.get_or_insert(now);
        self.notifications = self.notifications.saturating_add(1);
        if let Notification::Wrote(writer) = notification {
            self.writers.retain(|known| *known != writer);
            if self.writers.len() >= MOST_WRITERS {
                self.writers.remove(0);
            }
            self.writers.push(writer);
        }
    }

    /// The time of the check, not before `ready`; `None` without notifications.
    #[must_use]
    pub fn check_time(&self, ready: Duration) -> Option<Duration> {
        self.first.map(|first| ready.max(first.saturating_add(SETTLE)))
    }

    /// Takes the request; the burst is empty afterwards.
    pub fn take(&mut self) -> CheckRequest {
        let taken = std::mem::take(self);
        CheckRequest {
            layers: taken.layers,
            writers: taken.writers.into_iter().rev().collect(),
            notifications: taken.notifications,
        }
    }
}
