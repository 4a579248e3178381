//! Compares cpusets and partitions, workqueues, and the CPUs of new interrupts.

use super::{ReadingPair, ValueChange, set_text};
use crate::{FindingId, Level};
use machine::{Machine, MapEntries, Partition};
use std::collections::BTreeMap;

pub(super) fn compare(pair: &mut ReadingPair) {
    masks(pair);
    let (before, after) = (pair.before, pair.after);
    let tree = |machine: &'_ Machine| machine.cgroups.cpuset.clone();
    let (Some(old_tree), Some(new_tree)) = (tree(&before.machine), tree(&after.machine)) else {
        return;
    };
    if (old_tree.version, &old_tree.mount) != (new_tree.version, &new_tree.mount) {
        let name = |tree: &machine::Hierarchy| format!("{:?} at {}", tree.version, tree.mount).to_lowercase();
        let (old, new) = (name(&old_tree), name(&new_tree));
        let message = format!("the cpuset controller: cgroup {old} -> cgroup {new}");
        pair.add(
            FindingId::CGROUP_LAYOUT,
            Level::Warning,
            "cgroups",
            ValueChange::new(&old, &new),
            message,
        );
        return;
    }
    let by_name = |sets: &[Partition]| -> BTreeMap<String, Partition> {
        sets.iter().map(|set| (set.name.clone(), set.clone())).into_map()
    };
    let (old, new) = (by_name(&old_tree.sets), by_name(&new_tree.sets));
    for (name, set) in &old {
        match new.get(name) {
            None => report_removed(pair, name, set),
            Some(now) => changed(pair, name, set, now),
        }
    }
    for (name, set) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        let cpus = set.listed_cpus();
        let takes = set.takes_cpus();
        let is_near = takes || set.cpus.as_ref().is_some_and(|cpus| cpus.intersects(pair.isolated));
        let level = if is_near { Level::Warning } else { Level::Info };
        let what = if takes { "partition" } else { "cpuset" };
        let message = format!("new {what} {name} with CPU {}", set_text(&cpus));
        pair.add(FindingId::CPUSET, level, name, ValueChange::gained(&cpus), message);
    }
}

fn report_removed(pair: &mut ReadingPair, name: &str, set: &Partition) {
    let cpus = set.listed_cpus();
    let (what, level) = if set.takes_cpus() {
        ("partition", Level::Error)
    } else {
        ("cpuset", Level::Info)
    };
    let message = format!("{what} {name} with CPU {} no longer exists", set_text(&cpus));
    pair.add(FindingId::CPUSET, level, name, ValueChange::lost(&cpus), message);
}

fn changed(pair: &mut ReadingPair, name: &str, old: &Partition, new: &Partition) {
    let is_partition = old.takes_cpus() || new.takes_cpus();
    let (was, is) = (old.listed_cpus(), new.listed_cpus());
    if was != is {
        let otherwise = if is_partition { Level::Error } else { Level::Info };
        let level = if new.takes_cpus() {
            otherwise
        } else {
            pair.reach(&was, &is, otherwise)
        };
        let message = format!("cpuset {name}: CPU {} -> {}", set_text(&was), set_text(&is));
        pair.add(FindingId::CPUSET, level, name, ValueChange::new(&was, &is), message);
    }
    let flag = |flag: Option<bool>| flag.map(|flag| u8::from(flag).to_string());
    let texts = [
        ("cpuset.cpus.partition", old.partition.clone(), new.partition.clone()),
        (
            "sched_load_balance",
            flag(old.sched_load_balance),
            flag(new.sched_load_balance),
        ),
        ("cpu_exclusive", flag(old.cpu_exclusive), flag(new.cpu_exclusive)),
        ("cpuset.mems", old.mems.clone(), new.mems.clone()),
    ];
    for (file, was, is) in texts {
        if let (Some(was), Some(is)) = (was, is)
            && was != is
        {
            let decides = is_partition && file != "cpuset.mems";
            let level = match (decides, new.takes_cpus()) {
                (true, false) => Level::Error,
                (true, true) => Level::Warning,
                (false, _) => Level::Info,
            };
            let message = format!("{file} of cpuset {name}: {was} -> {is}");
            pair.add(FindingId::CPUSET, level, name, ValueChange::new(&was, &is), message);
        }
    }
}

fn masks(pair: &mut ReadingPair) {
    let (before, after) = (pair.before, pair.after);
    let (old, new) = (&before.machine.isolation, &after.machine.isolation);
    let masks = [
        (
            FindingId::DEFAULT_IRQ_AFFINITY,
            "new interrupts",
            &old.default_smp_affinity,
            &new.default_smp_affinity,
        ),
        (
            FindingId::WORKQUEUE_CPUMASK,
            "unbound workqueues",
            &old.workqueue_cpumask,
            &new.workqueue_cpumask,
        ),
    ];
    for (id, name, old, new) in masks {
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            let level = pair.reach(old, new, Level::Info);
            let message = format!("{name} may use CPU {} -> {}", set_text(old), set_text(new));
            pair.add(id, level, name, ValueChange::new(old, new), message);
        }
    }
}
