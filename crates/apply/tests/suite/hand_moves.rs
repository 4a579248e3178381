//! Level 3 for `run` and `move`: tasks are moved in and out of a partition, with a kill at every step. Undo returns all
//! of them to their original cgroups.

use crate::support::rehearsal::acting::dies;
use crate::support::rehearsal::moving::{
    end, fork, inside, isolate, isolate_cpus, move_in_one, parcel, places, undone,
};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel, SimTask, set};
use apply::{
    ChangeOutcome, Journal, MoveContext, PartitionTasks, PlannedMove, System, TaskDestination, TaskOrigins, ThreadMove,
    relocate,
};
use machine::{CpuSet, Machine};

const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];

/// A kernel with a task to move. CPUs 2-3 are isolated later.
pub fn isolated(rules: Rules) -> SimKernel {
    let kernel = SimKernel::boot(rules);
    kernel.tasks.borrow_mut().push(SimTask {
        tid: 110,
        pid: 110,
        ppid: 1,
        comm: "app",
        flags: 0,
        mask: set("0-3"),
        user_mask: None,
        cgroup: "/".to_owned(),
    });
    kernel.render();
    kernel
}

/// Moves in an unpinned task, one pinned elsewhere, and one to be pinned inside the partition.
pub fn move_in(kernel: &SimKernel, disk: &SimDisk) -> Vec<apply::Arrival> {
    let machine = Machine::read(kernel.root());
    let mut journal = Journal::open(disk).unwrap().unwrap();
    let to = inside(kernel);
    let parcels = [
        parcel(&to, 100, None),
        parcel(&to, 102, None),
        parcel(&to, 110, Some("3")),
    ];
    let context = MoveContext {
        system: kernel,
        hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
        isolated: &set("2-3"),
    };
    relocate(&context, &mut journal, &parcels).unwrap()
}

fn move_out(kernel: &SimKernel, disk: &SimDisk, tids: &[u32]) -> Vec<apply::Arrival> {
    let machine = Machine::read(kernel.root());
    let hierarchy = machine.cgroups.cpuset.as_ref().unwrap();
    let mut journal = Journal::open(disk).unwrap().unwrap();
    let homes = TaskOrigins::read(journal.records());
    let isolated = set("2-3");
    let context = MoveContext {
        system: kernel,
        hierarchy,
        isolated: &isolated,
    };
    let otherwise = if kernel.rules == Rules::V2 {
        kernel.mount_point().to_owned()
    } else {
        format!("{}/housekeeping", kernel.mount_point())
    };
    let parcels: Vec<PlannedMove> = tids
        .iter()
        .map(|tid| {
            let task = machine::tasks::read_one(kernel.root(), *tid).unwrap();
            let (to, pin, policy) = homes.of(&context, &task, &inside(kernel), &otherwise);
            let tid = *tid;
            PlannedMove {
                tasks: vec![ThreadMove { tid, pin, policy }],
                ..parcel(&to, tid, None)
            }
        })
        .collect();
    relocate(&context, &mut journal, &parcels).unwrap()
}

/// The mask that the next change of its cpuset would give a task. It is invisible until then.
fn after_next_change(kernel: &SimKernel, tid: u32) -> Option<String> {
    let tasks = kernel.tasks.borrow();
    let task = tasks.iter().find(|task| task.tid == tid)?;
    task.user_mask.as_ref().map(CpuSet::to_string)
}

#[test]
fn moved_tasks_run_inside_and_undo_returns_them() {
    for rules in ALL_RULES {
        let kernel = isolated(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk);
        fork(&kernel, 102, 202);
        let arrivals = move_in(&kernel, &disk);
        assert!(
            arrivals.iter().all(|one| one.outcome == ChangeOutcome::Done),
            "{rules:?}"
        );
        let group = inside(&kernel).replace(kernel.mount_point(), "");
        let now = places(&kernel);
        for (tid, mask) in [(100, "2-3"), (102, "2-3"), (110, "3")] {
            assert_eq!(now[&tid], (group.clone(), mask.to_owned()), "{rules:?} {tid}");
        }
        fork(&kernel, 110, 210);
        undone(&kernel, &disk, &format!("{rules:?}"));
        let now = places(&kernel);
        for (tid, mask) in [(100, "0-3"), (102, "1"), (110, "0-3"), (202, "1"), (210, "0-3")] {
            assert_eq!(now[&tid], ("/".to_owned(), mask.to_owned()), "{rules:?} {tid}");
        }
    }
}

