//! Level 3 with several partitions: applying or undoing one does not disturb the others, even if the tool is killed at
//! any step. The remaining state must be byte for byte the state that the remaining partitions would create alone.

use crate::support::rehearsal;
use crate::support::rehearsal::acting::{dies, isolate_as, same, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel, SimTask};
use apply::{ApplyError, Force, System, UndoOutcome, UndoTarget};
use machine::{CpuSet, Machine};
use plan::{Intent, PartitionName, Profile};
use std::collections::BTreeMap;

const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];
const RT: (&str, &str) = ("rt", "3");
const FAST: (&str, &str) = ("fast", "2");

type Dump = BTreeMap<String, String>;

fn isolate(kernel: &SimKernel, disk: &SimDisk, partition: (&str, &str)) -> Result<apply::ApplyOutcome, ApplyError> {
    isolate_by(kernel, disk, partition, Profile::Balanced, || {})
}

fn isolate_by(
    kernel: &SimKernel,
    disk: &SimDisk,
    (name, cpus): (&str, &str),
    profile: Profile,
    meanwhile: impl FnOnce(),
) -> Result<apply::ApplyOutcome, ApplyError> {
    let cpus = CpuSet::parse_list(cpus).unwrap();
    let intent = Intent::new(PartitionName::new(name).unwrap(), cpus, profile);
    isolate_as(kernel, disk, &intent, meanwhile)
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk, which: UndoTarget) -> UndoOutcome {
    undo(kernel, disk, which, Force::No).unwrap()
}

/// Boots with a thread that the kernel binds to all CPUs. No other task has so wide a mask beside a partition.
fn boot(rules: Rules) -> SimKernel {
    let kernel = SimKernel::boot(rules);
    kernel.tasks.borrow_mut().push(SimTask {
        tid: 16,
        pid: 16,
        ppid: 2,
        comm: "bound to all",
        flags: rehearsal::BOUND,
        mask: CpuSet::parse_list("0-3").unwrap(),
        user_mask: None,
        cgroup: "/".to_owned(),
    });
    kernel.render();
    kernel
}

/// Returns the state with these partitions and no history.
fn alone(rules: Rules, partitions: &[(&str, &str)]) -> Dump {
    let kernel = boot(rules);
    let disk = SimDisk::new(&kernel);
    for partition in partitions {
        isolate(&kernel, &disk, *partition).unwrap();
    }
    kernel.dump()
}

#[test]
fn each_partition_is_undone_without_changing_the_other() {
    for rules in ALL_RULES {
        let clean = alone(rules, &[]);
        for (first, then) in [(RT, FAST), (FAST, RT)] {
            for goes in [first, then] {
                let stays = if goes == first { then } else { first };
                let what = format!("{rules:?}: {} and {}, {} goes", first.0, then.0, goes.0);
                let kernel = boot(rules);
                let disk = SimDisk::new(&kernel);
                isolate(&kernel, &disk, first).unwrap();
                isolate(&kernel, &disk, then).unwrap();
                let both = CpuSet::parse_list("2-3").unwrap();
                for task in kernel
                    .tasks
                    .borrow()
                    .iter()
                    .filter(|task| task.flags != rehearsal::BOUND)
                {
                    assert!(!task.mask.intersects(&both), "{what}: {} on {}", task.comm, task.mask);
                }
                let undone = run_undo(&kernel, &disk, UndoTarget::Named(goes.0));
                assert!(undone.equal(), "{what}: {:?}", undone.remains());
                assert_eq!(undone.undone_partitions, [goes.0], "{what}");
                same(&kernel, &alone(rules, &[stays]), &what);
                let again = isolate(&kernel, &disk, stays).unwrap();
                assert!(
                    again.in_force && again.findings.is_empty(),
                    "{what}: {:?}",
                    again.findings
                );
                let undone = run_undo(&kernel, &disk, UndoTarget::Last);
                assert!(undone.equal(), "{what}: {:?}", undone.remains());
                same(&kernel, &clean, &what);
                assert!(apply::Journal::open(&disk).unwrap().is_none(), "{what}");
            }
        }
    }
}

