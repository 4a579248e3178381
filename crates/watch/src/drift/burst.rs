//! Many happenings, one question: what comes within a moment is asked for together.

use super::{Happening, Layers, Writer, concern};
use std::time::Duration;

/// What is waited for after the first, so that the rest of it comes too.
const SETTLE: Duration = Duration::from_millis(50);

/// Writers that are remembered at most; the newest stay.
const MOST_WRITERS: usize = 64;

/// What has happened since the last question. Times are of any clock that only goes forward.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    layers: Layers,
    first: Option<Duration>,
    happenings: u64,
    writers: Vec<Writer>,
}

/// What to ask now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// These layers.
    pub layers: Layers,
    /// Who wrote something since the last question, the newest first. Earlier ones had theirs: what is found now is not
    /// their doing.
    pub writers: Vec<Writer>,
    /// How many happenings this one question is for.
    pub happenings: u64,
}

impl Burst {
    /// Adds one. What concerns no layer is forgotten.
    pub fn add(&mut self, now: Duration, happening: Happening) {
        let layers = concern(&happening);
        if layers.is_empty() {
            return;
        }
        self.layers = self.layers.and(layers);
        self.first.get_or_insert(now);
        self.happenings = self.happenings.saturating_add(1);
        if let Happening::Wrote(writer) = happening {
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
    pub fn take(&mut self) -> Asked {
        let taken = std::mem::take(self);
        Asked {
            layers: taken.layers,
            writers: taken.writers.into_iter().rev().collect(),
            happenings: taken.happenings,
        }
    }
}