#[test]
fn tasks_moved_out_return_to_their_cgroup_and_undo_restores_the_mask() {
    for rules in ALL_RULES {
        let kernel = isolated(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk);
        let before = places(&kernel);
        move_in(&kernel, &disk);
        fork(&kernel, 110, 210);
        move_out(&kernel, &disk, &[100, 102, 110, 210]);
        let mut now = places(&kernel);
        let child = now.remove(&210).unwrap();
        assert_eq!(now, before, "{rules:?}");
        assert_eq!(child, before[&110], "{rules:?}: the child goes to its parent's place");
        for tid in [110, 210] {
            assert_ne!(after_next_change(&kernel, tid).as_deref(), Some("3"), "{rules:?} {tid}");
        }
        undone(&kernel, &disk, &format!("{rules:?}"));
        let now = places(&kernel);
        for (tid, mask) in [(100, "0-3"), (102, "1"), (110, "0-3"), (210, "0-3")] {
            assert_eq!(now[&tid], ("/".to_owned(), mask.to_owned()), "{rules:?} {tid}");
        }
    }
}

const NEW_TASK: u32 = 111;

/// A task is forked from task 100 after the apply and pins itself. Only the record of its move knows its mask.
fn create_task(kernel: &SimKernel) {
    fork(kernel, 100, NEW_TASK);
    kernel.set_affinity(NEW_TASK, &set("1")).unwrap();
}

fn in_and_out(kernel: &SimKernel, disk: &SimDisk) {
    move_in(kernel, disk);
    move_in_one(kernel, disk, NEW_TASK);
    move_out(kernel, disk, &[100, 102, 110, NEW_TASK]);
}

#[test]
fn a_kill_at_any_step_of_a_move_is_undone() {
    for rules in ALL_RULES {
        let whole = isolated(rules);
        let disk = SimDisk::new(&whole);
        isolate(&whole, &disk);
        create_task(&whole);
        let first = whole.steps.get() + 1;
        in_and_out(&whole, &disk);
        let last = whole.steps.get();
        assert!(last - first > 8, "{rules:?}: {first} to {last}");
        // Right after a step is the same as right before the next one.
        let deaths = (first..=last).flat_map(|step| [Death::Before(step), Death::Torn(step)]);
        for death in deaths.chain([Death::After(last)]) {
            let kernel = isolated(rules);
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            isolate(&kernel, &disk);
            create_task(&kernel);
            kernel.death.set(death);
            let what = format!("{rules:?} {death:?}");
            assert!(dies(|| in_and_out(&kernel, &disk)), "{what} did not die");
            kernel.death.set(Death::Never);
            undone(&kernel, &disk, &what);
            assert_eq!(places(&kernel)[&NEW_TASK], ("/".to_owned(), "1".to_owned()), "{what}");
            kernel.tasks.borrow_mut().retain(|task| task.tid != NEW_TASK);
            kernel.render();
            let mut after = kernel.dump();
            after.retain(|path, _| !path.starts_with(&format!("proc/{NEW_TASK}/")));
            assert_eq!(after, before, "{what}");
        }
        println!(
            "{rules:?}: {} deaths during moves taken back",
            (last - first + 1) * 2 + 1
        );
    }
}

/// Moves a program in and lets it exit, this many times.
fn move_in_and_out(kernel: &SimKernel, disk: &SimDisk, times: u32) {
    for tid in (0..times).map(|number| 1_000 + number) {
        fork(kernel, 1, tid);
        move_in_one(kernel, disk, tid);
        end(kernel, tid);
    }
}

#[test]
fn ended_programs_leave_the_journal_and_running_ones_are_returned() {
    let kernel = isolated(Rules::V2);
    let before = places(&kernel);
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk);
    move_in(&kernel, &disk);
    let size = || std::fs::metadata(disk.dir.path().join("journal")).unwrap().len();
    let first = size();
    move_in_and_out(&kernel, &disk, 127);
    let most = size();
    move_in_and_out(&kernel, &disk, 300);
    assert!(size() <= most, "{first} bytes, then {most}, then {}", size());
    undone(&kernel, &disk, "after 427 programs");
    assert_eq!(places(&kernel), before);
}

#[test]
fn a_kill_while_the_journal_is_shortened_loses_nothing() {
    for kind in [Death::Before, Death::Torn, Death::After] {
        for step in 1..=3 {
            let kernel = isolated(Rules::V2);
            let before = places(&kernel);
            let disk = SimDisk::new(&kernel);
            isolate(&kernel, &disk);
            move_in(&kernel, &disk);
            let has = |disk: &SimDisk| Journal::open(disk).unwrap().unwrap().records().len();
            move_in_and_out(&kernel, &disk, 127);
            let (full, death) = (has(&disk), kind(kernel.steps.get() + step));
            fork(&kernel, 1, 2_000);
            kernel.death.set(death);
            assert!(dies(|| move_in_one(&kernel, &disk, 2_000)), "{death:?}");
            kernel.death.set(Death::Never);
            let is_short = step > 1 || matches!(death, Death::After(_));
            assert_eq!(has(&disk) < full, is_short, "{death:?}: {full}, then {}", has(&disk));
            undone(&kernel, &disk, &format!("{death:?}"));
            let mut now = places(&kernel);
            now.remove(&2_000);
            assert_eq!(now, before, "{death:?}");
        }
    }
}

