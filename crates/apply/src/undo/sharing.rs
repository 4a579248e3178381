//! Undoes what one layer did to a file, set or task that several layers share, while other layers stay.

use super::change::{Restoration, restore, undo_change};
use super::shared::SharedFile;
use super::step::{StartedWrite, UndoStep, started_writes};
use super::{Force, UndoOutcome};
use crate::ApplyError;
use crate::entry::ChangeEntry;
use crate::layers::{ApplyLayer, is_controller};
use crate::masks::{CpuDivision, UndoScope};
use crate::original_cgroup::CgroupMap;
use crate::record::{ChangeOutcome, StateBefore, UnpinnedTasks};
use machine::Hierarchy;
use plan::Action;
use std::collections::{BTreeMap, BTreeSet};

/// The intended content of shared files while these layers are active, by path.
pub(crate) fn shared_now(
    all: &[ApplyLayer],
    live: &[&ApplyLayer],
    share: &CpuDivision,
    hierarchy: Option<&Hierarchy>,
) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for group in of_layers(all, hierarchy) {
        let Some(file) = SharedFile::of(&group) else {
            continue;
        };
        if let Some(value) = file.intended_content(live, share) {
            values.insert(file.path.to_owned(), value);
        }
    }
    values
}

/// What layers share, grouped by target, in the order of the first touch.
pub(super) fn of_layers<'r>(all: &'r [ApplyLayer<'r>], hierarchy: Option<&Hierarchy>) -> Vec<Vec<StartedWrite<'r>>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<StartedWrite>> = Vec::new();
    for layer in all {
        for will in started_writes(layer) {
            // A refused change left its target as it was.
            let refused = matches!(layer.outcome(will.record.seq), Some(ChangeOutcome::Refused(_)));
            if refused || layer.owns(will.change, hierarchy) {
                continue;
            }
            let place = *places.entry(will.change.target.as_str()).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(place) {
                group.push(will);
            }
        }
    }
    groups
}

/// The partitions that stay when a layer is undone.
pub(super) struct Remaining<'a> {
    /// The layer that is undone.
    pub layer: &'a ApplyLayer<'a>,
    pub stay: &'a [&'a ApplyLayer<'a>],
    pub hierarchy: Option<&'a Hierarchy>,
    pub scope: &'a UndoScope,
}

/// Undoes what this layer did to one shared target, as far as the remaining layers allow it.
///
/// # Errors
/// As for [`undo_change`].
pub(super) fn undo_shared(
    map: &CgroupMap,
    group: &[StartedWrite],
    remaining: &Remaining,
    force: Force,
    undone: &mut UndoOutcome,
) -> Result<Option<ChangeEntry>, ApplyError> {
    let Remaining {
        stay, hierarchy, scope, ..
    } = *remaining;
    let Some(first) = group.first() else {
        return Ok(None);
    };
    // What only other layers enabled was disabled with the last of them, and may be of another program since.
    let needs = |layer: &ApplyLayer| layer.changes.iter().any(|own| own.target == first.change.target);
    if is_controller(first.change) && !needs(remaining.layer) {
        return Ok(None);
    }
    let stay = &*first.layer.sharing_layers(first.change, stay, hierarchy);
    let step = first.step(force);
    match &first.change.action {
        Action::Write { .. } => Ok(restore_file(map, group, (stay, scope), &step, undone)),
        // The file stays given away as long as a remaining partition requested it. The first touch has the former
        // owner; the last one defines what counts as ours.
        Action::GiveFile { .. } => {
            let has_request =
                |layer: &&ApplyLayer| layer.changes.iter().any(|change| change.target == first.change.target);
            let last = group.last().unwrap_or(first);
            match stay.iter().any(has_request) {
                true => Ok(None),
                false => {
                    let given = UndoStep {
                        before: first.before,
                        ..last.step(force)
                    };
                    undo_change(map, &given, undone)
                }
            }
        }
        // The shared sets, and the tasks that were moved out of them, stay until the last partition is removed.
        _ if !stay.is_empty() => Ok(None),
        Action::MoveTasks { .. } => {
            let before = moved_tasks(group);
            undo_change(
                map,
                &UndoStep {
                    before: &before,
                    ..step
                },
                undone,
            )
        }
        _ => undo_change(map, &step, undone),
    }
}

/// All tasks that a group moved, each as it was before the first move.
fn moved_tasks(group: &[StartedWrite]) -> StateBefore {
    let mut seen = BTreeSet::new();
    let mut tasks = Vec::new();
    let mut unpinned: Option<UnpinnedTasks> = None;
    for will in group {
        if let StateBefore::Tasks {
            tasks: batch,
            crowd: more,
        } = will.before
        {
            tasks.extend(batch.iter().filter(|task| seen.insert(task.key)).cloned());
            match (&mut unpinned, more) {
                (Some(unpinned), Some(more)) => unpinned.tids.extend(&more.tids),
                (None, more) => unpinned.clone_from(more),
                (Some(_), None) => {}
            }
        }
    }
    StateBefore::Tasks { tasks, crowd: unpinned }
}

/// Writes what the remaining layers need into a shared file; `None` if nothing changes.
fn restore_file(
    map: &CgroupMap,
    group: &[StartedWrite],
    (stay, scope): (&[&ApplyLayer], &UndoScope),
    step: &UndoStep,
    undone: &mut UndoOutcome,
) -> Option<ChangeEntry> {
    let file = SharedFile::of(group)?;
    if file.is_removed_with_set && stay.is_empty() {
        return None;
    }
    let now = map.system.root().readable_value(file.path).unwrap_or_default();
    if file.is_as_before(scope.layer, &now) {
        return None;
    }
    let touched = group.iter().any(|will| will.layer.seq == scope.layer);
    // Files of the others change only where they were set to the housekeeping CPUs, which are more now.
    if !touched && !stay.is_empty() && !file.is_share(&now, &scope.with) {
        return None;
    }
    let restoration = Restoration {
        path: file.path,
        own: &file.own_texts(&scope.with),
        former: &file.intended_content(stay, &scope.without)?,
        unanswered: file.is_unanswered(),
        compare: file.compare,
    };
    Some(restore(map.system, step, &restoration, undone))
}
