//! Finds the cgroups that we made, and the tasks in them when they are removed.

use super::{UndoOutcome, record_step};
use crate::journal::Journal;
use crate::layers::ApplyLayer;
use crate::masks::KnownMembers;
use crate::record::{ChangeOutcome, JournalEvent, JournalRecord, StateBefore};
use crate::{ApplyError, System, census};
use machine::tasks::{KTHREADD, MaskReader};
use machine::{Cgroups, CpuSet, Hierarchy, Partition, Policy, Task, Version, cgroup_owners};
use plan::{Action, Change};
use std::collections::{BTreeMap, BTreeSet};

/// Directories that are removed with a layer and still exist: its own, and the shared ones if it is the last. A
/// directory that we failed to make belongs to another program.
pub(super) fn own_directories(
    system: &dyn System,
    all: &[ApplyLayer],
    layer: &ApplyLayer,
    hierarchy: Option<&Hierarchy>,
) -> Vec<String> {
    let stay: Vec<&ApplyLayer> = all
        .iter()
        .filter(|other| other.is_live() && other.is_partition() && other.seq != layer.seq)
        .collect();
    let goes = |of: &ApplyLayer, change: &Change| match of.owns(change, hierarchy) {
        true => of.seq == layer.seq,
        false => layer.is_partition() && of.sharing_layers(change, &stay, hierarchy).is_empty(),
    };
    let mut sets: Vec<String> = Vec::new();
    for of in all {
        sets.extend(made(of, |change| goes(of, change)));
    }
    sets.sort_unstable();
    sets.dedup();
    sets.retain(|path| system.root().kind(path).ok().flatten().is_some());
    sets
}

/// Directories that a layer made.
pub(super) fn made(layer: &ApplyLayer, goes: impl Fn(&Change) -> bool) -> Vec<String> {
    let records = &layer.records;
    let refused: BTreeSet<u64> = records
        .iter()
        .filter_map(|record| match &record.event {
            JournalEvent::Did {
                of,
                outcome: ChangeOutcome::Refused(_),
                ..
            } => Some(*of),
            _ => None,
        })
        .collect();
    records
        .iter()
        .filter(|record| !refused.contains(&record.seq))
        .filter_map(|record| match &record.event {
            JournalEvent::Will {
                change,
                before: StateBefore::Absent,
            } => layer.change(change),
            _ => None,
        })
        .filter(|change| goes(change))
        .filter_map(|change| match &change.action {
            Action::MakeSet { path } => Some(path.clone()),
            _ => None,
        })
        .collect()
}

/// Demotes running real-time tasks. One that spins on the isolated CPU would starve the housekeeping CPU that it is moved
/// to, and the kernel threads that have to run before the partition can be taken apart.
pub(super) fn demote_spinners(
    system: &dyn System,
    journal: &mut Journal,
    sets: &[String],
    version: Version,
    undone: &mut UndoOutcome,
) -> Result<(), ApplyError> {
    for set in sets {
        for task in members_of(system, set, version)? {
            let realtime = matches!(task.policy, Policy::Fifo | Policy::Rr | Policy::Deadline);
            if !realtime || task.state != 'R' || task.key.tid == std::process::id() {
                continue;
            }
            let former = format!("{:?}:{}", task.policy, task.rt_priority).to_lowercase();
            let comm = task.comm.clone();
            record_step(
                journal,
                undone,
                JournalEvent::Demoted {
                    key: task.key,
                    comm: comm.clone(),
                    former: former.clone(),
                },
            );
            match system.demote(task.key.tid) {
                Ok(()) => undone.notes.push(format!(
                    "task {} ({comm}) was spinning with policy {former}; it is now SCHED_OTHER",
                    task.key.tid
                )),
                Err(error) => undone
                    .failed
                    .push(format!("task {} ({comm}) stays {former}: {error}", task.key.tid)),
            }
        }
    }
    Ok(())
}

