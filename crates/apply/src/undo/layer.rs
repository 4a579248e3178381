//! Taking back one layer while others may stay.

use super::offline::{self, Returned};
use super::shared::{SharedFile, Touch};
use super::step::{Step, restore_shared, take_back};
use super::{Force, Undone, cycle, say, sets, unban, verify, waiting, workers};
use crate::home::Map;
use crate::journal::Journal;
use crate::layers::{Layer, is_in, isolated, layers};
use crate::masks::{Scope, Share, Wishes};
use crate::record::{Before, Crowd, Drifted, Event, Outcome, Record};
use crate::{ApplyError, System};
use machine::{CpuSet, Hierarchy, Machine, Version};
use plan::{Action, Change, Compare};
use std::collections::{BTreeMap, BTreeSet};

/// Takes back the layer whose `begin` has this number.
pub(super) fn take_layer(
    system: &dyn System,
    journal: &mut Journal,
    seq: u64,
    force: Force,
    why: &str,
    undone: &mut Undone,
) -> Result<(), ApplyError> {
    let records = journal.records().to_vec();
    let all = layers(&records);
    let Some(layer) = all.iter().find(|layer| layer.seq == seq) else {
        return Ok(());
    };
    let others: Vec<&Layer> = all
        .iter()
        .filter(|other| other.is_live() && other.seq != seq)
        .collect();
    // What partitions share is no matter of what somebody did by hand.
    let stay: Vec<&Layer> = others
        .iter()
        .copied()
        .filter(|other| other.is_partition())
        .collect();
    cycle::finish(system, journal, layer, undone);
    let machine = Machine::read(system.root());
    let hierarchy = machine.cgroups.cpuset.as_ref();
    let version = hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version);
    let mount = hierarchy
        .map(|hierarchy| hierarchy.mount.clone())
        .unwrap_or_default();
    let live: Vec<&Layer> = all.iter().filter(|other| other.is_live()).collect();
    offline::settle(system, hierarchy, &machine.topology.online, &live);
    let mut scope = scope(layer, &stay, &machine, hierarchy);
    if layer.is_partition() {
        // Nor are tasks that somebody has put into a set by hand since.
        let by_hand = others.iter().filter(|other| !other.is_partition());
        let sets = by_hand.flat_map(|other| sets::made(other, |_| true));
        let below = |path: String| path.strip_prefix(mount.as_str()).map(str::to_owned);
        scope.stay.extend(sets.filter_map(below));
    }
    let sets = sets::ours(system, &all, layer, hierarchy);

    let of_layer = concerning(&records, layer, &mount);
    let (newcomers, set_masks) = sets::newcomers(system, &sets, version, &of_layer)?;
    let mut wishes = Wishes::of(system, &of_layer, &scope, &newcomers, &set_masks);
    let begin = Event::UndoBegin {
        why: why.to_owned(),
        layer: Some(seq),
        masks: wishes.masks(),
        drifted: wishes.drifted.clone(),
        online: Some(machine.topology.online.clone()),
    };
    say(journal, undone, begin);
    let hearth = hearth(hierarchy, &stay);
    let spinners: Vec<String> = sets
        .iter()
        .filter(|set| !is_housekeeping(set, &all, hierarchy))
        .cloned()
        .collect();
    sets::demote_spinners(system, journal, &spinners, version, undone)?;
    if force == Force::Restore {
        wishes.insist();
    } else {
        undone.drift.extend(wishes.drifted.iter().map(drifted_text));
    }

    let map = Map {
        system,
        mount: &mount,
        version,
        sets: &sets,
        hearth: &hearth,
        stay: &scope.stay,
        wishes: &wishes,
    };
    // A controller that several need is handed down until the last of them is gone.
    let by_hand = all.iter().any(|other| !other.is_partition());
    // What is this partition's own goes first: a set that grows may not yet overlap with it.
    for (record, change, before) in wills(layer).rev() {
        if !layer.owns(change, hierarchy) || (by_hand && is_word(change)) {
            continue;
        }
        let step = Step {
            layer,
            record,
            change,
            before,
            force,
        };
        if let Some(entry) = take_back(&map, &step, undone)? {
            tell(journal, undone, entry);
        }
    }
    let shared = if layer.is_partition() {
        shared(&all, hierarchy)
    } else {
        Vec::new()
    };
    for shared in shared.into_iter().rev() {
        if by_hand && shared.first().is_some_and(|at| is_word(at.change)) {
            continue;
        }
        if let Some(entry) = take_shared(&map, &shared, &stay, &scope, force, undone)? {
            tell(journal, undone, entry);
        }
    }
    if by_hand && others.is_empty() {
        for entry in take_words(&map, &all, force, undone)? {
            tell(journal, undone, entry);
        }
    }
    if version == Version::V2 && layer.is_partition() {
        waiting::bring_home(&map, &records, undone)?;
    }
    undone.failed.extend(wishes.fulfil(system));
    if let Some(returned) = Returned::since(&records, seq, &machine.topology.online) {
        let known = wishes.keys();
        undone
            .failed
            .extend(returned.widen(system, &isolated(&stay), &known));
    }
    for (record, change, before) in wills(layer).rev() {
        let step = Step {
            layer,
            record,
            change,
            before,
            force,
        };
        if let Some(entry) = unban::take_back(system, &all, &step, undone) {
            tell(journal, undone, entry);
        }
    }
    let note = workers::note(&machine).filter(|note| layer.is_partition() && !undone.notes.contains(note));
    undone.notes.extend(note);
    if let Some(files) = verify::files_before(&all, layer, &others) {
        verify::verify(system, files, undone);
        undone.notes.extend(sets::came(system, files, &layer.intent.cpus));
    }
    unban::tell_placed(undone);
    Ok(())
}

