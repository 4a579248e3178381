//! Handles CPUs that went offline since the apply: what cannot be restored without them, and what they need when they return.
//!
//! When a v2 partition is removed while a CPU is offline, the kernel gives tasks only the online CPUs: before 6.2 the tasks of
//! the root, and still on 7.2 those of cgroups that lose the controller. Nothing widens their masks when the CPU returns.

use super::Force;
use super::step::started_writes;
use crate::System;
use crate::fingerprint::ONLINE;
use crate::layers::ApplyLayer;
use crate::record::{JournalEvent, JournalRecord, StateAfter};
use machine::{CpuSet, Hierarchy, Machine, TaskKey, Version};
use plan::Action;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// CPUs that were offline in an earlier attempt to undo a layer, and are online again.
pub(super) struct ReturnedCpus {
    /// For each attempt: the CPUs that were online, and the CPUs that came online since.
    attempts: Vec<(CpuSet, CpuSet)>,
}

impl ReturnedCpus {
    /// CPUs that returned since the attempts in the journal; `None` if there are none.
    pub fn since(records: &[JournalRecord], layer: u64, online: &CpuSet) -> Option<ReturnedCpus> {
        let first = records.first().map_or(0, |record| record.seq);
        let tries: Vec<(CpuSet, CpuSet)> = records
            .iter()
            .filter_map(|record| match &record.event {
                JournalEvent::UndoBegin {
                    layer: of,
                    online: Some(then),
                    ..
                } if of.unwrap_or(first) == layer => Some((then.clone(), online.minus(then))),
                _ => None,
            })
            .filter(|(_, returned)| !returned.is_empty())
            .collect();
        (!tries.is_empty()).then_some(ReturnedCpus { attempts: tries })
    }

    /// Adds the returned CPUs to tasks whose mask is exactly what was online then. Other masks were set on purpose, or
    /// the journal names their tasks. Returns the tasks for which the kernel refused.
    pub fn widen(&self, system: &dyn System, isolated: &CpuSet, known: &BTreeSet<TaskKey>) -> Vec<String> {
        let mut failed = Vec::new();
        let tasks = machine::tasks::read(system.root()).unwrap_or_default();
        for task in tasks
            .iter()
            .filter(|task| task.is_movable() && !known.contains(&task.key))
        {
            let Some(mask) = &task.allowed else { continue };
            let of_then = self.attempts.iter().find(|(then, _)| then.minus(isolated) == *mask);
            let Some((_, returned)) = of_then else { continue };
            let intended = mask.or(&returned.minus(isolated));
            if intended != *mask
                && let Err(error) = system.set_affinity(task.key.tid, &intended)
                && error.errno() != Some(libc::ESRCH)
            {
                failed.push(format!(
                    "task {} ({}): may run on {mask}, previously {intended}: {error}",
                    task.key.tid, task.comm
                ));
            }
        }
        failed
    }
}

/// Waits, for a bounded time, until the cpusets have processed a CPU that has just come online. Before 6.10 the kernel
/// leaves that to a worker, and a task that leaves a set earlier keeps the old mask.
pub(super) fn settle(system: &dyn System, hierarchy: Option<&Hierarchy>, online: &CpuSet, live: &[&ApplyLayer]) {
    const TRIES: u32 = 25;
    let Some(hierarchy) = hierarchy.filter(|hierarchy| hierarchy.version == Version::V2) else {
        return;
    };
    let mut dirs = vec![hierarchy.mount.clone()];
    dirs.extend(live.iter().map(|layer| layer.intent.cgroup_path(hierarchy)));
    for _ in 0..TRIES {
        let known = dirs
            .iter()
            .filter_map(|dir| machine::cpu_list(system.root(), &format!("{dir}/cpuset.cpus.effective")));
        let sets: Vec<CpuSet> = known.collect();
        let all = CpuSet::union(&sets);
        if sets.is_empty() || online.is_subset(&all) {
            return;
        }
        system.pause(Duration::from_millis(20));
    }
}

