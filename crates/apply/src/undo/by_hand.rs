//! Undoes manual changes beside partitions.
//!
//! They restore what they found, step by step, and share with other layers only the controllers that were enabled for
//! child cgroups.

use super::change::undo_change;
use super::step::started_writes;
use super::{Force, UndoOutcome};
use crate::ApplyError;
use crate::entry::ChangeEntry;
use crate::layers::ApplyLayer;
use crate::original_cgroup::CgroupMap;
use crate::record::{JournalEvent, JournalRecord, StateBefore};
use plan::{Action, Change, ReadbackComparison};

/// The records that define what tasks get back. A manual change restores what it found, step by step. With partitions,
/// each task gets back what it had before the first of them.
pub(super) fn concerning(records: &[JournalRecord], layer: &ApplyLayer, mount: &str) -> Vec<JournalRecord> {
    if layer.is_partition() {
        return records.to_vec();
    }
    let own = |record: &JournalRecord| layer.records.iter().any(|own| own.seq == record.seq);
    let mut remaining = Vec::new();
    for record in records {
        let is_own = own(record);
        let mut record = record.clone();
        match &mut record.event {
            JournalEvent::Will { .. } | JournalEvent::Did { .. } if !is_own => continue,
            JournalEvent::Moving { .. } | JournalEvent::Moved { .. } | JournalEvent::Joined { .. } => {
                continue;
            }
            // The list of a set concerns only the tasks in it; the pins of all other tasks were recorded in addition.
            JournalEvent::Will {
                change,
                before: StateBefore::Value { tasks, .. },
            } => {
                let change = layer.change(change);
                let set = change.and_then(|change| match &change.action {
                    Action::Write { path, .. } => path.rsplit_once('/'),
                    _ => None,
                });
                if let Some((set, _)) = set {
                    let dir = |cgroup: &String| format!("{mount}{}", cgroup.trim_end_matches('/'));
                    tasks.retain(|task| {
                        task.cgroup
                            .as_ref()
                            .is_some_and(|cgroup| machine::is_within(&dir(cgroup), set))
                    });
                }
            }
            _ => {}
        }
        remaining.push(record);
    }
    remaining
}

/// Whether it enables a controller for the cgroups below.
pub(super) fn is_word(change: &Change) -> bool {
    matches!(
        change.action,
        Action::Write {
            compare: ReadbackComparison::Word,
            undo: plan::UndoMethod::Restore,
            ..
        }
    )
}

/// Disables controllers that layers enabled, once no layer is left. Those of removed cgroups are gone with them.
pub(super) fn disable_controllers(
    map: &CgroupMap,
    all: &[ApplyLayer],
    force: Force,
    undone: &mut UndoOutcome,
) -> Result<Vec<ChangeEntry>, ApplyError> {
    let mut entries = Vec::new();
    for layer in all.iter().rev() {
        for will in started_writes(layer).rev().filter(|will| is_word(will.change)) {
            let is_there = match &will.change.action {
                Action::Write { path, .. } => map.system.root().kind(path)?.is_some(),
                _ => false,
            };
            if is_there {
                entries.extend(undo_change(map, &will.step(force), undone)?);
            }
        }
    }
    Ok(entries)
}