/// The records that say what tasks get back. What was done by hand gives back what it found, step by step; with
/// partitions each task gets back what it had before the first of them.
fn concerning(records: &[Record], layer: &Layer, mount: &str) -> Vec<Record> {
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
            // The list of a set is a matter of the tasks in it; the pins of all others were noted beside.
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

/// Whether it hands a controller down to the cgroups below.
fn is_word(change: &Change) -> bool {
    matches!(
        change.action,
        Action::Write {
            compare: Compare::Word,
            undo: plan::Undo::Restore,
            ..
        }
    )
}

/// Controllers that layers handed down, taken back when none of them is left; those of cgroups that are gone went
/// with them.
fn take_words(
    map: &Map,
    all: &[Layer],
    force: Force,
    undone: &mut Undone,
) -> Result<Vec<crate::Entry>, ApplyError> {
    let mut entries = Vec::new();
    for layer in all.iter().rev() {
        for (record, change, before) in wills(layer).rev().filter(|(_, change, _)| is_word(change)) {
            let is_there = match &change.action {
                Action::Write { path, .. } => map.system.root().kind(path)?.is_some(),
                _ => false,
            };
            let step = Step {
                layer,
                record,
                change,
                before,
                force,
            };
            if is_there {
                entries.extend(take_back(map, &step, undone)?);
            }
        }
    }
    Ok(entries)
}

fn tell(journal: &mut Journal, undone: &mut Undone, entry: crate::Entry) {
    let event = Event::Undid {
        change: entry.change.clone(),
        outcome: entry.outcome.clone(),
    };
    say(journal, undone, event);
    undone.entries.push(entry);
}

fn scope(layer: &Layer, stay: &[&Layer], machine: &Machine, hierarchy: Option<&Hierarchy>) -> Scope {
    let online = &machine.topology.online;
    let share = |isolated: CpuSet| Share {
        housekeeping: online.minus(&isolated),
        isolated,
    };
    let without = isolated(stay);
    let cgroup = |other: &&Layer| other.cgroup(hierarchy?);
    Scope {
        layer: layer.seq,
        with: share(without.or(&layer.intent.cpus)),
        without: share(without),
        stay: stay.iter().filter_map(cgroup).collect(),
        version: hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version),
    }
}

/// Cgroup where tasks of the root are at home while these layers stay, which share the set for everything else.
fn hearth(hierarchy: Option<&Hierarchy>, stay: &[&Layer]) -> String {
    let set = hierarchy.zip(stay.first()).and_then(|(hierarchy, layer)| {
        let path = layer.intent.housekeeping_path(hierarchy)?;
        path.strip_prefix(hierarchy.mount.as_str()).map(str::to_owned)
    });
    set.unwrap_or_else(|| "/".to_owned())
}

fn is_housekeeping(set: &str, all: &[Layer], hierarchy: Option<&Hierarchy>) -> bool {
    let is_of = |layer: &Layer| layer.intent.housekeeping_path(hierarchy?);
    all.iter().any(|layer| is_of(layer).as_deref() == Some(set))
}

/// A layer's `will` records with their changes.
fn wills<'l, 'r>(
    layer: &'l Layer<'r>,
) -> impl DoubleEndedIterator<Item = (&'r Record, &'r Change, &'r Before)> + use<'l, 'r> {
    let changes: BTreeMap<&str, &'r Change> = layer
        .changes
        .iter()
        .map(|change| (change.id.as_str(), change))
        .collect();
    layer
        .records
        .iter()
        .filter_map(move |record| match &record.event {
            Event::Will { change, before } => Some((*record, *changes.get(change.as_str())?, before)),
            _ => None,
        })
}

