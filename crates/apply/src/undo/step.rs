//! One journalled change to undo, and the entries for a file that is gone or refused.

use super::{Force, Undone};
use crate::entry::Entry;
use crate::layers::Layer;
use crate::record::{After, Before, Event, Outcome, Record};
use plan::Change;
use std::collections::{BTreeMap, BTreeSet};

/// One started write of a layer.
#[derive(Clone, Copy)]
pub(super) struct Will<'r> {
    /// Its layer.
    pub layer: &'r Layer<'r>,
    /// The record of the start.
    pub record: &'r Record,
    /// The planned change.
    pub change: &'r Change,
    /// The former state.
    pub before: &'r Before,
}

impl<'r> Will<'r> {
    /// Its step of an undo.
    pub fn step(&self, force: Force) -> Step<'r> {
        let Will {
            layer,
            record,
            change,
            before,
        } = *self;
        Step {
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
pub(super) fn wills<'r>(layer: &'r Layer<'r>) -> impl DoubleEndedIterator<Item = Will<'r>> {
    let changes: BTreeMap<&str, &Change> = layer
        .changes
        .iter()
        .map(|change| (change.id.as_str(), *change))
        .collect();
    let mut values: BTreeSet<&str> = BTreeSet::new();
    layer
        .records
        .iter()
        .filter_map(move |record| match &record.event {
            Event::Will {
                change,
                before: Before::Value { .. },
            } if !values.insert(change) => None,
            Event::Will { change, before } => Some(Will {
                layer,
                record,
                change: changes.get(change.as_str())?,
                before,
            }),
            _ => None,
        })
}

/// One change to undo.
pub(super) struct Step<'a> {
    /// Its layer.
    pub layer: &'a Layer<'a>,
    /// The record of the start.
    pub record: &'a Record,
    /// The planned change.
    pub change: &'a Change,
    /// The former state.
    pub before: &'a Before,
    /// How to handle drift.
    pub force: Force,
}

impl Step<'_> {
    pub(super) fn answer(&self) -> Option<(&Outcome, &After)> {
        self.layer.records.iter().find_map(|record| match &record.event {
            Event::Did { of, outcome, after } if *of == self.record.seq => Some((outcome, after)),
            _ => None,
        })
    }

    pub(super) fn entry(&self, before: Option<String>, after: Option<String>, outcome: Outcome) -> Entry {
        Entry {
            seq: self.record.seq,
            change: self.change.id.clone(),
            before,
            after,
            outcome,
        }
    }
}

/// The entry for a file that is gone.
pub(super) fn gone(step: &Step, undone: &mut Undone, path: &str) -> Entry {
    undone
        .notes
        .push(format!("{path} is gone, so nothing was given back there"));
    step.entry(None, None, Outcome::Gone)
}

/// The entry for a refused step.
pub(super) fn fail(step: &Step, undone: &mut Undone, path: &str, error: &root::RootError) -> Entry {
    // The error text already starts with the path.
    let text = error.to_string();
    undone.failed.push(match text.starts_with(path) {
        true => text,
        false => format!("{path}: {text}"),
    });
    step.entry(None, None, Outcome::Refused(error.errno().unwrap_or(libc::EIO)))
}
