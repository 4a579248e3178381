//! Level 3 for a process with one thread in a threaded partition (v2), beside a shield whose named set takes all other
//! tasks. In either order, no thread is taken out of the partition, and each undo restores the original state.

use crate::support::rehearsal::acting::{dies, isolate_as, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel, SimTask};
use apply::{
    ChangeOutcome, Force, Journal, MoveContext, MovePurpose, MoveUnit, PlannedMove, System, ThreadMove, UndoTarget,
    relocate,
};
use machine::{CpuSet, Machine};
use plan::{Intent, PartitionName, Profile};
use std::collections::BTreeMap;

const RT: &str = "/quietcore-rt";
const SYSTEM: &str = "/quietcore-system";

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

/// Boots with a process of three threads in the root, from which `cset` moves tasks, and one of two threads in a slice.
fn boot() -> SimKernel {
    let kernel = SimKernel::boot(Rules::V2);
    kernel.make_dir("/sys/fs/cgroup/slice").unwrap();
    let rows = [
        (120, 120, "/", "0-3", None),
        (121, 120, "/", "0-3", None),
        (122, 120, "/", "1", Some("1")),
        (130, 130, "/slice", "0-3", None),
        (131, 130, "/slice", "0-3", None),
    ];
    for (tid, pid, cgroup, mask, user) in rows {
        kernel.tasks.borrow_mut().push(SimTask {
            tid,
            pid,
            ppid: 1,
            comm: "divided",
            flags: 0,
            mask: set(mask),
            user_mask: user.map(set),
            cgroup: cgroup.to_owned(),
        });
    }
    kernel.render();
    kernel
}

fn partition(kernel: &SimKernel, disk: &SimDisk) {
    let intent = Intent::new(PartitionName::new("rt").unwrap(), set("3"), Profile::Minimal);
    isolate_as(kernel, disk, &intent, || {}).unwrap();
}

fn shield(kernel: &SimKernel, disk: &SimDisk, who: &str) {
    let mut intent = Intent::new(PartitionName::new("user").unwrap(), set("2"), Profile::Minimal);
    intent.housekeeping = Some(PartitionName::new("system").unwrap());
    intent.take("cpuset_partition=root").unwrap();
    intent.take(&format!("task_placement={who}")).unwrap();
    isolate_as(kernel, disk, &intent, || {}).unwrap();
}

/// Moves one thread of each process alone into a partition.
fn divide(kernel: &SimKernel, disk: &SimDisk, to: &str) {
    for tid in [121, 131] {
        let machine = Machine::read(kernel.root());
        let mut journal = Journal::open(disk).unwrap().unwrap();
        let ground = MoveContext {
            system: kernel,
            hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
            isolated: &set("2-3"),
        };
        let alone = PlannedMove {
            tid,
            unit: MoveUnit::Thread,
            to: format!("/sys/fs/cgroup{to}"),
            tasks: vec![ThreadMove {
                tid,
                pin: None,
                policy: None,
            }],
            later: Vec::new(),
            stay: MovePurpose::Belongs,
        };
        let arrivals = relocate(&ground, &mut journal, &[alone]).unwrap();
        assert!(arrivals.iter().all(|one| one.outcome == ChangeOutcome::Done), "{tid}");
    }
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk, name: &str, what: &str) {
    let undone = undo(kernel, disk, UndoTarget::Named(name), Force::No).unwrap();
    assert!(undone.equal(), "{what}, {name}: {:?}", undone.remains());
}

fn places(kernel: &SimKernel) -> BTreeMap<u32, (String, String)> {
    let tasks = kernel.tasks.borrow();
    let rows = tasks
        .iter()
        .map(|task| (task.tid, (task.cgroup.clone(), task.mask.to_string())));
    rows.collect()
}

fn inside(kernel: &SimKernel, dir: &str) -> Vec<u32> {
    let tasks = kernel.tasks.borrow();
    let inside = tasks.iter().filter(|task| task.cgroup == dir);
    inside.map(|task| task.tid).collect()
}

#[test]
fn a_shield_moves_no_thread_out_of_a_threaded_partition() {
    for who in ["user", "all"] {
        for order in [["user", "rt"], ["rt", "user"]] {
            let kernel = boot();
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            partition(&kernel, &disk);
            divide(&kernel, &disk, RT);
            let divided = places(&kernel);
            shield(&kernel, &disk, who);
            let what = format!("{who} {order:?}");
            assert_eq!(inside(&kernel, RT), [121, 131], "{what}");
            assert!(inside(&kernel, SYSTEM).contains(&100), "{what}");
            run_undo(&kernel, &disk, order[0], &what);
            if order[0] == "user" {
                assert_eq!(places(&kernel), divided, "{what}");
            }
            run_undo(&kernel, &disk, order[1], &what);
            assert_eq!(kernel.dump(), before, "{what}");
        }
    }
}

#[test]
fn a_thread_enters_a_partition_next_to_a_shield_and_is_returned() {
    for who in ["user", "all"] {
        for order in [["user", "rt"], ["rt", "user"]] {
            let kernel = boot();
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            shield(&kernel, &disk, who);
            partition(&kernel, &disk);
            let shielded = places(&kernel);
            divide(&kernel, &disk, RT);
            let what = format!("{who} {order:?}");
            assert_eq!(inside(&kernel, RT), [121, 131], "{what}");
            run_undo(&kernel, &disk, order[0], &what);
            match order[0] {
                "user" => assert_eq!(inside(&kernel, RT), [121, 131], "{what}"),
                _ => {
                    let now: Vec<String> = places(&kernel).into_values().map(|(place, _)| place).collect();
                    let then: Vec<String> = shielded.into_values().map(|(place, _)| place).collect();
                    assert_eq!(now, then, "{what}");
                }
            }
            run_undo(&kernel, &disk, order[1], &what);
            assert_eq!(kernel.dump(), before, "{what}");
        }
    }
}

#[test]
fn a_kill_while_shielding_next_to_a_divided_process_is_undone() {
    let whole = boot();
    let disk = SimDisk::new(&whole);
    partition(&whole, &disk);
    divide(&whole, &disk, RT);
    let first = whole.steps.get() + 1;
    shield(&whole, &disk, "user");
    let last = whole.steps.get();
    assert!(last - first > 20, "{first} to {last}");
    for death in (first..=last).flat_map(|step| [Death::Before(step), Death::After(step), Death::Torn(step)]) {
        let kernel = boot();
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        partition(&kernel, &disk);
        divide(&kernel, &disk, RT);
        let divided = places(&kernel);
        kernel.death.set(death);
        assert!(dies(|| shield(&kernel, &disk, "user")), "{death:?} did not die");
        kernel.death.set(Death::Never);
        let what = format!("{death:?}");
        let undone = undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap();
        assert!(undone.equal(), "{what}: {:?}", undone.remains());
        if undone.undone_partitions == ["user"] {
            assert_eq!(places(&kernel), divided, "{what}");
            run_undo(&kernel, &disk, "rt", &what);
        }
        assert_eq!(kernel.dump(), before, "{what}");
    }
}

#[test]
fn undoing_a_threaded_shield_returns_every_task() {
    for who in ["user", "all"] {
        let kernel = boot();
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        shield(&kernel, &disk, who);
        divide(&kernel, &disk, "/quietcore-user");
        run_undo(&kernel, &disk, "user", who);
        assert_eq!(kernel.dump(), before, "{who}");
    }
}