/// Restores what hotplug removed permanently, now that the CPUs are online again, so that the undo steps find what we
/// wrote. The journal holds the former state, what we wrote, and which CPUs were offline since. Kernel refusals show
/// when the files are compared.
pub(super) fn refill(system: &dyn System, records: &[JournalRecord], live: &[&ApplyLayer]) {
    let Some(files) = live.first().map(|first| first.files) else {
        return;
    };
    let Some(then) = files.get(ONLINE).and_then(|text| CpuSet::parse_list(text).ok()) else {
        return;
    };
    let online = records.iter().filter_map(|record| match &record.event {
        JournalEvent::Applied { online } | JournalEvent::UndoBegin { online, .. } => online.as_ref(),
        _ => None,
    });
    let partial: Vec<&CpuSet> = online.filter(|online| !then.is_subset(online)).collect();
    if partial.is_empty() {
        return;
    }
    let machine = Machine::read(system.root());
    let before = &with_writes(files, live);
    let sets = cpusets(&machine, before, &partial).into_iter();
    for (path, intended) in sets.chain(interrupts(system, before, &partial)) {
        if intended.is_subset(&machine.topology.online) {
            let _ = system.write(&path, &intended.to_string());
        }
    }
}

/// The files of the state before, updated with the writes of these layers.
fn with_writes(files: &BTreeMap<String, String>, live: &[&ApplyLayer]) -> BTreeMap<String, String> {
    let mut files = files.clone();
    for layer in live {
        for will in started_writes(layer) {
            let Action::Write { path, .. } = &will.change.action else {
                continue;
            };
            match will.step(Force::No).answer() {
                Some((_, StateAfter::Value { value: Some(value), .. })) => {
                    drop(files.insert(path.clone(), value.clone()))
                }
                Some(_) => {}
                // Any content counts as ours.
                None => drop(files.remove(path)),
            }
        }
    }
    files
}

/// On v1 an offline CPU leaves every set (`cpuset_hotplug_update_tasks`). A set that lacks any other CPU was changed by
/// another program. Parents come first: a set may have no more CPUs than its parent.
fn cpusets(machine: &Machine, before: &BTreeMap<String, String>, partial: &[&CpuSet]) -> Vec<(String, CpuSet)> {
    let hierarchy = machine.cgroups.cpuset.as_ref();
    let Some(hierarchy) = hierarchy.filter(|hierarchy| hierarchy.version == Version::V1) else {
        return Vec::new();
    };
    let lists = hierarchy.sets.iter().filter_map(|set| {
        let path = hierarchy.file(&set.name, "cpus");
        let intended = CpuSet::parse_list(before.get(&path)?).ok()?;
        let now = set.cpus.as_ref()?;
        let lost = intended.minus(now);
        let went = CpuSet::union(partial.iter().map(|online| lost.minus(online)));
        (now.is_subset(&intended) && !lost.is_empty() && lost == went).then_some((path, intended))
    });
    lists.collect()
}

/// An interrupt whose last CPU goes offline gets all remaining CPUs (`migrate_one_irq`).
fn interrupts(system: &dyn System, before: &BTreeMap<String, String>, partial: &[&CpuSet]) -> Vec<(String, CpuSet)> {
    let masks = before.iter().filter_map(|(path, text)| {
        let intended = CpuSet::parse_list(text)
            .ok()
            .filter(|_| path.ends_with("/smp_affinity_list"))?;
        let is_left_out = |online: &&&CpuSet| !intended.is_empty() && !intended.intersects(online);
        let mut left = partial.iter().filter(is_left_out).peekable();
        left.peek()?;
        let now = CpuSet::parse_list(&system.root().value(path).ok()??).ok()?;
        left.any(|online| now == **online).then_some((path.clone(), intended))
    });
    masks.collect()
}

/// Messages for CPUs that were online before and are not now.
pub(super) fn missing(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Option<String> {
    let cpus = |files: &BTreeMap<String, String>| CpuSet::parse_list(files.get(ONLINE)?).ok();
    let missing = cpus(before)?.minus(&cpus(now)?);
    (!missing.is_empty()).then(|| {
        format!(
            "CPU {missing} was online before and is not now: bring it online and run `quietcore undo` again to restore \
             what ran there"
        )
    })
}
