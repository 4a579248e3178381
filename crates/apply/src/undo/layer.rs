//! Undoes one layer while others may stay: what has to be decided first, and the order of the steps.

use super::change::take_back;
use super::offline::{self, Returned};
use super::step::{Step, wills};
use super::{Force, Undone, by_hand, cycle, say, sets, sharing, unban, verify, waiting, workers};
use crate::home::Map;
use crate::journal::Journal;
use crate::layers::{Layer, isolated, layers};
use crate::masks::{Scope, Share, Wishes};
use crate::record::{Drifted, Event};
use crate::{ApplyError, System};
use machine::{CpuSet, Hierarchy, Machine, Version};

/// Undoes the layer whose `begin` has this number.
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
    let live: Vec<&Layer> = all.iter().filter(|other| other.is_live()).collect();
    let others: Vec<&Layer> = live.iter().copied().filter(|other| other.seq != seq).collect();
    let stay = partitions(&others);
    cycle::finish(system, journal, layer, undone);
    let machine = Machine::read(system.root());
    let hierarchy = machine.cgroups.cpuset.as_ref();
    let version = hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version);
    let mount = hierarchy.map_or_else(String::new, |hierarchy| hierarchy.mount.clone());
    offline::settle(system, hierarchy, &machine.topology.online, &live);
    offline::refill(system, &records, &live);
    let scope = scope(layer, &others, &machine, hierarchy);
    let sets = sets::ours(system, &all, layer, hierarchy);

    let of_layer = by_hand::concerning(&records, layer, &mount);
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
    let spinners = sets.iter().filter(|set| !is_housekeeping(set, &all, hierarchy));
    let spinners: Vec<String> = spinners.cloned().collect();
    sets::demote_spinners(system, journal, &spinners, version, undone)?;
    if force == Force::Restore {
        wishes.insist();
    } else {
        undone.tasks.extend(wishes.drifted.iter().map(drifted_text));
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
    let steps: Vec<Step> = wills(layer).map(|will| will.step(force)).collect();
    let changes = Changes {
        map: &map,
        layer,
        all: &all,
        others: &others,
        scope: &scope,
        force,
    };
    changes.undo(&steps, hierarchy, journal, undone)?;
    if version == Version::V2 && layer.is_partition() {
        waiting::bring_home(&map, &records, undone)?;
    }
    undone.failed.extend(wishes.fulfil(system));
    if let Some(returned) = Returned::since(&records, seq, &machine.topology.online) {
        let known = wishes.keys();
        let failed = returned.widen(system, &isolated(&stay), &known);
        undone.failed.extend(failed);
    }
    for step in steps.iter().rev() {
        let entry = unban::take_back(system, &records, step, undone);
        record(journal, undone, entry);
    }
    let note = workers::note(&machine).filter(|note| layer.is_partition() && !undone.notes.contains(note));
    undone.notes.extend(note);
    if let Some(files) = verify::files_before(&all, layer, &others) {
        verify::verify(system, files, force, undone);
        undone.notes.extend(sets::came(system, files, &layer.intent.cpus));
    }
    unban::tell_placed(undone);
    Ok(())
}

/// The changes of a layer, among those of the others.
struct Changes<'a> {
    map: &'a Map<'a>,
    layer: &'a Layer<'a>,
    all: &'a [Layer<'a>],
    /// The layers that stay.
    others: &'a [&'a Layer<'a>],
    scope: &'a Scope,
    force: Force,
}

impl Changes<'_> {
    /// Undoes the layer's own changes, then its part of the shared ones.
    fn undo(
        &self,
        steps: &[Step],
        hierarchy: Option<&Hierarchy>,
        journal: &mut Journal,
        undone: &mut Undone,
    ) -> Result<(), ApplyError> {
        // A controller that several layers need stays enabled until the last of them is gone.
        let has_hand = self.all.iter().any(|other| !other.is_partition());
        // The partition's own changes are undone first: a set that grows may not yet overlap with it.
        for step in steps.iter().rev() {
            if !self.layer.owns(step.change, hierarchy) || (has_hand && by_hand::is_word(step.change)) {
                continue;
            }
            let entry = take_back(self.map, step, undone)?;
            record(journal, undone, entry);
        }
        let shared = match self.layer.is_partition() {
            true => sharing::of_layers(self.all, hierarchy),
            false => Vec::new(),
        };
        let stay = partitions(self.others);
        for group in shared.into_iter().rev() {
            if has_hand && group.first().is_some_and(|will| by_hand::is_word(will.change)) {
                continue;
            }
            let (scope, force) = (self.scope, self.force);
            let entry = sharing::take_shared(self.map, &group, &stay, hierarchy, scope, force, undone)?;
            record(journal, undone, entry);
        }
        if has_hand && self.others.is_empty() {
            for entry in by_hand::take_words(self.map, self.all, self.force, undone)? {
                record(journal, undone, Some(entry));
            }
        }
        Ok(())
    }
}

/// Those of the layers that are partitions. Manual changes do not affect what partitions share.
fn partitions<'l, 'r>(layers: &[&'l Layer<'r>]) -> Vec<&'l Layer<'r>> {
    let layers = layers.iter().copied();
    layers.filter(|layer| layer.is_partition()).collect()
}

fn record(journal: &mut Journal, undone: &mut Undone, entry: Option<crate::Entry>) {
    let Some(entry) = entry else { return };
    let event = Event::Undid {
        change: entry.change.clone(),
        outcome: entry.outcome.clone(),
    };
    say(journal, undone, event);
    undone.entries.push(entry);
}

fn scope(layer: &Layer, others: &[&Layer], machine: &Machine, hierarchy: Option<&Hierarchy>) -> Scope {
    let stay = partitions(others);
    let online = &machine.topology.online;
    let share = |isolated: CpuSet| Share {
        housekeeping: online.minus(&isolated),
        isolated,
    };
    let without = isolated(&stay);
    let cgroup = |other: &&Layer| other.cgroup(hierarchy?);
    let mut cgroups: Vec<String> = stay.iter().filter_map(cgroup).collect();
    if layer.is_partition() {
        // Nor are tasks that were put into a set by hand since.
        let by_hand = others.iter().filter(|other| !other.is_partition());
        let sets = by_hand.flat_map(|other| sets::made(other, |_| true));
        let mount = hierarchy.map_or("", |hierarchy| hierarchy.mount.as_str());
        cgroups.extend(sets.filter_map(|path| path.strip_prefix(mount).map(str::to_owned)));
    }
    Scope {
        layer: layer.seq,
        with: share(without.or(&layer.intent.cpus)),
        without: share(without),
        stay: cgroups,
        version: hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version),
    }
}

/// Home cgroup of the root's tasks while these layers stay, which share the set for everything else.
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

fn drifted_text(task: &Drifted) -> String {
    let Drifted {
        key,
        comm,
        now,
        before,
    } = task;
    format!(
        "task {} ({comm}): another program has set its affinity to {now} since; it was {before}",
        key.tid
    )
}