#[test]
fn programs_are_moved_back_into_a_recreated_partition() {
    for rules in ALL_RULES {
        let kernel = isolated(rules);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk);
        move_in(&kernel, &disk);
        let group = inside(&kernel).replace(kernel.mount_point(), "");
        // From 6.2 on the kernel remembers that the task was pinned to CPU 1, which is now inside.
        let own = if rules == Rules::V1DropsPins { "1-3" } else { "1" };
        for (then, cpus, masks, child) in [
            ("2-3", "1-3", [(100, "1-3"), (102, own), (110, "3")], 301),
            ("1-3", "3", [(100, "3"), (102, "3"), (110, "3")], 302),
            ("3", "2", [(100, "2"), (102, "2"), (110, "2")], 303),
        ] {
            let what = format!("{rules:?}: {then} becomes {cpus}");
            let there = inside(&kernel);
            let (former, isolated) = (set(then), set(cpus));
            let version = Machine::read(kernel.root()).cgroups.cpuset.unwrap().version;
            let inhabitants = {
                let journal = Journal::open(&disk).unwrap().unwrap();
                let dwelling = TaskDestination {
                    path: &there,
                    cpus: &former,
                };
                PartitionTasks::of(&kernel, journal.records(), version, dwelling).unwrap()
            };
            undone(&kernel, &disk, &what);
            fork(&kernel, 100, child);
            isolate_cpus(&kernel, &disk, cpus);
            let machine = Machine::read(kernel.root());
            let context = MoveContext {
                system: &kernel,
                hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
                isolated: &isolated,
            };
            let dwelling = TaskDestination {
                path: &there,
                cpus: &isolated,
            };
            let mut journal = Journal::open(&disk).unwrap().unwrap();
            let arrivals = inhabitants.move_back(&context, &mut journal, dwelling).unwrap();
            assert!(arrivals.iter().all(|one| one.outcome == ChangeOutcome::Done), "{what}");
            let now = places(&kernel);
            for (tid, mask) in masks.into_iter().chain([(child, cpus)]) {
                assert_eq!(now[&tid], (group.clone(), mask.to_owned()), "{what}: {tid}");
            }
            assert_ne!(now[&101].0, group, "{what}: only who was in comes in");
        }
        undone(&kernel, &disk, &format!("{rules:?}"));
        kernel.tasks.borrow_mut().retain(|task| task.tid < 300);
        kernel.render();
        let gone: Vec<String> = [301, 302, 303].map(|tid| format!("proc/{tid}/")).to_vec();
        let mut after = kernel.dump();
        after.retain(|path, _| !gone.iter().any(|dir| path.starts_with(dir)));
        assert_eq!(after, before, "{rules:?}");
    }
}

#[test]
fn refused_moves_are_reported_and_move_nothing() {
    for rules in ALL_RULES {
        let kernel = isolated(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk);
        let before = places(&kernel);
        let machine = Machine::read(kernel.root());
        let mut journal = Journal::open(&disk).unwrap().unwrap();
        let isolated = set("2-3");
        let context = MoveContext {
            system: &kernel,
            hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
            isolated: &isolated,
        };
        let to = inside(&kernel);
        let arrivals = relocate(&context, &mut journal, &[parcel(&to, 15, None), parcel(&to, 999, None)]).unwrap();
        assert_eq!(arrivals.len(), 1, "{rules:?}: a task that is not there has no arrival");
        assert_eq!(arrivals[0].outcome, ChangeOutcome::Refused(libc::EINVAL), "{rules:?}");
        assert_eq!(places(&kernel), before, "{rules:?}");
    }
}

/// The kernel accepts the number of an exiting task and moves nothing. The task has ended; no other program has moved
/// it.
#[test]
fn a_task_that_exits_during_its_move_is_reported_as_ended() {
    for rules in ALL_RULES {
        let kernel = isolated(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk);
        for task in kernel.tasks.borrow_mut().iter_mut() {
            if task.tid == 110 {
                task.flags |= machine::Task::PF_EXITING;
            }
        }
        kernel.render();
        let arrivals = move_in(&kernel, &disk);
        let outcomes = arrivals
            .iter()
            .map(|arrival| (arrival.before.key.tid, &arrival.outcome));
        let wanted = [
            (100, &ChangeOutcome::Done),
            (102, &ChangeOutcome::Done),
            (110, &ChangeOutcome::Gone),
        ];
        assert_eq!(outcomes.collect::<Vec<_>>(), wanted, "{rules:?}");
    }
}
