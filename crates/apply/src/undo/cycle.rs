//! Brings CPUs back online that a cycle took offline, if the tool died in between.
//!
//! This happens before anything else is read: an undo that does not count these CPUs would give every task too few.

use super::{Undone, say};
use crate::System;
use crate::actions::cycle_cpus::{bring_online, give_back};
use crate::entry::Entry;
use crate::journal::Journal;
use crate::layers::Layer;
use crate::record::{Event, Outcome};
use plan::{Action, Change};

/// Finishes a CPU cycle of a layer that was started and has no recorded outcome.
pub(super) fn finish(system: &dyn System, journal: &mut Journal, layer: &Layer, undone: &mut Undone) {
    for (seq, change) in open(layer) {
        let Action::CycleCpus { cpus } = &change.action else {
            continue;
        };
        let cpus: Vec<machine::CpuId> = cpus.iter().collect();
        undone.failed.extend(bring_online(system, &cpus));
        // It was the first change, so interrupts had the same masks before the layer as before the cycle.
        undone.failed.extend(give_back(system, layer.files));
        say(
            journal,
            undone,
            Event::Undid {
                change: change.id.clone(),
                outcome: Outcome::Done,
            },
        );
        undone.entries.push(Entry {
            seq,
            change: change.id.clone(),
            before: None,
            after: Some("online".to_owned()),
            outcome: Outcome::Done,
        });
    }
}

fn open<'l>(layer: &'l Layer) -> Vec<(u64, &'l Change)> {
    let begun = layer.records.iter().filter_map(|record| match &record.event {
        Event::Will { change, .. } if layer.outcome(record.seq).is_none() => {
            Some((record.seq, layer.change(change)?))
        }
        _ => None,
    });
    begun.collect()
}
