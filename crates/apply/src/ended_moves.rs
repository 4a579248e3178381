//! Keeps the journal short when many programs start and end.
//!
//! `run` writes two records for each program, and undo needs neither once every moved task has ended. A child that
//! outlives them does not need them either: its place is read from its living parents ([`crate::TaskOrigins`]).

use crate::journal::Journal;
use crate::record::finished_writes;
use crate::{JournalEvent, JournalRecord, System};
use machine::TaskKey;
use std::collections::BTreeSet;

/// The journal is searched after every this many moves, so only one run in that many pays for the search.
const MOVES: usize = 128;

/// Drops the moves of ended tasks, if a search is needed.
pub(crate) fn drop_ended(system: &dyn System, journal: &mut Journal) {
    let is_move = |record: &&JournalRecord| matches!(record.event, JournalEvent::Moving { .. });
    let moves = journal.records().iter().filter(is_move).count();
    if moves == 0 || moves % MOVES != 0 {
        return;
    }
    let has_ended = |key: TaskKey| {
        let now = machine::tasks::read_one(system.root(), key.tid);
        now.is_none_or(|now| now.key != key)
    };
    let ended = finished_moves(journal.records(), has_ended);
    let is_needed = |record: &JournalRecord| match &record.event {
        JournalEvent::Moved { of, .. } => !ended.contains(of),
        _ => !ended.contains(&record.seq),
    };
    if !ended.is_empty() {
        // On a full disk the journal stays as it is, and the next append reports the error.
        let _ = journal.retain(is_needed);
    }
}

/// The numbers of finished moves whose tasks have all ended. A process that waits outside keeps its record, because its
/// children may still wait there.
fn finished_moves(records: &[JournalRecord], has_ended: impl Fn(TaskKey) -> bool) -> BTreeSet<u64> {
    let answered = finished_writes(records);
    let is_over = |record: &&JournalRecord| match &record.event {
        JournalEvent::Moving { tasks } => {
            answered.contains(&record.seq)
                && tasks
                    .iter()
                    .all(|departure| departure.waits.is_none() && has_ended(departure.state.key))
        }
        _ => false,
    };
    records.iter().filter(is_over).map(|record| record.seq).collect()
}
