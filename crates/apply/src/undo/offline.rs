//! CPUs that went offline since the apply: what that keeps from being given back, and what they bring when they return.
//!
//! When a v2 partition goes while a CPU is off, the kernel gives tasks the online CPUs alone: those of the root before
//! 6.2, those of cgroups that lose the controller still on 7.2. Nothing widens them when the CPU returns.

use crate::System;
use crate::fingerprint::ONLINE;
use crate::layers::Layer;
use crate::record::{Event, Record};
use machine::{CpuSet, Hierarchy, TaskKey, Version};
use plan::partition_path;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// CPUs that were off in an earlier try to take a layer back, and are online again.
pub(super) struct Returned {
    /// What was online in that try, and what has come since.
    tries: Vec<(CpuSet, CpuSet)>,
}

impl Returned {
    /// Since the tries that the journal knows; `None` where no CPU returned.
    pub fn since(records: &[Record], layer: u64, online: &CpuSet) -> Option<Returned> {
        let first = records.first().map_or(0, |record| record.seq);
        let tries: Vec<(CpuSet, CpuSet)> = records
            .iter()
            .filter_map(|record| match &record.event {
                Event::UndoBegin {
                    layer: of,
                    online: Some(then),
                    ..
                } if of.unwrap_or(first) == layer => Some((then.clone(), online.minus(then))),
                _ => None,
            })
            .filter(|(_, returned)| !returned.is_empty())
            .collect();
        (!tries.is_empty()).then_some(Returned { tries })
    }

    /// Gives tasks that have just the CPUs of then those that returned. Others have their masks by somebody's wish, or
    /// are named by the journal. Says whom the kernel refused.
    pub fn widen(&self, system: &dyn System, isolated: &CpuSet, known: &BTreeSet<TaskKey>) -> Vec<String> {
        let mut failed = Vec::new();
        let tasks = machine::tasks::read(system.root()).unwrap_or_default();
        for task in tasks
            .iter()
            .filter(|task| task.is_movable() && !known.contains(&task.key))
        {
            let Some(mask) = &task.allowed else { continue };
            let of_then = self.tries.iter().find(|(then, _)| then.minus(isolated) == *mask);
            let Some((_, returned)) = of_then else { continue };
            let wanted = mask.or(&returned.minus(isolated));
            if wanted != *mask
                && let Err(error) = system.set_affinity(task.key.tid, &wanted)
                && error.errno() != Some(libc::ESRCH)
            {
                failed.push(format!(
                    "task {} ({}): may run on {mask}, before {wanted}: {error}",
                    task.key.tid, task.comm
                ));
            }
        }
        failed
    }
}

/// Waits, for a bounded time, until the cpusets have digested a CPU that has just come online: before 6.10 the kernel
/// leaves that to a worker, and who leaves a set before keeps the mask of then.
pub(super) fn settle(system: &dyn System, hierarchy: Option<&Hierarchy>, online: &CpuSet, live: &[&Layer]) {
    const TRIES: u32 = 25;
    let Some(hierarchy) = hierarchy.filter(|hierarchy| hierarchy.version == Version::V2) else {
        return;
    };
    let mut dirs = vec![hierarchy.mount.clone()];
    dirs.extend(
        live.iter()
            .map(|layer| partition_path(hierarchy, layer.intent.name.as_str())),
    );
    for _ in 0..TRIES {
        let known = dirs.iter().filter_map(|dir| {
            let text = system
                .root()
                .value(&format!("{dir}/cpuset.cpus.effective"))
                .ok()??;
            CpuSet::parse_list(&text).ok()
        });
        let sets: Vec<CpuSet> = known.collect();
        let all = sets.iter().fold(CpuSet::new(), |all, set| all.or(set));
        if sets.is_empty() || online.is_subset(&all) {
            return;
        }
        system.pause(Duration::from_millis(20));
    }
}

/// What to say of CPUs that were online before and are not now.
pub(super) fn missing(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Option<String> {
    let cpus = |files: &BTreeMap<String, String>| CpuSet::parse_list(files.get(ONLINE)?).ok();
    let missing = cpus(before)?.minus(&cpus(now)?);
    (!missing.is_empty()).then(|| {
        format!(
            "CPU {missing} was online before and is not now: what ran there gets it back when you bring it online \
             and run `quietcore undo` again"
        )
    })
}
