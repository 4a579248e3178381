//! Tracks which runs are left, and estimates how long they take.

use crate::Study;
use std::collections::BTreeSet;
use std::time::Duration;

/// One run: a cell and a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunPosition {
    /// The repetition, from 0.
    pub block: usize,
    /// The index of the cell.
    pub cell: usize,
}

/// One boot of one repetition: its cells are measured one after the other, without a restart between them. Each repetition
/// has its own boots, because no two boots of a machine are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootSession {
    /// The repetition, from 0.
    pub block: usize,
    /// The index of the boot.
    pub boot: usize,
}

/// Estimated time to make and undo a partition, until the first ones were timed.
const SWITCH: Duration = Duration::from_secs(2);

/// Estimated time of a restart.
const RESTART: Duration = Duration::from_secs(60);

/// The runs of a study in their order, and which are done.
#[derive(Clone, Debug)]
pub struct RunSchedule {
    order: Vec<RunPosition>,
    /// The boot that each run needs; `None` where it needs no particular boot.
    boots: Vec<Option<usize>>,
    done: BTreeSet<RunPosition>,
    /// Boots that are skipped.
    given_up: BTreeSet<usize>,
    /// Maximum time of a run so far, without measuring and waiting.
    overhead: Option<Duration>,
    planned: Duration,
    restart: Duration,
}

impl RunSchedule {
    /// A schedule in which these runs are already done.
    #[must_use]
    pub fn new(study: &Study, done: impl IntoIterator<Item = RunPosition>) -> RunSchedule {
        let of = |(block, cells): (usize, Vec<usize>)| cells.into_iter().map(move |cell| RunPosition { block, cell });
        let order: Vec<RunPosition> = study.blocks().into_iter().enumerate().flat_map(of).collect();
        let boot = |place: &RunPosition| study.cells.get(place.cell).map(|cell| cell.boot);
        let boots = order
            .iter()
            .map(|place| boot(place).filter(|_| study.needs_boots()))
            .collect();
        let known: BTreeSet<RunPosition> = order.iter().copied().collect();
        RunSchedule {
            order,
            boots,
            done: done.into_iter().filter(|place| known.contains(place)).collect(),
            given_up: BTreeSet::new(),
            overhead: None,
            planned: study.each.saturating_add(study.cool_down),
            restart: RESTART,
        }
    }

    /// Replaces the estimated time of a restart, which is one minute for a physical machine.
    #[must_use]
    pub fn with_restart(mut self, time: Duration) -> RunSchedule {
        self.restart = time;
        self
    }

    /// All runs in their order.
    #[must_use]
    pub fn order(&self) -> &[RunPosition] {
        &self.order
    }

    /// The remaining runs, in their order.
    pub fn left(&self) -> impl Iterator<Item = RunPosition> {
        self.left_in_boots().map(|(place, _)| place)
    }

    /// The next run; `None` when none is left.
    #[must_use]
    pub fn next(&self) -> Option<RunPosition> {
        self.left().next()
    }

    /// Skips all remaining runs of a boot.
    pub fn give_up(&mut self, boot: usize) {
        self.given_up.insert(boot);
    }

    /// The boot that the next run needs; `None` when all runs are done or no boot is needed.
    #[must_use]
    pub fn next_boot_session(&self) -> Option<BootSession> {
        self.remaining_boot_sessions().next()
    }

    /// The number of remaining boots; 0 where none is needed.
    #[must_use]
    pub fn boot_sessions_left(&self) -> usize {
        self.remaining_boot_sessions().collect::<BTreeSet<_>>().len()
    }

    /// The runs that are neither done nor skipped, each with the boot that it needs.
    fn left_in_boots(&self) -> impl Iterator<Item = (RunPosition, Option<usize>)> {
        let all = self.order.iter().copied().zip(self.boots.iter().copied());
        all.filter(|(place, boot)| {
            !self.done.contains(place) && !boot.is_some_and(|boot| self.given_up.contains(&boot))
        })
    }

    fn remaining_boot_sessions(&self) -> impl Iterator<Item = BootSession> {
        self.left_in_boots().filter_map(|(place, boot)| {
            Some(BootSession {
                block: place.block,
                boot: boot?,
            })
        })
    }

    /// The number of runs that are done.
    #[must_use]
    pub fn runs_done(&self) -> usize {
        self.done.len()
    }

    /// Records that a run is done, and its total time.
    pub fn finish(&mut self, place: RunPosition, took: Duration) {
        self.done.insert(place);
        let overhead = took.saturating_sub(self.planned);
        self.overhead = Some(self.overhead.map_or(overhead, |before| before.max(overhead)));
    }

    /// Estimated maximum time of one run.
    #[must_use]
    pub fn one(&self) -> Duration {
        self.planned.saturating_add(self.overhead.unwrap_or(SWITCH))
    }

    /// Estimated time of all remaining runs.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let left = self.left().count();
        let times = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let restarts = self.restart.saturating_mul(times(self.boot_sessions_left()));
        self.one().saturating_mul(times(left)).saturating_add(restarts)
    }
}
