//! What stands of the partitions in force: what was applied and holds no more, and what the kernel refused then.

use crate::journal::Journal;
use crate::layers::{Layer, isolated, layers};
use crate::masks::Share;
use crate::record::{After, Event, Outcome, Record};
use crate::undo::{irq_of, shared_now};
use crate::{System, bans};
use machine::{CpuSet, Machine, irqbalance};
use plan::{Action, Compare, Finding, Intent};
use std::collections::{BTreeMap, BTreeSet};

/// A partition in force, and what the journal tells of it.
#[derive(Clone, Debug)]
pub struct Standing {
    /// What was wanted.
    pub intent: Intent,
    /// What was applied and does not hold any more.
    pub drift: Vec<Finding>,
    /// Identifiers of the changes that were made.
    pub applied: BTreeSet<String>,
    /// Changes that the kernel refused when the partition was applied, or made something else of, with how it did, and that
    /// it has not taken since: that was said when it happened.
    pub refused: BTreeMap<String, String>,
    /// Other changes that the kernel refused when they were last mended, with how it did: what it took once may be taken
    /// again.
    pub unmended: BTreeMap<String, String>,
}

/// Every partition in force, with what was applied and does not hold any more. Nothing is written.
#[must_use]
pub fn standing(system: &dyn System, journal: &Journal, machine: &Machine) -> Vec<Standing> {
    let layers = journal.layers();
    let live = layers
        .iter()
        .filter(|layer| layer.is_live() && layer.is_partition());
    live.map(|layer| Standing {
        intent: layer.intent.clone(),
        drift: drifted(system, layer, journal.records(), machine),
        applied: layer.changes.iter().map(|change| change.id.clone()).collect(),
        refused: texts(refused(layer)).chain(fallback(layer)).collect(),
        unmended: texts(unmended(layer)).collect(),
    })
    .collect()
}

/// Files of a layer that no longer hold what they should, with all partitions that are in force.
pub(crate) fn drifted(
    system: &dyn System,
    layer: &Layer,
    records: &[Record],
    machine: &Machine,
) -> Vec<Finding> {
    let all = layers(records);
    let live: Vec<&Layer> = all.iter().filter(|layer| layer.is_live()).collect();
    let share = isolated(&live);
    let share = Share {
        housekeeping: machine.topology.online.minus(&share),
        isolated: share,
    };
    let shared = shared_now(&all, &live, &share, machine.cgroups.cpuset.as_ref());
    let refused = refused(layer);
    // irqbalance places interrupts as it likes on the CPUs that are left to it, except those that it leaves alone.
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
            let now = system.root().value(path).ok().flatten()?;
            // A later partition narrows what they share, unless it does not take the knob at all; and the kernel may
            // have narrowed it before either of them could.
            let narrowed = without(*compare, value, &share.isolated);
            let expected = shared.get(path).unwrap_or(value);
            let good = [Some(expected), Some(value), narrowed.as_ref()];
            let holds = good.into_iter().flatten().any(|good| compare.same(&now, good))
                || (places(path) && is_off(&now, &share.isolated));
            let value = expected;
            (!holds).then(|| {
                let message = format!("{path} reads `{now}` now, and `{value}` was applied");
                Finding::new(plan::Level::Warning, "drift", path, message)
                    .fix("find out who changed it; `quietcore undo` and `quietcore apply` set it again")
            })
        })
        .collect()
}

/// A partition for which the kernel knew only the second word.
fn fallback(layer: &Layer) -> Option<(String, String)> {
    let (change, first) = layer.changes.iter().find_map(|change| match &change.action {
        Action::MakePartition { words, .. } => Some((change, words.first()?)),
        _ => None,
    })?;
    let will = layer.records.iter().find_map(|record| match &record.event {
        Event::Will { change: id, .. } if *id == change.id => Some(record.seq),
        _ => None,
    })?;
    let made = layer.records.iter().find_map(|record| match &record.event {
        Event::Did {
            of,
            after: After::Value { value, .. },
            ..
        } if *of == will => value.as_ref(),
        _ => None,
    })?;
    (made != first).then(|| (change.id.clone(), format!("it made `{made}` of it")))
}

/// Whether the list of an interrupt has none of these CPUs.
fn is_off(list: &str, isolated: &CpuSet) -> bool {
    CpuSet::parse_list(list).is_ok_and(|list| !list.is_empty() && !list.intersects(isolated))
}

/// A set of CPUs less some of them; `None` for a value that is none.
fn without(compare: Compare, value: &str, cpus: &CpuSet) -> Option<String> {
    match compare {
        Compare::List => Some(CpuSet::parse_list(value).ok()?.minus(cpus).to_string()),
        // Compared as a set, so its width does not matter.
        Compare::Mask => Some(CpuSet::parse_mask(value).ok()?.minus(cpus).to_mask(1)),
        _ => None,
    }
}

fn texts<'a>(outcomes: BTreeMap<&'a str, &'a Outcome>) -> impl Iterator<Item = (String, String)> + use<'a> {
    outcomes
        .into_iter()
        .map(|(id, outcome)| (id.to_owned(), outcome.text()))
}

/// Changes that the kernel refused when the layer was applied, or made something else of: that was said when it happened.
/// What it refuses only later, when it is mended, was in force once and is missed; what it takes later is refused no more.
fn refused<'a>(layer: &Layer<'a>) -> BTreeMap<&'a str, &'a Outcome> {
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

/// Changes that were refused when they were last mended, and not when the layer was applied.
fn unmended<'a>(layer: &Layer<'a>) -> BTreeMap<&'a str, &'a Outcome> {
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

fn is_refusal(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused(_) | Outcome::Otherwise(_))
}

/// The answers to a layer's changes in order, each with its place in the journal; those after the layer's end are of
/// mending it.
fn outcomes<'a>(layer: &Layer<'a>) -> Vec<(u64, &'a str, &'a Outcome)> {
    let begun: BTreeMap<u64, &str> = layer
        .records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Will { change, .. } => Some((record.seq, change.as_str())),
            _ => None,
        })
        .collect();
    let answers = layer.records.iter().filter_map(|record| match &record.event {
        Event::Did { of, outcome, .. } => Some((record.seq, *begun.get(of)?, outcome)),
        _ => None,
    });
    answers.collect()
}
