//! Undoes manual changes beside partitions.
//!
//! They restore what they found, step by step, and share with other layers only the controllers that were enabled for
//! child cgroups.

use super::change::take_back;
use super::step::wills;
use super::{Force, Undone};
use crate::ApplyError;
use crate::entry::Entry;
use crate::home::Map;
use crate::layers::{Layer, is_in};
use crate::record::{Before, Event, Record};
use plan::{Action, Change, Compare};

/// The records that define what tasks get back. A manual change restores what it found, step by step. With partitions,
/// each task gets back what it had before the first of them.
pub(super) fn concerning(records: &[Record], layer: &Layer, mount: &str) -> Vec<Record> {
    if layer.is_partition() {
        return records.to_vec();
    }
    let own = |record: &Record| layer.records.iter().any(|own| own.seq == record.seq);
    let mut kept = Vec::new();
    for record in records {
        let is_own = own(record);
        let mut record = record.clone();
        match &mut record.event {
            Event::Will { .. } | Event::Did { .. } if !is_own => continue,
            Event::Moving { .. } | Event::Moved { .. } | Event::Joined { .. } => continue,
            // The list of a set concerns only the tasks in it; the pins of all other tasks were recorded in addition.
            Event::Will {
                change,
                before: Before::Value { tasks, .. },
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
                            .is_some_and(|cgroup| is_in(&dir(cgroup), set))
                    });
                }
            }
            _ => {}
        }
        kept.push(record);
    }
    kept
}

/// Whether it enables a controller for the cgroups below.
pub(super) fn is_word(change: &Change) -> bool {
    matches!(
        change.action,
        Action::Write {
            compare: Compare::Word,
            undo: plan::Undo::Restore,
            ..
        }
    )
}

/// Disables controllers that layers enabled, once no layer is left. Those of removed cgroups are gone with them.
pub(super) fn take_words(
    map: &Map,
    all: &[Layer],
    force: Force,
    undone: &mut Undone,
) -> Result<Vec<Entry>, ApplyError> {
    let mut entries = Vec::new();
    for layer in all.iter().rev() {
        for will in wills(layer).rev().filter(|will| is_word(will.change)) {
            let is_there = match &will.change.action {
                Action::Write { path, .. } => map.system.root().kind(path)?.is_some(),
                _ => false,
            };
            if is_there {
                entries.extend(take_back(map, &will.step(force), undone)?);
            }
        }
    }
    Ok(entries)
}
