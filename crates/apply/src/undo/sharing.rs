//! Undoes what one layer did to a file, set or task that several layers share, while other layers stay.

use super::change::{Restoration, restore, take_back};
use super::shared::SharedFile;
use super::step::{Step, Will, wills};
use super::{Force, Undone};
use crate::ApplyError;
use crate::entry::Entry;
use crate::home::Map;
use crate::layers::Layer;
use crate::masks::{Scope, Share};
use crate::record::{Before, Crowd, Outcome};
use machine::Hierarchy;
use plan::Action;
use std::collections::{BTreeMap, BTreeSet};

/// The intended content of shared files while these layers are in force, by path.
pub(crate) fn shared_now(
    all: &[Layer],
    live: &[&Layer],
    share: &Share,
    hierarchy: Option<&Hierarchy>,
) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for group in of_layers(all, hierarchy) {
        let Some(file) = SharedFile::of(&group) else {
            continue;
        };
        if let Some(value) = file.wanted(live, share) {
            values.insert(file.path.to_owned(), value);
        }
    }
    values
}

/// What layers share, grouped by target, in the order of the first touch.
pub(super) fn of_layers<'r>(all: &'r [Layer<'r>], hierarchy: Option<&Hierarchy>) -> Vec<Vec<Will<'r>>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<Will>> = Vec::new();
    for layer in all {
        for will in wills(layer) {
            // A refused change left its target as it was.
            let refused = matches!(layer.outcome(will.record.seq), Some(Outcome::Refused(_)));
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
    pub stay: &'a [&'a Layer<'a>],
    pub hierarchy: Option<&'a Hierarchy>,
    pub scope: &'a Scope,
}

/// Undoes what this layer did to one shared target, as far as the remaining layers allow it.
///
/// # Errors
/// As for [`take_back`].
pub(super) fn take_shared(
    map: &Map,
    group: &[Will],
    remaining: &Remaining,
    force: Force,
    undone: &mut Undone,
) -> Result<Option<Entry>, ApplyError> {
    let Remaining {
        stay,
        hierarchy,
        scope,
    } = *remaining;
    let Some(first) = group.first() else {
        return Ok(None);
    };
    let stay = &*first.layer.sharers(first.change, stay, hierarchy);
    let step = first.step(force);
    match &first.change.action {
        Action::Write { .. } => Ok(restore_file(map, group, (stay, scope), &step, undone)),
        // The file stays given away as long as a remaining partition requested it. The first touch has the former
        // owner; the last one defines what counts as ours.
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
                false => {
                    let given = Step {
                        before: first.before,
                        ..last.step(force)
                    };
                    take_back(map, &given, undone)
                }
            }
        }
        // The shared sets, and the tasks that were moved out of them, stay until the last partition is removed.
        _ if !stay.is_empty() => Ok(None),
        Action::MoveTasks { .. } => {
            let before = moved_tasks(group);
            take_back(
                map,
                &Step {
                    before: &before,
                    ..step
                },
                undone,
            )
        }
        _ => take_back(map, &step, undone),
    }
}

/// All tasks that a group moved, each as it was before the first move.
fn moved_tasks(group: &[Will]) -> Before {
    let mut seen = BTreeSet::new();
    let mut tasks = Vec::new();
    let mut crowd: Option<Crowd> = None;
    for will in group {
        if let Before::Tasks {
            tasks: batch,
            crowd: more,
        } = will.before
        {
            tasks.extend(batch.iter().filter(|task| seen.insert(task.key)).cloned());
            match (&mut crowd, more) {
                (Some(crowd), Some(more)) => crowd.tids.extend(&more.tids),
                (None, more) => crowd.clone_from(more),
                (Some(_), None) => {}
            }
        }
    }
    Before::Tasks { tasks, crowd }
}

/// Writes what the remaining layers need into a shared file; `None` if nothing changes.
fn restore_file(
    map: &Map,
    group: &[Will],
    (stay, scope): (&[&Layer], &Scope),
    step: &Step,
    undone: &mut Undone,
) -> Option<Entry> {
    let file = SharedFile::of(group)?;
    if file.goes_with_set && stay.is_empty() {
        return None;
    }
    let now = map
        .system
        .root()
        .value(file.path)
        .ok()
        .flatten()
        .unwrap_or_default();
    if file.is_as_before(scope.layer, &now) {
        return None;
    }
    // Files of the others change only where they were set to the housekeeping CPUs, which are more now.
    let touched = group.iter().any(|will| will.layer.seq == scope.layer);
    if !touched && !stay.is_empty() && !file.is_share(&now, &scope.with) {
        return None;
    }
    let wanted = Restoration {
        path: file.path,
        ours: &file.ours(&scope.with),
        former: &file.wanted(stay, &scope.without)?,
        unanswered: file.is_unanswered(),
        compare: file.compare,
    };
    Some(restore(map.system, step, &wanted, undone))
}
