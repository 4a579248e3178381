//! Level 3 for the partitions of the front ends: two sets with the names that their callers expect. Programs are moved,
//! kernel threads are left alone, and the set balances inside. Undo restores the original state from a kill at any
//! step.

use crate::support::rehearsal;
use crate::support::rehearsal::acting::{dies, isolate_as, same, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::{Force, System, UndoOutcome, UndoTarget};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

fn shield(who: &str) -> Intent {
    let cpus = CpuSet::parse_list("2-3").unwrap();
    let mut intent = Intent::new(PartitionName::new("user").unwrap(), cpus, Profile::Balanced);
    intent.housekeeping = Some(PartitionName::new("system").unwrap());
    intent.take("cpuset_partition=root").unwrap();
    intent.take(&format!("task_placement={who}")).unwrap();
    intent
}

fn isolate(kernel: &SimKernel, disk: &SimDisk, intent: &Intent) {
    isolate_as(kernel, disk, intent, || {}).unwrap();
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk) -> UndoOutcome {
    undo(kernel, disk, UndoTarget::Last, Force::No).unwrap()
}

#[test]
fn both_sets_have_the_given_names_and_programs_run_in_the_housekeeping_set() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2] {
        let kernel = SimKernel::boot(rules);
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        isolate(&kernel, &disk, &shield("user"));
        let (mount, user, system) = match rules {
            Rules::V2 => ("/sys/fs/cgroup", "quietcore-user", "quietcore-system"),
            _ => ("/sys/fs/cgroup/cpuset", "user", "system"),
        };
        let value = |set: &str, file: &str| {
            let path = format!("{mount}/{set}/cpuset.{file}");
            kernel.root().value(&path).unwrap().unwrap_or_default()
        };
        assert_eq!(
            (value(user, "cpus"), value(system, "cpus")),
            ("2-3".to_owned(), "0-1".to_owned()),
            "{rules:?}"
        );
        match rules {
            Rules::V2 => assert_eq!(value(user, "cpus.partition"), "root"),
            _ => assert_eq!(value(user, "sched_load_balance"), "1"),
        }
        for task in kernel.tasks.borrow().iter() {
            let is_kernel = task.flags & rehearsal::KTHREAD != 0;
            let moved = task.cgroup == format!("/{system}");
            assert_eq!(moved, !is_kernel, "{rules:?}: {} is in {}", task.comm, task.cgroup);
        }
        let undone = run_undo(&kernel, &disk);
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(kernel.dump(), before, "{rules:?}");
    }
}

#[test]
fn with_another_partition_each_set_is_removed_with_its_own() {
    let three = CpuSet::parse_list("3").unwrap();
    let rt = Intent::new(PartitionName::new("rt").unwrap(), three, Profile::Balanced);
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2] {
        for who in ["user", "all"] {
            let user = Intent {
                cpus: CpuSet::parse_list("2").unwrap(),
                ..shield(who)
            };
            for (first, then) in [(&rt, &user), (&user, &rt)] {
                for goes in [first, then] {
                    let stays = if goes == first { then } else { first };
                    let what = format!("{rules:?} {who}: {}, {}; {} goes", first.name, then.name, goes.name);
                    let kernel = SimKernel::boot(rules);
                    let before = kernel.dump();
                    let disk = SimDisk::new(&kernel);
                    isolate(&kernel, &disk, first);
                    let alone = kernel.dump();
                    isolate(&kernel, &disk, then);
                    for of in [goes, stays] {
                        let undone = undo(&kernel, &disk, UndoTarget::Named(of.name.as_str()), Force::No).unwrap();
                        assert!(undone.equal(), "{what}: {:?}", undone.remains());
                        assert_eq!(undone.undone_partitions, [of.name.to_string()], "{what}");
                        // On v1 kernel threads that another partition moved share the remaining set.
                        let is_exact = rules == Rules::V2 || who == "all";
                        if of == then && goes == then && is_exact {
                            same(&kernel, &alone, &what);
                        }
                    }
                    same(&kernel, &before, &what);
                }
            }
        }
    }
}

#[test]
fn a_kill_at_any_step_is_undone() {
    for (rules, who) in [
        (Rules::V1DropsPins, "all"),
        (Rules::V1KeepsPins, "user"),
        (Rules::V2, "user"),
        (Rules::V2, "all"),
    ] {
        let kernel = SimKernel::boot(rules);
        isolate(&kernel, &SimDisk::new(&kernel), &shield(who));
        let steps = kernel.steps.get();
        assert!(steps > 20, "{steps}");
        for death in (1..=steps).flat_map(|step| [Death::Before(step), Death::After(step), Death::Torn(step)]) {
            let kernel = SimKernel::boot(rules);
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            kernel.death.set(death);
            assert!(
                dies(|| isolate(&kernel, &disk, &shield(who))),
                "{rules:?} {death:?} did not die"
            );
            kernel.death.set(Death::Never);
            let undone = run_undo(&kernel, &disk);
            assert!(undone.equal(), "{rules:?} {death:?}: {:?}", undone.remains());
            assert_eq!(kernel.dump(), before, "{rules:?} {death:?}");
        }
    }
}
