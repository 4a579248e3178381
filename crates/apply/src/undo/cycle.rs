//! Brings CPUs back online that a cycle took offline, if the tool died in between.
//!
//! This happens before anything else is read: an undo that does not count these CPUs would give every task too few.

use super::{UndoOutcome, record_step};
use crate::System;
use crate::actions::cycle_cpus::{bring_online, restore_masks};
use crate::entry::ChangeEntry;
use crate::journal::Journal;
use crate::layers::ApplyLayer;
use crate::record::{ChangeOutcome, JournalEvent};
use plan::{Action, Change};

/// Finishes a CPU cycle of a layer that was started and has no recorded outcome.
pub(super) fn finish(system: &dyn System, journal: &mut Journal, layer: &ApplyLayer, undone: &mut UndoOutcome) {
    for (seq, change) in open(layer) {
        let Action::CycleCpus { cpus } = &change.action else {
            continue;
        };
        let cpus: Vec<machine::CpuId> = cpus.iter().collect();
        undone.failed.extend(bring_online(system, &cpus));
        // It was the first change, so interrupts had the same masks before the layer as before the cycle.
        undone.failed.extend(restore_masks(system, layer.files));
        record_step(
            journal,
            undone,
            JournalEvent::Undid {
                change: change.id.clone(),
                outcome: ChangeOutcome::Done,
            },
        );
        undone.entries.push(ChangeEntry {
            seq,
            change: change.id.clone(),
            before: None,
            after: Some("online".to_owned()),
            outcome: ChangeOutcome::Done,
        });
    }
}

fn open<'l>(layer: &'l ApplyLayer) -> Vec<(u64, &'l Change)> {
    let started = layer.records.iter().filter_map(|record| match &record.event {
        JournalEvent::Will { change, .. } if layer.outcome(record.seq).is_none() => {
            Some((record.seq, layer.change(change)?))
        }
        _ => None,
    });
    started.collect()
}