/// What shared files should hold while these layers are in force, by path.
pub(crate) fn shared_now(
    all: &[Layer],
    live: &[&Layer],
    share: &Share,
    hierarchy: Option<&Hierarchy>,
) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for group in shared(all, hierarchy) {
        let mut touches = group
            .iter()
            .filter_map(|at| Touch::of(at.layer, at.record, at.change));
        let Some(mut file) = touches.next().and_then(SharedFile::new) else {
            continue;
        };
        file.touches.extend(touches);
        if let Some(value) = file.wanted(live, share) {
            values.insert(file.path.to_owned(), value);
        }
    }
    values
}

/// One `will` about something that several layers share.
struct At<'r> {
    layer: &'r Layer<'r>,
    record: &'r Record,
    change: &'r Change,
    before: &'r Before,
}

/// What layers share, by its target, in the order in which it was first touched.
fn shared<'r>(all: &'r [Layer<'r>], hierarchy: Option<&Hierarchy>) -> Vec<Vec<At<'r>>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<At>> = Vec::new();
    for layer in all {
        for (record, change, before) in wills(layer) {
            // What was refused is as it was.
            let refused = matches!(layer.outcome(record.seq), Some(Outcome::Refused(_)));
            if refused || layer.owns(change, hierarchy) {
                continue;
            }
            let place = *places.entry(change.target.as_str()).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(place) {
                group.push(At {
                    layer,
                    record,
                    change,
                    before,
                });
            }
        }
    }
    groups
}

fn take_shared(
    map: &Map,
    group: &[At],
    stay: &[&Layer],
    scope: &Scope,
    force: Force,
    undone: &mut Undone,
) -> Result<Option<crate::Entry>, ApplyError> {
    let Some(first) = group.first() else {
        return Ok(None);
    };
    let step = Step {
        layer: first.layer,
        record: first.record,
        change: first.change,
        before: first.before,
        force,
    };
    match &first.change.action {
        Action::Write { .. } => {
            let mut touches = group
                .iter()
                .filter_map(|at| Touch::of(at.layer, at.record, at.change));
            let Some(mut file) = touches.next().and_then(SharedFile::new) else {
                return Ok(None);
            };
            file.touches.extend(touches);
            if file.goes_with_set && stay.is_empty() {
                return Ok(None);
            }
            let now = map
                .system
                .root()
                .value(file.path)
                .ok()
                .flatten()
                .unwrap_or_default();
            if file.is_as_before(scope.layer, &now) {
                return Ok(None);
            }
            // Files of the others change only where they fell back to the housekeeping CPUs, which are more now.
            let touched = group.iter().any(|at| at.layer.seq == scope.layer);
            if !touched && !stay.is_empty() && !file.is_share(&now, &scope.with) {
                return Ok(None);
            }
            let wanted = file.wanted(stay, &scope.without);
            Ok(wanted.map(|wanted| {
                let ours = file.ours(&scope.with);
                restore_shared(map.system, &step, &file, &wanted, &ours, undone)
            }))
        }
        // Given away as long as a partition that stays asked for it. Whose it was, the first knows; who gave it last
        // is who says what is ours.
        Action::GiveFile { .. } => {
            let asked = |layer: &&Layer| {
                layer
                    .changes
                    .iter()
                    .any(|change| change.target == first.change.target)
            };
            let last = group.last().unwrap_or(first);
            match stay.iter().any(asked) {
                true => Ok(None),
                false => take_back(
                    map,
                    &Step {
                        layer: last.layer,
                        record: last.record,
                        change: last.change,
                        before: first.before,
                        force,
                    },
                    undone,
                ),
            }
        }
        // The sets of all, and the tasks that they were emptied of, stay with the last partition.
        _ if !stay.is_empty() => Ok(None),
        Action::MoveTasks { .. } => {
            let mut seen = BTreeSet::new();
            let mut tasks = Vec::new();
            let mut crowd: Option<Crowd> = None;
            for at in group {
                if let Before::Tasks {
                    tasks: batch,
                    crowd: more,
                } = at.before
                {
                    tasks.extend(batch.iter().filter(|task| seen.insert(task.key)).cloned());
                    match (&mut crowd, more) {
                        (Some(crowd), Some(more)) => crowd.tids.extend(&more.tids),
                        (None, more) => crowd.clone_from(more),
                        (Some(_), None) => {}
                    }
                }
            }
            take_back(
                map,
                &Step {
                    before: &Before::Tasks { tasks, crowd },
                    ..step
                },
                undone,
            )
        }
        _ => take_back(map, &step, undone),
    }
}

fn drifted_text(task: &Drifted) -> String {
    let Drifted {
        key,
        comm,
        now,
        before,
    } = task;
    format!(
        "task {} ({comm}): somebody set its mask to {now} since; before it was {before}",
        key.tid
    )
}