#[test]
fn undo_undoes_the_last_partition_or_all_of_them() {
    for rules in ALL_RULES {
        let clean = alone(rules, &[]);
        let kernel = boot(rules);
        let disk = SimDisk::new(&kernel);
        for partition in [RT, FAST, ("third", "1")] {
            isolate(&kernel, &disk, partition).unwrap();
        }
        let undone = run_undo(&kernel, &disk, UndoTarget::Last);
        assert_eq!(undone.undone_partitions, ["third"]);
        same(&kernel, &alone(rules, &[RT, FAST]), "the last goes");
        let undone = run_undo(&kernel, &disk, UndoTarget::All);
        assert_eq!(undone.undone_partitions, ["fast", "rt"]);
        assert!(undone.equal(), "{:?}", undone.remains());
        same(&kernel, &clean, "all go");
    }
}

#[test]
fn undo_to_a_record_requires_the_end_of_an_apply() {
    for rules in ALL_RULES {
        let kernel = boot(rules);
        let disk = SimDisk::new(&kernel);
        for partition in [RT, FAST, ("third", "1")] {
            isolate(&kernel, &disk, partition).unwrap();
        }
        let ends: Vec<(u64, u64)> = apply::Journal::open(&disk)
            .unwrap()
            .unwrap()
            .layers()
            .iter()
            .map(|layer| (layer.seq, layer.end))
            .collect();
        let all = kernel.dump();
        let within = undo(&kernel, &disk, UndoTarget::To(ends[1].0), Force::No);
        assert!(
            matches!(&within, Err(ApplyError::Within { name, end, .. }) if name == "fast" && *end == ends[1].1),
            "{within:?}"
        );
        assert!(!run_undo(&kernel, &disk, UndoTarget::To(ends[2].1)).was_in_force);
        same(&kernel, &all, "nothing began after the last record");
        let undone = run_undo(&kernel, &disk, UndoTarget::To(ends[0].1));
        assert_eq!(undone.undone_partitions, ["third", "fast"]);
        assert!(undone.equal(), "{:?}", undone.remains());
        same(&kernel, &alone(rules, &[RT]), "back to the end of the first");
        let undone = run_undo(&kernel, &disk, UndoTarget::To(0));
        assert_eq!(undone.undone_partitions, ["rt"]);
        same(&kernel, &alone(rules, &[]), "back to the beginning");
    }
}

/// No record of the first apply contains the task. The second must not take the mask that the first left it for a pin.
#[test]
fn a_task_created_between_two_applies_gets_its_full_mask_back() {
    for rules in ALL_RULES {
        let kernel = boot(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, FAST).unwrap();
        let parent = kernel.task(100);
        let newborn = SimTask {
            tid: 400,
            pid: 400,
            ppid: 100,
            ..parent
        };
        let before = newborn.mask.to_string();
        assert_eq!(before, "0-1,3", "{rules:?}");
        kernel.tasks.borrow_mut().push(newborn);
        kernel.render();
        isolate(&kernel, &disk, RT).unwrap();
        assert_eq!(kernel.task(400).mask.to_string(), "0-1", "{rules:?}");
        let undone = run_undo(&kernel, &disk, UndoTarget::Named("rt"));
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(kernel.task(400).mask.to_string(), before, "{rules:?}");
        run_undo(&kernel, &disk, UndoTarget::All);
        assert_eq!(kernel.task(400).mask.to_string(), "0-3", "{rules:?}");
    }
}

