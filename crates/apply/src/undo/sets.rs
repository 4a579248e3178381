//! The cgroups that we made, and who is in them when they are taken apart.

use super::{Undone, say};
use crate::journal::Journal;
use crate::record::{Before, Event, Outcome, Record};
use crate::{ApplyError, System, census};
use machine::{CpuSet, Policy, Task, Version};
use plan::{Action, Change};
use std::collections::{BTreeMap, BTreeSet};

/// Directories that we made and that are still there. One whose making was refused is somebody else's.
pub(super) fn ours(system: &dyn System, records: &[Record], by_id: &BTreeMap<&str, &Change>) -> Vec<String> {
    let refused: BTreeSet<u64> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Did {
                of,
                outcome: Outcome::Refused(_),
                ..
            } => Some(*of),
            _ => None,
        })
        .collect();
    records
        .iter()
        .filter(|record| !refused.contains(&record.seq))
        .filter_map(|record| match &record.event {
            Event::Will {
                change,
                before: Before::Absent,
            } => by_id.get(change.as_str()),
            _ => None,
        })
        .filter_map(|change| match &change.action {
            Action::MakeSet { path } => Some(path.clone()),
            _ => None,
        })
        .filter(|path| system.root().kind(path).ok().flatten().is_some())
        .collect()
}

/// A real-time task that spins on the isolated CPU would starve the housekeeping CPU that it is sent to, and
/// the kernel threads that taking the partition apart waits for.
pub(super) fn demote_spinners(
    system: &dyn System,
    journal: &mut Journal,
    sets: &[String],
    version: Version,
    undone: &mut Undone,
) -> Result<(), ApplyError> {
    for set in sets.iter().filter(|set| !set.ends_with("/housekeeping")) {
        for task in members_of(system, set, version)? {
            let realtime = matches!(task.policy, Policy::Fifo | Policy::Rr | Policy::Deadline);
            if !realtime || task.state != 'R' || task.key.tid == std::process::id() {
                continue;
            }
            let former = format!("{:?}:{}", task.policy, task.rt_priority).to_lowercase();
            let comm = task.comm.clone();
            say(
                journal,
                undone,
                Event::Demoted {
                    key: task.key,
                    comm: comm.clone(),
                    former: former.clone(),
                },
            );
            match system.demote(task.key.tid) {
                Ok(()) => undone.notes.push(format!(
                    "task {} ({comm}) was spinning with policy {former}; it is SCHED_OTHER now",
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

/// The tasks in our sets now, and the sets' own masks.
pub(super) fn newcomers(
    system: &dyn System,
    sets: &[String],
    version: Version,
) -> Result<(Vec<Task>, Vec<CpuSet>), ApplyError> {
    let mut tasks = Vec::new();
    let mut masks = Vec::new();
    for set in sets {
        tasks.extend(members_of(system, set, version)?);
        for name in ["cpuset.cpus", "cpus"] {
            let text = system.root().value(&format!("{set}/{name}"))?;
            masks.extend(text.and_then(|text| CpuSet::parse_list(&text).ok()));
        }
    }
    Ok((tasks, masks))
}

fn members_of(system: &dyn System, set: &str, version: Version) -> Result<Vec<Task>, ApplyError> {
    let list = match version {
        Version::V1 => format!("{set}/tasks"),
        Version::V2 => format!("{set}/cgroup.threads"),
    };
    let tids = census::members(system, &list)?;
    Ok(tids
        .into_iter()
        .filter_map(|tid| machine::tasks::read_one(system.root(), tid))
        .collect())
}
