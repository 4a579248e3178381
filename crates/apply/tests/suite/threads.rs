//! Level 3 for single threads in a threaded partition (v2): the rest of their process waits outside, with a kill at
//! every step. Undo returns all of them to their original cgroups.

use crate::support::rehearsal::acting::dies;
use crate::support::rehearsal::moving::{fork, inside, isolate, move_in_one, parcel, places, undone};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel, SimTask, set};
use apply::{ChangeOutcome, Journal, MoveContext, MoveUnit, PlannedMove, System, relocate};
use machine::Machine;

/// Boots with a process of three threads in a slice, beside the usual tasks.
pub fn with_threads() -> SimKernel {
    let kernel = SimKernel::boot(Rules::V2);
    kernel.make_dir("/sys/fs/cgroup/slice").unwrap();
    for (tid, mask, user) in [(120, "0-3", None), (121, "0-3", None), (122, "1", Some("1"))] {
        kernel.tasks.borrow_mut().push(SimTask {
            tid,
            pid: 120,
            ppid: 1,
            comm: "divided",
            flags: 0,
            mask: set(mask),
            user_mask: user.map(set),
            cgroup: "/slice".to_owned(),
        });
    }
    kernel.render();
    kernel
}

/// Moves two threads of it into the partition, one at a time.
pub fn divide(kernel: &SimKernel, disk: &SimDisk) {
    for tid in [121, 122] {
        let machine = Machine::read(kernel.root());
        let mut journal = Journal::open(disk).unwrap().unwrap();
        let ground = MoveContext {
            system: kernel,
            hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
            isolated: &set("2-3"),
        };
        let alone = PlannedMove {
            unit: MoveUnit::Thread,
            ..parcel(&inside(kernel), tid, None)
        };
        let arrivals = relocate(&ground, &mut journal, &[alone]).unwrap();
        assert!(arrivals.iter().all(|one| one.outcome == ChangeOutcome::Done), "{tid}");
    }
}

#[test]
fn a_single_thread_is_moved_in_and_its_process_waits_outside() {
    let kernel = with_threads();
    let before = kernel.dump();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk);
    divide(&kernel, &disk);
    let now = places(&kernel);
    let place = |tid: u32| (now[&tid].0.as_str(), now[&tid].1.as_str());
    assert_eq!(place(120), ("/", "0-1"));
    assert_eq!(place(121), ("/quietcore-rt", "2-3"));
    assert_eq!(place(122), ("/quietcore-rt", "2-3"));
    // The waiting thread forks. Its child waits as well and returns to the parent's original cgroup.
    fork(&kernel, 120, 220);
    undone(&kernel, &disk, "threads");
    assert_eq!(places(&kernel)[&220], ("/slice".to_owned(), "0-3".to_owned()));
    kernel.tasks.borrow_mut().retain(|task| task.tid != 220);
    kernel.render();
    let mut after = kernel.dump();
    after.retain(|path, _| !path.starts_with("proc/220/"));
    assert_eq!(after, before);
}

#[test]
fn a_waiting_process_is_returned_when_its_threads_inside_have_ended() {
    let kernel = with_threads();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk);
    divide(&kernel, &disk);
    kernel.tasks.borrow_mut().retain(|task| !matches!(task.tid, 121 | 122));
    for tid in [121, 122] {
        std::fs::remove_dir_all(kernel.dir.path().join(format!("proc/120/task/{tid}"))).unwrap();
    }
    kernel.render();
    undone(&kernel, &disk, "ended threads");
    assert_eq!(places(&kernel)[&120], ("/slice".to_owned(), "0-3".to_owned()));
}

#[test]
fn a_partition_with_processes_refuses_single_threads() {
    let kernel = with_threads();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk);
    move_in_one(&kernel, &disk, 100);
    let before = places(&kernel);
    let machine = Machine::read(kernel.root());
    let mut journal = Journal::open(&disk).unwrap().unwrap();
    let isolated = set("2-3");
    let ground = MoveContext {
        system: &kernel,
        hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
        isolated: &isolated,
    };
    let to = inside(&kernel);
    assert_eq!(
        apply::threads::threshold(&ground, 121, &to),
        apply::threads::ThreadMoveObstacle::Populated
    );
    let alone = PlannedMove {
        unit: MoveUnit::Thread,
        ..parcel(&to, 121, None)
    };
    let arrivals = relocate(&ground, &mut journal, &[alone]).unwrap();
    assert_eq!(arrivals[0].outcome, ChangeOutcome::Refused(libc::EOPNOTSUPP));
    assert_eq!(places(&kernel), before);
    undone(&kernel, &disk, "refused");
}

/// Moves both threads out to their waiting process, and then the whole process back to its original cgroup.
fn move_out(kernel: &SimKernel, disk: &SimDisk) {
    let machine = Machine::read(kernel.root());
    let mut journal = Journal::open(disk).unwrap().unwrap();
    let ground = MoveContext {
        system: kernel,
        hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
        isolated: &set("2-3"),
    };
    for tid in [121, 122] {
        let alone = PlannedMove {
            unit: MoveUnit::Thread,
            ..parcel("/sys/fs/cgroup", tid, None)
        };
        relocate(&ground, &mut journal, &[alone]).unwrap();
    }
    let one = |tid: u32| parcel("/sys/fs/cgroup/slice", tid, None);
    let whole = PlannedMove {
        unit: MoveUnit::Process,
        tasks: [120, 121, 122].into_iter().flat_map(|tid| one(tid).tasks).collect(),
        ..one(120)
    };
    relocate(&ground, &mut journal, &[whole]).unwrap();
    let now = places(kernel);
    assert!([120, 121, 122].iter().all(|tid| now[tid].0 == "/slice"), "{now:?}");
}

/// Kills the tool at every step of what `act` does to a divided process, after `ready` ran.
fn dies_everywhere(ready: fn(&SimKernel, &SimDisk), act: fn(&SimKernel, &SimDisk)) {
    let whole = with_threads();
    let disk = SimDisk::new(&whole);
    isolate(&whole, &disk);
    ready(&whole, &disk);
    let first = whole.steps.get() + 1;
    act(&whole, &disk);
    let last = whole.steps.get();
    assert!(last - first >= 8, "{first} to {last}");
    let deaths = (first..=last).flat_map(|step| [Death::Before(step), Death::Torn(step)]);
    for death in deaths.chain([Death::After(last)]) {
        let kernel = with_threads();
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk);
        ready(&kernel, &disk);
        kernel.death.set(death);
        assert!(dies(|| act(&kernel, &disk)), "{death:?} did not die");
        kernel.death.set(Death::Never);
        undone(&kernel, &disk, &format!("{death:?}"));
        assert_eq!(kernel.dump(), before, "{death:?}");
    }
}

#[test]
fn a_kill_at_any_step_of_dividing_a_process_is_undone() {
    dies_everywhere(|_, _| {}, divide);
}

#[test]
fn a_kill_at_any_step_of_moving_threads_out_is_undone() {
    dies_everywhere(divide, move_out);
}