/// The tasks now in our sets that need a decision, and the sets' own masks. Unpinned tasks are left out if they were
/// recorded as a crowd.
pub(super) fn undecided_tasks(
    system: &dyn System,
    sets: &[String],
    version: Version,
    records: &[JournalRecord],
) -> Result<(Vec<Task>, Vec<CpuSet>), ApplyError> {
    let mut masks = Vec::new();
    for set in sets {
        for name in ["cpuset.cpus", "cpus"] {
            let text = system.root().value(&format!("{set}/{name}"))?;
            masks.extend(text.and_then(|text| CpuSet::parse_list(&text).ok()));
        }
    }
    let root = system.root();
    let known = KnownMembers::of(records, &masks);
    let offspring = match known.has_unpinned {
        true => child_ids(system, &known.parents),
        false => None,
    };
    let mut glance = MaskReader::new(root);
    let mut tasks = Vec::new();
    for set in sets {
        let tids = census::members(system, &list_of(set, version))?;
        for tid in tids {
            let is_one_of_many = offspring.as_ref().is_some_and(|offspring| {
                !known.known.contains(&tid)
                    && !offspring.contains(&tid)
                    && glance.mask(tid).is_none_or(|mask| masks.contains(mask))
            });
            if !is_one_of_many {
                tasks.extend(machine::tasks::read_one(root, tid));
            }
        }
    }
    Ok((tasks, masks))
}

/// Sets that other programs made below one of these sets while it was narrowed. They started with its CPUs of that
/// time, and only their owners know whether they need more.
pub(super) fn new_child_sets(system: &dyn System, before: &BTreeMap<String, String>, isolated: &CpuSet) -> Vec<String> {
    let cgroups = Cgroups::read(system.root());
    let Some(hierarchy) = cgroups.cpuset.as_ref() else {
        return Vec::new();
    };
    let is_new = |set: &&Partition| !before.contains_key(&hierarchy.file(&set.name, "cpus"));
    let notes = hierarchy.sets.iter().filter(is_new).filter_map(|set| {
        let (above, _) = set.name.rsplit_once('/')?;
        let above = hierarchy.set(if above.is_empty() { "/" } else { above })?;
        let cpus = set
            .cpus
            .as_ref()
            .filter(|cpus| !cpus.is_empty() && !cpus.intersects(isolated))?;
        let was_narrowed = above.name != "/" && above.cpus.as_ref().is_some_and(|all| isolated.is_subset(all));
        if !was_narrowed {
            return None;
        }
        let tenant = cgroup_owners::cgroup_owner(&set.name);
        let owner_text = tenant
            .as_ref()
            .map_or(String::new(), |tenant| format!(" ({})", tenant.name()));
        let widen = above.cpus.as_ref().map(ToString::to_string).unwrap_or_default();
        let how = match tenant {
            Some(tenant) => format!("; to widen it: {}", tenant.command(&widen)),
            None => String::new(),
        };
        Some(format!(
            "the cpuset {}{owner_text} was created since and keeps CPU {cpus}{how}",
            set.name
        ))
    });
    notes.collect()
}

/// Children and threads of these processes; `None` if the kernel does not list children.
fn child_ids(system: &dyn System, parents: &[u32]) -> Option<BTreeSet<u32>> {
    let root = system.root();
    machine::tasks::children(root, KTHREADD)?;
    let mut all = BTreeSet::new();
    for parent in parents {
        all.extend(machine::tasks::children(root, *parent).unwrap_or_default());
        let threads = root.readable_names(&format!("/proc/{parent}/task"));
        all.extend(
            threads
                .unwrap_or_default()
                .iter()
                .filter_map(|name| name.parse::<u32>().ok()),
        );
    }
    Some(all)
}

fn list_of(set: &str, version: Version) -> String {
    match version {
        Version::V1 => format!("{set}/tasks"),
        Version::V2 => format!("{set}/cgroup.threads"),
    }
}

fn members_of(system: &dyn System, set: &str, version: Version) -> Result<Vec<Task>, ApplyError> {
    let tids = census::members(system, &list_of(set, version))?;
    Ok(tids
        .into_iter()
        .filter_map(|tid| machine::tasks::read_one(system.root(), tid))
        .collect())
}
