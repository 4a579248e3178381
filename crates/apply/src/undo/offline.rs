//! CPUs that went offline since the apply: what that keeps from being given back, and what they bring when they return.
//!
//! When a v2 partition goes while a CPU is off, the kernel gives tasks the online CPUs alone: those of the root before
//! 6.2, those of cgroups that lose the controller still on 7.2. Nothing widens them when the CPU returns.

use crate::System;
use crate::fingerprint::ONLINE;
use crate::record::{Event, Record};
use machine::{CpuSet, TaskKey};
use std::collections::{BTreeMap, BTreeSet};

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
