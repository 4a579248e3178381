//! Level 3: a CPU that is isolated is kept busy during the write that removes it from the scheduling domains. The
//! kernel would keep asking a CPU that is idle at that moment to balance for as long as the partition exists (see
//! `apply::BusyLoops`).

use crate::support::rehearsal::acting::isolate_as;
use crate::support::rehearsal::domains::DomainExit;
use crate::support::rehearsal::{Rules, SimDisk, SimKernel};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];

fn intent(name: &str, cpus: &str) -> Intent {
    let cpus = CpuSet::parse_list(cpus).unwrap();
    Intent::new(PartitionName::new(name).unwrap(), cpus, Profile::Strict)
}

/// Returns the CPUs that left the domains while these partitions were applied one after the other.
fn left(rules: Rules, intents: &[Intent]) -> Vec<DomainExit> {
    let kernel = SimKernel::boot_with_settings(rules);
    let disk = SimDisk::new(&kernel);
    for intent in intents {
        isolate_as(&kernel, &disk, intent, || {}).unwrap();
    }
    kernel.domains.borrow().left.clone()
}

/// Checks that all CPUs of a partition left the domains, and that each was kept busy in an existing cgroup.
fn check_all_are_busy(rules: Rules, left: &[DomainExit], isolated: &str) {
    let isolated = CpuSet::parse_list(isolated).unwrap();
    let mut gone = CpuSet::default();
    for one in left {
        let ours = one.cpus.and(&isolated);
        gone = gone.or(&ours);
        if ours.is_empty() {
            continue;
        }
        let (kept, list) = one
            .busy
            .as_ref()
            .unwrap_or_else(|| panic!("{rules:?}: nobody is kept busy: {one:?}"));
        assert!(ours.minus(kept).is_empty(), "{rules:?}: {one:?}");
        assert!(one.is_list, "{rules:?}: {list} is not there");
    }
    assert_eq!(gone, isolated, "{rules:?}: {left:?}");
}

#[test]
fn cpus_are_busy_when_they_leave_the_domains() {
    for rules in ALL_RULES {
        check_all_are_busy(rules, &left(rules, &[intent("rt", "2-3")]), "2-3");
    }
}

#[test]
fn cpus_of_a_second_partition_are_busy_too() {
    for rules in ALL_RULES {
        let both = [intent("rt", "3"), intent("fast", "2")];
        check_all_are_busy(rules, &left(rules, &both), "2-3");
    }
}

#[test]
fn the_busy_loops_run_in_the_cgroup_that_gets_the_cpus() {
    for rules in ALL_RULES {
        let left = left(rules, &[intent("rt", "3")]);
        let lists: Vec<&str> = left
            .iter()
            .filter_map(|one| one.busy.as_ref())
            .map(|(_, list)| list.as_str())
            .collect();
        let wanted = match rules {
            // The partition's cgroup has the CPU before and after it becomes an isolated partition.
            Rules::V2 => "/sys/fs/cgroup/quietcore-rt/cgroup.procs",
            // The root cpuset has every CPU, whether it balances or not.
            _ => "/sys/fs/cgroup/cpuset/tasks",
        };
        assert_eq!(lists, [wanted], "{rules:?}");
    }
}

/// While the root balances, its one domain covers a cpuset that stops balancing: nothing leaves, so nothing is awaited.
#[test]
fn a_cpu_is_kept_busy_only_for_the_write_that_removes_it_from_the_domains() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot_with_settings(rules);
        let disk = SimDisk::new(&kernel);
        isolate_as(&kernel, &disk, &intent("rt", "2-3"), || {}).unwrap();
        assert_eq!(kernel.domains.borrow().requests, 1, "{rules:?}");
    }
}
