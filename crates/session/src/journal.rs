//! Reads the journal of this boot: the active partitions, and whether a change is under way.
//!
//! An unreadable journal counts as empty here. The command that has to write to it reports the error.

use crate::Session;
use apply::{ApplyLayer, CapturedStorage, Journal, JournalState, PartitionStatus, System};
use machine::Machine;
use plan::Intent;

impl Session {
    /// The active partitions, as far as this user can see: only root can read the journal. None on a captured machine.
    #[must_use]
    pub fn in_force(&self) -> Vec<Intent> {
        self.layers_in_force(|layer| layer.intent.clone())
    }

    /// As [`Session::in_force`], each with the reason for which it was made.
    #[must_use]
    pub fn in_force_because(&self) -> Vec<(Intent, String)> {
        self.layers_in_force(|layer| (layer.intent.clone(), layer.reason.to_owned()))
    }

    /// As [`Session::in_force`], each with the time when it was applied, in seconds since 1970.
    #[must_use]
    pub fn in_force_since(&self) -> Vec<(Intent, u64)> {
        self.layers_in_force(|layer| (layer.intent.clone(), layer.at_ns / 1_000_000_000))
    }

    /// The active partitions and their deviations. `None` if unknown: the journal cannot be read, or was not captured with
    /// the machine.
    #[must_use]
    pub fn active_partitions(&self, machine: &Machine) -> Option<Vec<PartitionStatus>> {
        let of = |system: &dyn System, journal: &Journal| match journal.state(machine.kernel.boot_id.as_deref()) {
            JournalState::Void => Vec::new(),
            _ => apply::active_partitions(system, journal, machine),
        };
        let Some(live) = self.live_root() else {
            let captured = CapturedStorage(self.root());
            let journal = Journal::open(&captured).ok()??;
            return Some(of(&captured, &journal));
        };
        let Some(state) = self.state().ok()? else {
            return Some(Vec::new());
        };
        let journal = Journal::open(&*state).ok()?;
        Some(journal.map_or_else(Vec::new, |journal| of(&*self.system(live), &journal)))
    }

    /// Whether the journal of this boot can be read, or does not exist. Only root can read it.
    #[must_use]
    pub fn is_journal_readable(&self) -> bool {
        self.state()
            .is_ok_and(|state| state.is_none_or(|state| Journal::open(&*state).is_ok()))
    }

    /// Whether a change of ours has started and not ended.
    #[must_use]
    pub fn is_change_under_way(&self) -> bool {
        let Some(state) = self.state().ok().flatten() else {
            return false;
        };
        let journal = Journal::open(&*state).ok().flatten();
        journal.is_some_and(|journal| {
            matches!(
                journal.state(self.boot_id().as_deref()),
                JournalState::Unfinished | JournalState::Resizing
            )
        })
    }

    fn layers_in_force<T>(&self, take: impl Fn(&ApplyLayer) -> T) -> Vec<T> {
        let Some(state) = self.state().ok().flatten() else {
            return Vec::new();
        };
        let Ok(Some(journal)) = Journal::open(&*state) else {
            return Vec::new();
        };
        if journal.state(self.boot_id().as_deref()) == JournalState::Void {
            return Vec::new();
        }
        let layers = journal.layers();
        let partitions = layers.iter().filter(|layer| layer.is_live() && layer.is_partition());
        partitions.map(take).collect()
    }
}
