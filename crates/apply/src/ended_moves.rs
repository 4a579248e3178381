//! Keeps the journal short where programs come and go: `run` writes two records for each, and undo needs neither once every
//! task that was moved has ended.
//!
//! A child that outlives them does not need them either: it is taken home by its living parents ([`crate::Homes`]).

use crate::journal::Journal;
use crate::{Event, Record, System};
use machine::TaskKey;
use std::collections::BTreeSet;

/// So many moves are looked through at once, so that one in so many runs pays for it.
const MOVES: usize = 128;

/// Drops the moves of tasks that have ended, if it is time for that.
pub(crate) fn drop_ended(system: &dyn System, journal: &mut Journal) {
    let moves = journal.records().iter().filter(|record| is_move(record)).count();
    if moves == 0 || moves % MOVES != 0 {
        return;
    }
    let is_gone = |key: TaskKey| {
        let now = machine::tasks::read_one(system.root(), key.tid);
        now.is_none_or(|now| now.key != key)
    };
    let ended = ended(journal.records(), is_gone);
    let is_kept = |record: &Record| match &record.event {
        Event::Moved { of, .. } => !ended.contains(of),
        _ => !ended.contains(&record.seq),
    };
    if !ended.is_empty() {
        // Without room for it the journal stays as it is, and the next record tells whether there is any.
        let _ = journal.keep(is_kept);
    }
}

/// The numbers of moves that came to their end, and whose tasks have all ended. A process that waits outside keeps its
/// record: children of it may wait there still.
fn ended(records: &[Record], is_gone: impl Fn(TaskKey) -> bool) -> BTreeSet<u64> {
    let answered: BTreeSet<u64> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Moved { of, .. } => Some(*of),
            _ => None,
        })
        .collect();
    let is_over = |record: &&Record| match &record.event {
        Event::Moving { tasks } => {
            answered.contains(&record.seq)
                && tasks
                    .iter()
                    .all(|departure| departure.waits.is_none() && is_gone(departure.state.key))
        }
        _ => false,
    };
    records.iter().filter(is_over).map(|record| record.seq).collect()
}

const fn is_move(record: &Record) -> bool {
    matches!(record.event, Event::Moving { .. })
}
