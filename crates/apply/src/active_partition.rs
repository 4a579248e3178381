//! Reports the state of the active partitions: which applied changes no longer hold, and which ones the kernel refused.

use crate::journal::Journal;
use crate::layers::{ApplyLayer, isolated, layers};
use crate::masks::CpuDivision;
use crate::record::{ChangeOutcome, JournalEvent, JournalRecord, StateAfter};
use crate::undo::{irq_of, shared_now};
use crate::{System, bans};
use machine::{CpuSet, Machine, MapEntries, irqbalance};
use plan::{Action, Finding, FindingId, Intent, ReadbackComparison};
use std::collections::{BTreeMap, BTreeSet};

/// An active partition, with its state according to the journal.
#[derive(Clone, Debug)]
pub struct PartitionStatus {
    /// The intended partition.
    pub intent: Intent,
    /// Applied changes that no longer hold.
    pub drift: Vec<Finding>,
    /// Identifiers of the changes that were made.
    pub applied: BTreeSet<String>,
    /// Changes that the kernel refused or altered when the partition was applied and has not accepted since, with the
    /// outcome. They were reported at that time.
    pub refused: BTreeMap<String, String>,
    /// Other changes that the kernel refused at their last repair, with the outcome. What it accepted once, it may accept again.
    pub unrepaired: BTreeMap<String, String>,
}

/// Every active partition, with the applied changes that no longer hold. Writes nothing.
#[must_use]
pub fn active_partitions(system: &dyn System, journal: &Journal, machine: &Machine) -> Vec<PartitionStatus> {
    let layers = journal.layers();
    let live = layers.iter().filter(|layer| layer.is_live() && layer.is_partition());
    live.map(|layer| PartitionStatus {
        intent: layer.intent.clone(),
        drift: drifted(system, layer, journal.records(), machine),
        applied: layer.changes.iter().map(|change| change.id.clone()).collect(),
        refused: texts(refused(layer)).chain(fallback(layer)).into_map(),
        unrepaired: texts(unrepaired(layer)).into_map(),
    })
    .collect()
}

/// Files of a layer that do not have their intended content, given all active partitions.
pub(crate) fn drifted(
    system: &dyn System,
    layer: &ApplyLayer,
    records: &[JournalRecord],
    machine: &Machine,
) -> Vec<Finding> {
    let all = layers(records);
    let live: Vec<&ApplyLayer> = all.iter().filter(|layer| layer.is_live()).collect();
    let share = isolated(&live);
    let share = CpuDivision {
        housekeeping: machine.topology.online.minus(&share),
        isolated: share,
    };
    let shared = shared_now(&all, &live, &share, machine.cgroups.cpuset.as_ref());
    let refused = refused(layer);
    // irqbalance places interrupts freely on its remaining CPUs, except those that it leaves alone.
    let placer = machine
        .irqbalance()
        .map(|daemon| irqbalance::left_alone(system.root(), daemon));
    let places = |path: &str| {
        let irq = irq_of(path).and_then(|number| number.parse().ok());
        let placed = placer.as_ref().zip(irq);
        placed.is_some_and(|(left_alone, irq)| !left_alone.contains(&irq))
    };
    layer
        .changes
        .iter()
        .filter(|change| !refused.contains_key(change.id.as_str()))
        .filter_map(|change| {
            if let Action::BanCpus { daemon, cpus } = &change.action {
                return bans::drifted(system, records, *daemon, cpus, machine);
            }
            let Action::Write {
                path, value, compare, ..
            } = &change.action
            else {
                return None;
            };
            let now = system.root().readable_value(path)?;
            // A later partition narrows what they share, unless it does not change this setting; and the kernel may
            // have narrowed it before both.
            let narrowed = without(*compare, value, &share.isolated);
            let expected = shared.get(path).unwrap_or(value);
            let good = [Some(expected), Some(value), narrowed.as_ref()];
            let holds = good.into_iter().flatten().any(|good| compare.same(&now, good))
                || (places(path) && is_off(&now, &share.isolated));
            let value = expected;
            (!holds).then(|| {
                let message = format!("{path} reads `{now}` instead of the applied `{value}`");
                Finding::new(plan::Level::Warning, FindingId::DRIFT, path, message)
                    .fix("find out which program changed it; `quietcore undo` and `quietcore apply` set it again")
            })
        })
        .collect()
}

