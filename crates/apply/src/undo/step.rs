//! One journalled change to undo, and the entries for a file that is gone or refused.

use super::{Force, UndoOutcome};
use crate::entry::ChangeEntry;
use crate::layers::ApplyLayer;
use crate::record::{ChangeOutcome, JournalEvent, JournalRecord, StateAfter, StateBefore};
use machine::MapEntries;
use plan::Change;
use std::collections::{BTreeMap, BTreeSet};

/// One started write of a layer.
#[derive(Clone, Copy)]
pub(super) struct StartedWrite<'r> {
    /// Its layer.
    pub layer: &'r ApplyLayer<'r>,
    /// The record of the start.
    pub record: &'r JournalRecord,
    /// The planned change.
    pub change: &'r Change,
    /// The former state.
    pub before: &'r StateBefore,
}

impl<'r> StartedWrite<'r> {
    /// Its step of an undo.
    pub fn step(&self, force: Force) -> UndoStep<'r> {
        let StartedWrite {
            layer,
            record,
            change,
            before,
        } = *self;
        UndoStep {
            layer,
            record,
            change,
            before,
            force,
        }
    }
}

/// The started writes of a layer, first to last. Repeated writes count as one: the state before the first of them is
/// the state before the layer.
pub(super) fn started_writes<'r>(layer: &'r ApplyLayer<'r>) -> impl DoubleEndedIterator<Item = StartedWrite<'r>> {
    let changes: BTreeMap<&str, &Change> = layer
        .changes
        .iter()
        .map(|change| (change.id.as_str(), *change))
        .into_map();
    let mut values: BTreeSet<&str> = BTreeSet::new();
    layer.records.iter().filter_map(move |record| match &record.event {
        JournalEvent::Will {
            change,
            before: StateBefore::Value { .. },
        } if !values.insert(change) => None,
        JournalEvent::Will { change, before } => Some(StartedWrite {
            layer,
            record,
            change: changes.get(change.as_str())?,
            before,
        }),
        _ => None,
    })
}

/// One change to undo.
pub(super) struct UndoStep<'a> {
    /// Its layer.
    pub layer: &'a ApplyLayer<'a>,
    /// The record of the start.
    pub record: &'a JournalRecord,
    /// The planned change.
    pub change: &'a Change,
    /// The former state.
    pub before: &'a StateBefore,
    /// How to handle drift.
    pub force: Force,
}

impl UndoStep<'_> {
    pub(super) fn answer(&self) -> Option<(&ChangeOutcome, &StateAfter)> {
        self.layer.records.iter().find_map(|record| match &record.event {
            JournalEvent::Did { of, outcome, after } if *of == self.record.seq => Some((outcome, after)),
            _ => None,
        })
    }

    pub(super) fn entry(&self, before: Option<String>, after: Option<String>, outcome: ChangeOutcome) -> ChangeEntry {
        ChangeEntry {
            seq: self.record.seq,
            change: self.change.id.clone(),
            before,
            after,
            outcome,
        }
    }
}

/// The entry for a file that is gone.
pub(super) fn missing_file_entry(step: &UndoStep, undone: &mut UndoOutcome, path: &str) -> ChangeEntry {
    // The cgroup of another program ends with that program.
    let dir = step
        .layer
        .partition_dir()
        .filter(|_| step.layer.intent.in_place.is_some());
    if dir.is_none_or(|dir| !machine::is_within(path, dir)) {
        undone
            .notes
            .push(format!("{path} no longer exists, so nothing was restored there"));
    }
    step.entry(None, None, ChangeOutcome::Gone)
}

/// The entry for a refused step.
pub(super) fn fail(step: &UndoStep, undone: &mut UndoOutcome, path: &str, error: &root::RootError) -> ChangeEntry {
    // The error text already starts with the path.
    let text = error.to_string();
    undone.failed.push(match text.starts_with(path) {
        true => text,
        false => format!("{path}: {text}"),
    });
    step.entry(None, None, ChangeOutcome::Refused(error.errno().unwrap_or(libc::EIO)))
}
