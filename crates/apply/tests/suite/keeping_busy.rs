//! Level 3: a CPU that is isolated is busy, and where it will be afterwards, at the write that takes it out of the scheduler's
//! domains. Whoever idles then is asked to balance for as long as the partition stands (see `apply::Busy`).

use crate::support::rehearsal::acting::isolate_as;
use crate::support::rehearsal::domains::Left;
use crate::support::rehearsal::{Disk, Kernel, Rules};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];

fn intent(name: &str, cpus: &str) -> Intent {
    let cpus = CpuSet::parse_list(cpus).unwrap();
    Intent::new(PartitionName::new(name).unwrap(), cpus, Profile::Strict)
}

/// Who left the domains while these were applied one after the other.
fn left(rules: Rules, intents: &[Intent]) -> Vec<Left> {
    let kernel = Kernel::boot_with_settings(rules);
    let disk = Disk::new(&kernel);
    for intent in intents {
        isolate_as(&kernel, &disk, intent, || {}).unwrap();
    }
    kernel.domains.borrow().left.clone()
}

/// Of the CPUs of a partition all leave, and each is kept busy then, from a list that is there.
fn all_are_kept(rules: Rules, left: &[Left], isolated: &str) {
    let isolated = CpuSet::parse_list(isolated).unwrap();
    let mut gone = CpuSet::default();
    for one in left {
        let ours = one.cpus.and(&isolated);
        gone = gone.or(&ours);
        if ours.is_empty() {
            continue;
        }
        let (kept, list) = one
            .kept
            .as_ref()
            .unwrap_or_else(|| panic!("{rules:?}: nobody is kept busy: {one:?}"));
        assert!(ours.minus(kept).is_empty(), "{rules:?}: {one:?}");
        assert!(one.is_list, "{rules:?}: {list} is not there");
    }
    assert_eq!(gone, isolated, "{rules:?}: {left:?}");
}

#[test]
fn the_cpus_of_a_partition_are_busy_when_they_leave() {
    for rules in ALL_RULES {
        all_are_kept(rules, &left(rules, &[intent("rt", "2-3")]), "2-3");
    }
}

#[test]
fn those_of_a_second_one_are_too() {
    for rules in ALL_RULES {
        let both = [intent("rt", "3"), intent("fast", "2")];
        all_are_kept(rules, &left(rules, &both), "2-3");
    }
}

#[test]
fn who_keeps_them_busy_stands_where_they_go() {
    for rules in ALL_RULES {
        let left = left(rules, &[intent("rt", "3")]);
        let lists: Vec<&str> = left
            .iter()
            .filter_map(|one| one.kept.as_ref())
            .map(|(_, list)| list.as_str())
            .collect();
        let wanted = match rules {
            // The partition has the CPU before and after it becomes one.
            Rules::V2 => "/sys/fs/cgroup/quietcore-rt/cgroup.procs",
            // The root has every CPU, whoever balances.
            _ => "/sys/fs/cgroup/cpuset/tasks",
        };
        assert_eq!(lists, [wanted], "{rules:?}");
    }
}