/// The result for a partition for which the kernel accepted only the second word.
fn fallback(layer: &ApplyLayer) -> Option<(String, String)> {
    let (change, first) = layer.changes.iter().find_map(|change| match &change.action {
        Action::MakePartition { words, .. } => Some((change, words.first()?)),
        _ => None,
    })?;
    let will = layer.records.iter().find_map(|record| match &record.event {
        JournalEvent::Will { change: id, .. } if *id == change.id => Some(record.seq),
        _ => None,
    })?;
    let made = layer.records.iter().find_map(|record| match &record.event {
        JournalEvent::Did {
            of,
            after: StateAfter::Value { value, .. },
            ..
        } if *of == will => value.as_ref(),
        _ => None,
    })?;
    (made != first).then(|| (change.id.clone(), format!("the kernel changed it to `{made}`")))
}

/// Whether the list of an interrupt has none of these CPUs.
fn is_off(list: &str, isolated: &CpuSet) -> bool {
    CpuSet::parse_list(list).is_ok_and(|list| !list.is_empty() && !list.intersects(isolated))
}

/// A set of CPUs minus `cpus`; `None` for a value that is no set of CPUs.
fn without(compare: ReadbackComparison, value: &str, cpus: &CpuSet) -> Option<String> {
    match compare {
        ReadbackComparison::List => Some(CpuSet::parse_list(value).ok()?.minus(cpus).to_string()),
        // Compared as a set, so its width does not matter.
        ReadbackComparison::Mask => Some(CpuSet::parse_mask(value).ok()?.minus(cpus).to_mask(1)),
        _ => None,
    }
}

fn texts<'a>(outcomes: BTreeMap<&'a str, &'a ChangeOutcome>) -> impl Iterator<Item = (String, String)> + use<'a> {
    outcomes
        .into_iter()
        .map(|(id, outcome)| (id.to_owned(), outcome.text()))
}

/// Changes that the kernel refused or altered when the layer was applied; they were reported then. A change refused
/// only at a later repair is not included, because it was active once. One accepted later is no longer refused.
fn refused<'a>(layer: &ApplyLayer<'a>) -> BTreeMap<&'a str, &'a ChangeOutcome> {
    let mut refused = BTreeMap::new();
    for (seq, change, outcome) in outcomes(layer) {
        match (is_refusal(outcome), seq <= layer.end) {
            (true, true) => drop(refused.insert(change, outcome)),
            (true, false) => {}
            (false, _) => drop(refused.remove(change)),
        }
    }
    refused
}

/// Changes that were refused at their last repair, but not when the layer was applied.
fn unrepaired<'a>(layer: &ApplyLayer<'a>) -> BTreeMap<&'a str, &'a ChangeOutcome> {
    let at_first = refused(layer);
    let mut last = BTreeMap::new();
    for (seq, change, outcome) in outcomes(layer) {
        match is_refusal(outcome) && seq > layer.end {
            true => drop(last.insert(change, outcome)),
            false => drop(last.remove(change)),
        }
    }
    last.retain(|change, _| !at_first.contains_key(change));
    last
}

fn is_refusal(outcome: &ChangeOutcome) -> bool {
    matches!(outcome, ChangeOutcome::Refused(_) | ChangeOutcome::Otherwise(_))
}

/// The outcomes of a layer's changes in order, each with its position in the journal. Those after the layer's end
/// belong to repairs.
fn outcomes<'a>(layer: &ApplyLayer<'a>) -> Vec<(u64, &'a str, &'a ChangeOutcome)> {
    let started: BTreeMap<u64, &str> = layer
        .records
        .iter()
        .filter_map(|record| match &record.event {
            JournalEvent::Will { change, .. } => Some((record.seq, change.as_str())),
            _ => None,
        })
        .into_map();
    let answers = layer.records.iter().filter_map(|record| match &record.event {
        JournalEvent::Did { of, outcome, .. } => Some((record.seq, *started.get(of)?, outcome)),
        _ => None,
    });
    answers.collect()
}