#[test]
fn a_task_in_a_remaining_partition_is_left_alone() {
    for rules in ALL_RULES {
        let kernel = boot(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, RT).unwrap();
        let (dir, list) = match rules {
            Rules::V2 => ("quietcore-rt", "cgroup.procs"),
            _ => ("rt", "tasks"),
        };
        let door = format!("{}/{dir}/{list}", kernel.mount_point());
        kernel.write(&door, "100").unwrap();
        let place = |kernel: &SimKernel| {
            let task = kernel.task(100);
            (task.cgroup, task.mask.to_string(), task.user_mask)
        };
        let inside = place(&kernel);
        assert_eq!(inside.1, "3");
        isolate(&kernel, &disk, FAST).unwrap();
        assert_eq!(place(&kernel), inside, "{rules:?}");
        let undone = run_undo(&kernel, &disk, UndoTarget::Named("fast"));
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(place(&kernel), inside, "{rules:?}");
        let undone = run_undo(&kernel, &disk, UndoTarget::All);
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(
            (place(&kernel).0, place(&kernel).1),
            ("/".to_owned(), "0-3".to_owned()),
            "{rules:?}"
        );
    }
}

#[test]
fn a_kill_while_a_second_partition_is_applied_keeps_the_first() {
    for rules in ALL_RULES {
        let (clean, first) = (alone(rules, &[]), alone(rules, &[RT]));
        let kernel = boot(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, RT).unwrap();
        let begin = kernel.steps.get();
        isolate(&kernel, &disk, FAST).unwrap();
        let mut tried = 0;
        for step in begin + 1..=kernel.steps.get() {
            for death in [Death::Before(step), Death::After(step), Death::Torn(step)] {
                let what = format!("{rules:?} {death:?}");
                let kernel = boot(rules);
                let disk = SimDisk::new(&kernel);
                isolate(&kernel, &disk, RT).unwrap();
                kernel.death.set(death);
                assert!(dies(|| drop(isolate(&kernel, &disk, FAST))), "{what} did not die");
                kernel.death.set(Death::Never);
                // A kill before the first record or after the last one leaves nothing unfinished.
                let undone = match isolate(&kernel, &disk, RT) {
                    Ok(_) => undo(&kernel, &disk, UndoTarget::Named("fast"), Force::No),
                    Err(ApplyError::Unfinished { .. }) => Ok(run_undo(&kernel, &disk, UndoTarget::Last)),
                    Err(error) => panic!("{what}: {error}"),
                };
                match undone {
                    Ok(undone) => assert!(undone.equal(), "{what}: {:?}", undone.remains()),
                    Err(ApplyError::NoPartition { .. }) => {}
                    Err(error) => panic!("{what}: {error}"),
                }
                same(&kernel, &first, &what);
                let undone = run_undo(&kernel, &disk, UndoTarget::All);
                assert!(undone.equal(), "{what}: {:?}", undone.remains());
                same(&kernel, &clean, &what);
                tried += 1;
            }
        }
        println!("{rules:?}: {tried} of {tried} deaths while a second partition came were taken back");
    }
}

#[test]
fn a_kill_while_the_first_partition_is_undone_keeps_the_second() {
    for rules in ALL_RULES {
        let (clean, second) = (alone(rules, &[]), alone(rules, &[FAST]));
        let both = |kernel: &SimKernel, disk: &SimDisk| {
            isolate(kernel, disk, RT).unwrap();
            isolate(kernel, disk, FAST).unwrap();
        };
        let kernel = boot(rules);
        let disk = SimDisk::new(&kernel);
        both(&kernel, &disk);
        let begin = kernel.steps.get();
        run_undo(&kernel, &disk, UndoTarget::Named("rt"));
        let mut tried = 0;
        for step in begin + 1..=kernel.steps.get() {
            for death in [Death::Before(step), Death::After(step), Death::Torn(step)] {
                let what = format!("{rules:?} {death:?}");
                let kernel = boot(rules);
                let disk = SimDisk::new(&kernel);
                both(&kernel, &disk);
                kernel.death.set(death);
                let died = dies(|| drop(run_undo(&kernel, &disk, UndoTarget::Named("rt"))));
                assert!(died, "{what} did not die");
                kernel.death.set(Death::Never);
                match undo(&kernel, &disk, UndoTarget::Named("rt"), Force::No) {
                    Ok(undone) => assert!(undone.equal(), "{what}: {:?}", undone.remains()),
                    Err(ApplyError::NoPartition { .. }) => {}
                    Err(error) => panic!("{what}: {error}"),
                }
                same(&kernel, &second, &what);
                let undone = run_undo(&kernel, &disk, UndoTarget::Last);
                assert!(undone.equal(), "{what}: {:?}", undone.remains());
                same(&kernel, &clean, &what);
                tried += 1;
            }
        }
        println!("{rules:?}: {tried} of {tried} deaths while the first of two went were taken back");
    }
}

