//! Compares tasks: which may now run on the isolated CPUs, whose mask or policy changed, and which manager of
//! interrupts and power started or ended.

use super::{MachineReading, ReadingPair, ValueChange, set_text};
use crate::{FindingId, Level};
use machine::{CpuSet, Policy, Task};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Programs that change by themselves what we measure.
const MANAGERS: [&str; 8] = [
    "irqbalance",
    "tuned",
    "thermald",
    "cpufreqd",
    "auto-cpufreq",
    "power-profiles-",
    "numad",
    "rasdaemon",
];

/// Our own name: the process that took the snapshot is in it.
const OWN: &str = "quietcore";

/// A thread in both readings: within one boot by number and start time, across boots by name and mask.
type ThreadKey = (String, u64, String);

pub(super) fn compare(pair: &mut ReadingPair) {
    let (before, after) = (pair.before, pair.after);
    let (Some(old), Some(new)) = (&before.machine.tasks, &after.machine.tasks) else {
        return;
    };
    managers(pair, old, new);
    let same_boot = pair.same_boot();
    let key = |task: &Task| -> ThreadKey {
        if same_boot {
            (
                String::new(),
                task.key.start_time << 24 | u64::from(task.key.tid),
                String::new(),
            )
        } else {
            (
                task.comm.clone(),
                0,
                task.allowed.as_ref().map_or_else(String::new, CpuSet::to_string),
            )
        }
    };
    let known = |reading: &MachineReading, tasks: &'_ [Task]| -> Vec<Task> {
        let others = tasks
            .iter()
            .filter(|task| Some(task.pid) != reading.own_pid && task.comm != OWN);
        others.cloned().collect()
    };
    let (old, new) = (known(before, old), known(after, new));
    let old_by_key: HashMap<ThreadKey, &Task> = old.iter().map(|task| (key(task), task)).collect();
    let new_by_key: HashMap<ThreadKey, &Task> = new.iter().map(|task| (key(task), task)).collect();
    let (mut come, mut ended) = (Vec::new(), Vec::new());
    for task in &new {
        match old_by_key.get(&key(task)) {
            Some(former) => changed(pair, former, task),
            None => come.push(task),
        }
    }
    ended.extend(old.iter().filter(|task| !new_by_key.contains_key(&key(task))));
    arrivals(pair, &come);
    departures(pair, &ended);
}

fn on_isolated(pair: &ReadingPair, task: &Task) -> CpuSet {
    task.allowed
        .as_ref()
        .map(|allowed| allowed.and(pair.isolated))
        .unwrap_or_default()
}

/// New threads that may run on the isolated CPUs, grouped by name and place; the rest is counted.
fn arrivals(pair: &mut ReadingPair, come: &[&Task]) {
    let mut groups: BTreeMap<(bool, String, CpuSet), Vec<&Task>> = BTreeMap::new();
    let mut elsewhere = 0_usize;
    for task in come {
        let place = on_isolated(pair, task);
        if place.is_empty() {
            elsewhere += 1;
        } else {
            groups
                .entry((task.is_kernel(), task.comm.clone(), place))
                .or_default()
                .push(task);
        }
    }
    for ((is_kernel, comm, place), tasks) in groups {
        let Some(first) = tasks.first() else { continue };
        let what = if is_kernel { "kernel thread" } else { "thread" };
        // An unmovable kernel thread was placed there by the kernel, or deliberately by a user.
        let level = if is_kernel && !first.is_movable() {
            Level::Info
        } else {
            Level::Warning
        };
        let message = match tasks.len() {
            1 => format!("new {what} {comm}/{} may run on {place}", first.key.tid),
            many => format!("{many} new {what}s {comm} ({}, ...) may run on {place}", first.key.tid),
        };
        let subject = format!("{comm}/{}", first.key.tid);
        pair.add(
            FindingId::TASK_NEW,
            level,
            subject,
            ValueChange::gained(&place),
            message,
        );
    }
    if elsewhere > 0 {
        let message = format!("other new threads: {elsewhere}");
        pair.add(
            FindingId::TASKS_NEW,
            Level::Info,
            "tasks",
            ValueChange::gained(&elsewhere),
            message,
        );
    }
}

fn departures(pair: &mut ReadingPair, ended: &[&Task]) {
    let mut elsewhere = 0_usize;
    for task in ended {
        let place = on_isolated(pair, task);
        if place.is_empty() || task.is_kernel() {
            elsewhere += 1;
            continue;
        }
        let message = format!(
            "thread {}/{}, which was allowed on {place}, has ended",
            task.comm, task.key.tid
        );
        let subject = format!("{}/{}", task.comm, task.key.tid);
        pair.add(
            FindingId::TASK_GONE,
            Level::Info,
            subject,
            ValueChange::lost(&place),
            message,
        );
    }
    if elsewhere > 0 {
        let message = format!("other threads that ended: {elsewhere}");
        pair.add(
            FindingId::TASKS_GONE,
            Level::Info,
            "tasks",
            ValueChange::lost(&elsewhere),
            message,
        );
    }
}

fn changed(pair: &mut ReadingPair, former: &Task, now: &Task) {
    let subject = format!("{}/{}", now.comm, now.key.tid);
    if let (Some(old), Some(new)) = (&former.allowed, &now.allowed)
        && old != new
    {
        let level = pair.reach(old, new, Level::Info);
        let message = format!("thread {subject} may run on {} -> {}", set_text(old), set_text(new));
        pair.add(
            FindingId::TASK_ALLOWED,
            level,
            &subject,
            ValueChange::new(old, new),
            message,
        );
    }
    let policy = |task: &Task| match task.rt_priority {
        0 => policy_word(task.policy).to_owned(),
        priority => format!("{} {priority}", policy_word(task.policy)),
    };
    let (old, new) = (policy(former), policy(now));
    if old != new {
        let is_near = !on_isolated(pair, now).is_empty();
        let level = if is_near { Level::Warning } else { Level::Info };
        let message = format!("thread {subject}: policy {old} -> {new}");
        pair.add(
            FindingId::TASK_POLICY,
            level,
            &subject,
            ValueChange::new(&old, &new),
            message,
        );
    }
}

fn managers(pair: &mut ReadingPair, old: &[Task], new: &[Task]) {
    let running = |tasks: &[Task]| -> BTreeSet<&str> {
        let is_there = |name: &&str| {
            tasks
                .iter()
                .any(|task| !task.is_kernel() && task.comm.starts_with(*name))
        };
        MANAGERS.iter().filter(|name| is_there(name)).copied().collect()
    };
    let (old, new) = (running(old), running(new));
    for name in new.difference(&old) {
        let message = format!("{name} was started: it changes settings by itself");
        pair.add(
            FindingId::MANAGER,
            Level::Warning,
            *name,
            ValueChange::gained(name),
            message,
        );
    }
    for name in old.difference(&new) {
        pair.add(
            FindingId::MANAGER,
            Level::Info,
            *name,
            ValueChange::lost(name),
            format!("{name} was stopped"),
        );
    }
}

fn policy_word(policy: Policy) -> &'static str {
    match policy {
        Policy::Other => "other",
        Policy::Fifo => "fifo",
        Policy::Rr => "rr",
        Policy::Batch => "batch",
        Policy::Idle => "idle",
        Policy::Deadline => "deadline",
        Policy::Ext => "ext",
        Policy::Unknown => "unknown",
    }
}
