//! Undoes one layer while others may stay: what has to be decided first, and the order of the steps.

use super::change::undo_change;
use super::offline::{self, ReturnedCpus};
use super::sharing::Remaining;
use super::step::{UndoStep, started_writes};
use super::{
    Force, UndoOutcome, UndoRequest, by_hand, cycle, record_step, sets, sharing, unban, verify, waiting, workers,
};
use crate::journal::Journal;
use crate::layers::{ApplyLayer, isolated, layers};
use crate::masks::{CpuDivision, IntendedMasks, PartitionEnd, UndoScope};
use crate::original_cgroup::CgroupMap;
use crate::record::{ChangeOutcome, DriftedTask, JournalEvent, JournalRecord};
use crate::{ApplyError, System};
use machine::{CpuSet, Hierarchy, Machine, Version};
use plan::Action;

/// Undoes the layer whose `begin` has this number.
pub(super) fn undo_layer(
    system: &dyn System,
    journal: &mut Journal,
    seq: u64,
    request: UndoRequest,
    undone: &mut UndoOutcome,
) -> Result<(), ApplyError> {
    let records = journal.records().to_vec();
    let all = layers(&records);
    let Some(layer) = all.iter().find(|layer| layer.seq == seq) else {
        return Ok(());
    };
    let live: Vec<&ApplyLayer> = all.iter().filter(|other| other.is_live()).collect();
    let others: Vec<&ApplyLayer> = live.iter().copied().filter(|other| other.seq != seq).collect();
    cycle::finish(system, journal, layer, undone);
    let machine = Machine::read(system.root());
    let hierarchy = machine.cgroups.cpuset.as_ref();
    offline::settle(system, hierarchy, &machine.topology.online, &live);
    offline::refill(system, &records, &live);
    let layer = LayerUndo {
        system,
        records: &records,
        all: &all,
        layer,
        others: &others,
        stay: partitions(&others),
        machine: &machine,
        hierarchy,
        scope: scope(system, layer, &others, (&machine, hierarchy)),
        sets: sets::own_directories(system, &all, layer, hierarchy),
        force: request.force,
    };
    let wishes = layer.begin(journal, request.why, undone)?;
    let map = CgroupMap {
        system,
        mount: layer.mount(),
        version: layer.version(),
        sets: &layer.sets,
        default_cgroup: &default_cgroup(hierarchy, &layer.stay),
        stay: &layer.scope.stay,
        intended_masks: &wishes,
    };
    let steps: Vec<UndoStep> = started_writes(layer.layer)
        .map(|will| will.step(request.force))
        .collect();
    layer.undo_changes(&map, &steps, journal, undone)?;
    layer.restore_tasks(&map, undone)?;
    for step in steps.iter().rev() {
        let entry = unban::undo_ban(system, &records, step, undone);
        record(journal, undone, entry);
    }
    layer.verify(undone);
    unban::report_placed_interrupts(undone);
    Ok(())
}

/// A layer that is undone, among the others.
struct LayerUndo<'a> {
    system: &'a dyn System,
    records: &'a [JournalRecord],
    all: &'a [ApplyLayer<'a>],
    layer: &'a ApplyLayer<'a>,
    /// The layers that stay.
    others: &'a [&'a ApplyLayer<'a>],
    /// Those of them that are partitions.
    stay: Vec<&'a ApplyLayer<'a>>,
    machine: &'a Machine,
    hierarchy: Option<&'a Hierarchy>,
    scope: UndoScope,
    /// Directories that are removed.
    sets: Vec<String>,
    force: Force,
}

