//! Moves processes that waited in the domain of a threaded partition (v2) back to their slices, once none of their
//! threads is in a partition.
//!
//! Threads inside return their processes when the partition is emptied. But these threads may have ended before, and
//! the children of a waiting process are where it waited.

use super::UndoOutcome;
use crate::ApplyError;
use crate::original_cgroup::CgroupMap;
use crate::record::{HoldingCgroup, JournalEvent, JournalRecord, finished_writes};
use crate::threads::is_threaded;
use machine::{OrderBy, Task, TaskKey};
use std::collections::{BTreeMap, BTreeSet};

/// Moves every process that still waits to its original cgroup. A refusal is a failure of the undo.
///
/// # Errors
/// The error of reading the tasks.
pub(super) fn return_waiting_processes(
    map: &CgroupMap,
    records: &[JournalRecord],
    undone: &mut UndoOutcome,
) -> Result<(), ApplyError> {
    let known = last_departures(records);
    if known.values().all(Option::is_none) {
        return Ok(());
    }
    let root = map.system.root();
    let mut tasks = machine::tasks::read(root).unwrap_or_default();
    // Parents are older than their children, and leaders than their threads.
    tasks.order_by_key(|task| (task.key.start_time, task.key.tid));
    let mut waiting: BTreeMap<u32, &HoldingCgroup> = BTreeMap::new();
    for task in &tasks {
        if let Some(waits) = waits(map, task, &known, &waiting) {
            waiting.insert(task.key.tid, waits);
        }
    }
    let mut divided = BTreeSet::new();
    for task in &tasks {
        if !waiting.contains_key(&task.key.tid) || divided.contains(&task.pid) {
            continue;
        }
        if map.is_divided(task.key.tid) {
            divided.insert(task.pid);
            continue;
        }
        let here = machine::tasks::cgroup_of(root, task.key.tid, map.version);
        let waits_still = waiting.get(&task.key.tid).map(|waits| &waits.cgroup) == here.as_ref();
        let is_single = map.intended_masks.original_cgroup(task.key).is_some_and(|original| {
            here.as_deref() != Some(original) && is_threaded(root, &format!("{}{original}", map.mount))
        });
        if !waits_still && !is_single {
            continue;
        }
        if let Err(errno) = map.return_task(task.key.tid) {
            undone.failed.push(format!(
                "task {} ({}) cannot return to its cgroup: {}",
                task.key.tid,
                task.comm,
                std::io::Error::from_raw_os_error(errno)
            ));
        }
    }
    Ok(())
}

/// Where the last departure of each task left it to wait; `None` for those that went elsewhere. A departure without a
/// recorded end was interrupted, and left its task where it was.
fn last_departures(records: &[JournalRecord]) -> BTreeMap<TaskKey, Option<&HoldingCgroup>> {
    let ended = finished_writes(records);
    let mut known: BTreeMap<TaskKey, Option<&HoldingCgroup>> = BTreeMap::new();
    for record in records {
        let JournalEvent::Moving { tasks } = &record.event else {
            continue;
        };
        for departure in tasks {
            let waits = known.entry(departure.state.key).or_default();
            if departure.waits.is_some() || ended.contains(&record.seq) {
                *waits = departure.waits.as_ref();
            }
        }
    }
    known
}

/// Where a task waits: according to the journal, or because a waiting task forked it there.
fn waits<'r>(
    map: &CgroupMap,
    task: &Task,
    known: &BTreeMap<TaskKey, Option<&'r HoldingCgroup>>,
    waiting: &BTreeMap<u32, &'r HoldingCgroup>,
) -> Option<&'r HoldingCgroup> {
    // A task that has just returned with its threads still shows where its children are.
    if let Some(waits) = known.get(&task.key) {
        return *waits;
    }
    let parent = if task.pid == task.key.tid { task.ppid } else { task.pid };
    let waits = waiting.get(&parent).copied()?;
    let is_newborn = task.key.start_time >= waits.since;
    let now = machine::tasks::cgroup_of(map.system.root(), task.key.tid, map.version);
    (is_newborn && now.as_ref() == Some(&waits.cgroup)).then_some(waits)
}
