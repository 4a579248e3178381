//! Many notifications, one call of `check`: what arrives within 50 ms is checked together.

use super::{Layers, Notification, Writer, concern};
use std::time::Duration;

/// What is waited for after the first, so that the rest of it comes too.
const SETTLE: Duration = Duration::from_millis(50);

/// Writers that are remembered at most; the newest stay.
const MOST_WRITERS: usize = 64;

/// The notifications since the last check. Times are of any monotonic clock.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    layers: Layers,
    first: Option<Duration>,
    notifications: u64,
    writers: Vec<Writer>,
}

/// What to check now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRequest {
    /// These layers.
    pub layers: Layers,
    /// Who wrote something since the last question, the newest first. Earlier ones had theirs: what is found now is not
    /// their doing.
    pub writers: Vec<Writer>,
    /// How many notifications this one check is for.
    pub notifications: u64,
}

impl Burst {
    /// Adds one. What concerns no layer is forgotten.
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

    /// When to ask, and not before `ready`; `None` while nothing has happened.
    #[must_use]
    pub fn due(&self, ready: Duration) -> Option<Duration> {
        self.first.map(|first| ready.max(first.saturating_add(SETTLE)))
    }

    /// What to ask; afterwards nothing is left of it.
    pub fn take(&mut self) -> CheckRequest {
        let taken = std::mem::take(self);
        CheckRequest {
            layers: taken.layers,
            writers: taken.writers.into_iter().rev().collect(),
            notifications: taken.notifications,
        }
    }
}