#[test]
fn a_repeated_apply_finds_no_drift_caused_by_the_other_partition() {
    const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";
    for rules in ALL_RULES {
        let kernel = SimKernel::boot_with_settings(rules);
        let disk = SimDisk::new(&kernel);
        // Later kernels keep unbound work away from a partition themselves, so there is nothing left to write.
        let takes = |mask: &'static str| {
            let kernel = &kernel;
            move || kernel.put(WORKQUEUES, mask)
        };
        isolate_by(&kernel, &disk, RT, Profile::Balanced, takes("7\n")).unwrap();
        isolate_by(&kernel, &disk, FAST, Profile::Minimal, takes("3\n")).unwrap();
        let steps = kernel.steps.get();
        let again = |partition, profile| isolate_by(&kernel, &disk, partition, profile, || {}).unwrap();
        for (partition, profile) in [(RT, Profile::Balanced), (FAST, Profile::Minimal)] {
            let again = again(partition, profile);
            assert!(
                again.in_force && again.findings.is_empty(),
                "{rules:?}: {:?}",
                again.findings
            );
        }
        kernel.put("/sys/devices/virtual/workqueue/writeback/cpumask", "f\n");
        kernel.put(WORKQUEUES, "8\n");
        let found = again(RT, Profile::Balanced).findings;
        assert_eq!(
            found.len(),
            2,
            "{rules:?}: what somebody else changed is still found: {found:?}"
        );
        assert_eq!(kernel.steps.get(), steps, "{rules:?}");
    }
}

#[test]
fn cpus_and_names_already_in_use_are_refused() {
    for rules in ALL_RULES {
        let kernel = boot(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, RT).unwrap();
        let (in_force, steps) = (kernel.dump(), kernel.steps.get());
        assert!(matches!(
            isolate(&kernel, &disk, ("rt", "2")),
            Err(ApplyError::OtherIntent { .. })
        ));
        let gone = undo(&kernel, &disk, UndoTarget::Named("other"), Force::No);
        assert!(matches!(gone, Err(ApplyError::NoPartition { .. })));
        let gone = undo(&kernel, &disk, UndoTarget::Named("rtt"), Force::No).unwrap_err();
        assert!(gone.to_string().contains("did you mean rt?"), "{gone}");
        assert_eq!((kernel.dump(), kernel.steps.get()), (in_force, steps), "{rules:?}");
    }
}

#[test]
fn one_boot_line_serves_all_partitions() {
    let kernel = boot(Rules::V2);
    let machine = Machine::read(kernel.root());
    let of = |(name, cpus): (&str, &str)| {
        Intent::new(
            PartitionName::new(name).unwrap(),
            CpuSet::parse_list(cpus).unwrap(),
            Profile::Balanced,
        )
    };
    let settings = machine::settings::for_cpus(kernel.root(), &of(FAST).cpus, plan::knobs::planned());
    let plan = plan::plan_beside(&machine, &settings, &of(FAST), &[of(RT)]).unwrap();
    assert_eq!(plan.housekeeping.to_string(), "0-1");
    let line = plan.boot_line.unwrap();
    assert!(
        line.contains("nohz_full=2-3") && line.contains("irqaffinity=0-1"),
        "{line}"
    );
    let taken = plan::plan_beside(&machine, &settings, &of(("fast", "3")), &[of(RT)]);
    assert!(matches!(
        taken,
        Err(plan::PlanRefusal::Cpus(plan::CpuRefusal::CpusInUse { .. }))
    ));
}
