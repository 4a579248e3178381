//! CPUs that went offline to come back, and did not because the tool died in between: they come back before anything
//! else is read, for an undo that counts without them would give everybody too few.

use super::{Undone, say};
use crate::System;
use crate::actions::cycle_cpus::{bring_online, give_back};
use crate::entry::Entry;
use crate::journal::Journal;
use crate::layers::Layer;
use crate::record::{Event, Outcome};
use plan::{Action, Change};

/// Finishes a cycle of a layer that was begun and never answered.
pub(super) fn finish(system: &dyn System, journal: &mut Journal, layer: &Layer, undone: &mut Undone) {
    for (seq, change) in open(layer) {
        let Action::CycleCpus { cpus } = &change.action else {
            continue;
        };
        let cpus: Vec<machine::CpuId> = cpus.iter().collect();
        undone.failed.extend(bring_online(system, &cpus));
        // It was the first change, so what interrupts had before the layer is what they had before the cycle.
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