impl LayerUndo<'_> {
    fn version(&self) -> Version {
        self.hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version)
    }

    fn mount(&self) -> &str {
        self.hierarchy.map_or("", |hierarchy| hierarchy.mount.as_str())
    }

    /// Decides and records the masks that the tasks get back, and demotes the tasks that would block the undo.
    fn begin(&self, journal: &mut Journal, why: &str, undone: &mut UndoOutcome) -> Result<IntendedMasks, ApplyError> {
        let (system, version) = (self.system, self.version());
        let of_layer = by_hand::concerning(self.records, self.layer, self.mount());
        let (newcomers, set_masks) = sets::undecided_tasks(system, &self.sets, version, &of_layer)?;
        let mut wishes = IntendedMasks::of(system, &of_layer, &self.scope, &newcomers, &set_masks);
        let begin = JournalEvent::UndoBegin {
            why: why.to_owned(),
            layer: Some(self.layer.seq),
            masks: wishes.masks(),
            drifted: wishes.drifted.clone(),
            online: Some(self.machine.topology.online.clone()),
        };
        record_step(journal, undone, begin);
        let spinners = self.sets.iter().filter(|set| !self.is_housekeeping(set));
        let spinners: Vec<String> = spinners.cloned().collect();
        sets::demote_spinners(system, journal, &spinners, version, undone)?;
        if self.force == Force::Restore {
            wishes.insist();
        } else {
            undone.tasks.extend(wishes.drifted.iter().map(drifted_text));
        }
        Ok(wishes)
    }

    fn is_housekeeping(&self, set: &str) -> bool {
        let is_of = |layer: &ApplyLayer| layer.intent.housekeeping_path(self.hierarchy?);
        self.all.iter().any(|layer| is_of(layer).as_deref() == Some(set))
    }

    /// Undoes the layer's own changes, then its part of the shared ones.
    fn undo_changes(
        &self,
        map: &CgroupMap,
        steps: &[UndoStep],
        journal: &mut Journal,
        undone: &mut UndoOutcome,
    ) -> Result<(), ApplyError> {
        // A controller that several layers need stays enabled until the last of them is gone.
        let has_hand = self.all.iter().any(|other| !other.is_partition());
        // The partition's own changes are undone first: a set that grows may not yet overlap with it.
        for step in steps.iter().rev() {
            if !self.layer.owns(step.change, self.hierarchy) || (has_hand && by_hand::is_word(step.change)) {
                continue;
            }
            let entry = undo_change(map, step, undone)?;
            record(journal, undone, entry);
        }
        let shared = match self.layer.is_partition() {
            true => sharing::of_layers(self.all, self.hierarchy),
            false => Vec::new(),
        };
        let remaining = Remaining {
            layer: self.layer,
            stay: &self.stay,
            hierarchy: self.hierarchy,
            scope: &self.scope,
        };
        for group in shared.into_iter().rev() {
            if has_hand && group.first().is_some_and(|will| by_hand::is_word(will.change)) {
                continue;
            }
            let entry = sharing::undo_shared(map, &group, &remaining, self.force, undone)?;
            record(journal, undone, entry);
        }
        if has_hand && self.others.is_empty() {
            for entry in by_hand::disable_controllers(map, self.all, self.force, undone)? {
                record(journal, undone, Some(entry));
            }
        }
        Ok(())
    }

    /// Sends tasks back that still wait in the partition, and restores the masks that the kernel did not.
    fn restore_tasks(&self, map: &CgroupMap, undone: &mut UndoOutcome) -> Result<(), ApplyError> {
        let (system, wishes) = (self.system, map.intended_masks);
        if map.version == Version::V2 && self.layer.is_partition() {
            waiting::return_waiting_processes(map, self.records, undone)?;
        }
        undone.failed.extend(wishes.fulfil(system));
        let online = &self.machine.topology.online;
        if let Some(returned) = ReturnedCpus::since(self.records, self.layer.seq, online) {
            let failed = returned.widen(system, &isolated(&self.stay), &wishes.keys());
            undone.failed.extend(failed);
        }
        Ok(())
    }

    /// Compares the files with their state before the layer.
    fn verify(&self, undone: &mut UndoOutcome) {
        let is_new = |note: &String| self.layer.is_partition() && !undone.notes.contains(note);
        let note = workers::note(self.machine).filter(is_new);
        undone.notes.extend(note);
        if let Some(files) = verify::files_before(self.all, self.layer, self.others) {
            let mut files = files.clone();
            // With a program that has ended, its manager disables the controllers that only that program needed.
            if self.scope.end == PartitionEnd::ByOthers
                && let Some(cgroup) = self.layer.intent.in_place.as_deref()
            {
                let dir = format!("{}{cgroup}", self.mount());
                let is_above = |path: &str| {
                    path.strip_suffix("/cgroup.subtree_control")
                        .is_some_and(|above| machine::is_within(&dir, above))
                };
                files.retain(|path, _| !is_above(path));
            }
            verify::verify(self.system, &files, self.force, undone);
            let came = sets::new_child_sets(self.system, &files, &self.layer.intent.cpus);
            undone.notes.extend(came);
        }
    }
}

