//! Which runs are still to be done, and how long that will take.

use crate::{Study, blocks};
use std::collections::BTreeSet;
use std::time::Duration;

/// One run: a cell, and which of its repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The repetition, from 0.
    pub block: usize,
    /// The place of the cell.
    pub cell: usize,
}

/// Making a partition and taking it back takes about so long, until the first ones were timed.
const SWITCH: Duration = Duration::from_secs(2);

/// The runs of a study in their order, and which are done.
#[derive(Clone, Debug)]
pub struct Schedule {
    order: Vec<Place>,
    done: BTreeSet<Place>,
    /// Longest time of a run without measuring and waiting, so far.
    overhead: Option<Duration>,
    planned: Duration,
}

impl Schedule {
    /// With what is done already.
    #[must_use]
    pub fn new(study: &Study, done: impl IntoIterator<Item = Place>) -> Schedule {
        let blocks = blocks(study.cells.len(), study.repetitions, study.seed);
        let of =
            |(block, cells): (usize, Vec<usize>)| cells.into_iter().map(move |cell| Place { block, cell });
        let order: Vec<Place> = blocks.into_iter().enumerate().flat_map(of).collect();
        let known: BTreeSet<Place> = order.iter().copied().collect();
        Schedule {
            order,
            done: done.into_iter().filter(|place| known.contains(place)).collect(),
            overhead: None,
            planned: study.each.saturating_add(study.cool_down),
        }
    }

    /// All runs in their order.
    #[must_use]
    pub fn order(&self) -> &[Place] {
        &self.order
    }

    /// The next run; `None` when all are done.
    #[must_use]
    pub fn next(&self) -> Option<Place> {
        self.order
            .iter()
            .copied()
            .find(|place| !self.done.contains(place))
    }

    /// How many runs are done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done.len()
    }

    /// Notes that a run is done, which took so long in all.
    pub fn finish(&mut self, place: Place, took: Duration) {
        self.done.insert(place);
        let overhead = took.saturating_sub(self.planned);
        self.overhead = Some(self.overhead.map_or(overhead, |before| before.max(overhead)));
    }

    /// How long one run takes at most, as far as it is known.
    #[must_use]
    pub fn one(&self) -> Duration {
        self.planned.saturating_add(self.overhead.unwrap_or(SWITCH))
    }

    /// How long all that is left takes, about.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let left = self.order.len() - self.done.len();
        self.one().saturating_mul(u32::try_from(left).unwrap_or(u32::MAX))
    }
}