/// Those of the layers that are partitions. Manual changes do not affect what partitions share.
fn partitions<'l, 'r>(layers: &[&'l ApplyLayer<'r>]) -> Vec<&'l ApplyLayer<'r>> {
    let layers = layers.iter().copied();
    layers.filter(|layer| layer.is_partition()).collect()
}

fn record(journal: &mut Journal, undone: &mut UndoOutcome, entry: Option<crate::ChangeEntry>) {
    let Some(entry) = entry else { return };
    let event = JournalEvent::Undid {
        change: entry.change.clone(),
        outcome: entry.outcome.clone(),
    };
    record_step(journal, undone, event);
    undone.entries.push(entry);
}

fn scope(
    system: &dyn System,
    layer: &ApplyLayer,
    others: &[&ApplyLayer],
    (machine, hierarchy): (&Machine, Option<&Hierarchy>),
) -> UndoScope {
    let stay = partitions(others);
    let online = &machine.topology.online;
    let share = |isolated: CpuSet| CpuDivision {
        housekeeping: online.minus(&isolated),
        isolated,
    };
    let without = isolated(&stay);
    let cgroup = |other: &&ApplyLayer| other.cgroup(hierarchy?);
    let mut cgroups: Vec<String> = stay.iter().filter_map(cgroup).collect();
    if layer.is_partition() {
        // Nor are tasks that were put into a set by hand since.
        let by_hand = others.iter().filter(|other| !other.is_partition());
        let sets = by_hand.flat_map(|other| sets::made(other, |_| true));
        let mount = hierarchy.map_or("", |hierarchy| hierarchy.mount.as_str());
        cgroups.extend(sets.filter_map(|path| path.strip_prefix(mount).map(str::to_owned)));
    }
    UndoScope {
        layer: layer.seq,
        with: share(without.or(&layer.intent.cpus)),
        without: share(without),
        stay: cgroups,
        version: hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version),
        end: partition_end(system, layer),
    }
}

fn partition_end(system: &dyn System, layer: &ApplyLayer) -> PartitionEnd {
    let made = started_writes(layer).find_map(|will| match &will.change.action {
        Action::MakePartition { path, .. } => Some((path, layer.outcome(will.record.seq)?)),
        _ => None,
    });
    match made {
        Some((path, ChangeOutcome::Done))
            if !matches!(system.root().readable_value(path).as_deref(), Some("isolated" | "root")) =>
        {
            PartitionEnd::ByOthers
        }
        _ => PartitionEnd::ByUndo,
    }
}

/// Home cgroup of the root's tasks while these layers stay, which share the set for everything else.
fn default_cgroup(hierarchy: Option<&Hierarchy>, stay: &[&ApplyLayer]) -> String {
    let set = hierarchy.zip(stay.first()).and_then(|(hierarchy, layer)| {
        let path = layer.intent.housekeeping_path(hierarchy)?;
        path.strip_prefix(hierarchy.mount.as_str()).map(str::to_owned)
    });
    set.unwrap_or_else(|| "/".to_owned())
}

fn drifted_text(task: &DriftedTask) -> String {
    let DriftedTask { key, comm, now, before } = task;
    format!(
        "task {} ({comm}): another program has set its affinity to {now}; it was {before}",
        key.tid
    )
}
