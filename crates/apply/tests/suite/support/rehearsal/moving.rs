//! Support for tests of moves: a partition, the tasks that move in, and where every task is.

use super::acting::isolate_as;
use super::acting::undo;
use super::{Rules, SimDisk, SimKernel, SimTask, set};
use apply::{
    Force, Journal, MoveContext, MovePurpose, MoveUnit, PlannedMove, System, ThreadMove, UndoTarget, relocate,
};
use machine::Machine;
use plan::{Intent, PartitionName, Profile};
use std::collections::BTreeMap;

/// Makes CPUs 2 and 3 the partition `rt`.
pub fn isolate(kernel: &SimKernel, disk: &SimDisk) {
    isolate_cpus(kernel, disk, "2-3");
}

/// Like [`isolate`], with these CPUs.
pub fn isolate_cpus(kernel: &SimKernel, disk: &SimDisk, cpus: &str) {
    let intent = Intent::new(PartitionName::new("rt").unwrap(), set(cpus), Profile::Balanced);
    isolate_as(kernel, disk, &intent, || {}).unwrap();
}

/// Forks a child with the cgroup and the mask of its parent.
pub fn fork(kernel: &SimKernel, ppid: u32, tid: u32) {
    let child = {
        let tasks = kernel.tasks.borrow();
        let parent = tasks.iter().find(|task| task.tid == ppid).unwrap();
        SimTask {
            tid,
            pid: tid,
            ppid,
            comm: "child",
            flags: 0,
            mask: parent.mask.clone(),
            user_mask: parent.user_mask.clone(),
            cgroup: parent.cgroup.clone(),
        }
    };
    kernel.tasks.borrow_mut().push(child);
    kernel.render();
}

/// Ends a process with one thread.
pub fn end(kernel: &SimKernel, tid: u32) {
    kernel.tasks.borrow_mut().retain(|task| task.tid != tid);
    for file in ["stat", "status", "cgroup", "comm"] {
        kernel.remove(&format!("/proc/{tid}/{file}"));
        kernel.remove(&format!("/proc/{tid}/task/{tid}/{file}"));
    }
    std::fs::remove_dir_all(kernel.dir.path().join(format!("proc/{tid}"))).unwrap();
    kernel.render();
}

/// A planned move of a process with one thread.
pub fn parcel(to: &str, tid: u32, pin: Option<&str>) -> PlannedMove {
    PlannedMove {
        tid,
        unit: MoveUnit::Process,
        to: to.to_owned(),
        tasks: vec![ThreadMove {
            tid,
            pin: pin.map(set),
            policy: None,
        }],
        later: Vec::new(),
        stay: MovePurpose::Belongs,
    }
}

/// Returns the directory of that partition.
pub fn inside(kernel: &SimKernel) -> String {
    let name = if kernel.rules == Rules::V2 {
        "quietcore-rt"
    } else {
        "rt"
    };
    format!("{}/{name}", kernel.mount_point())
}

/// Returns cgroup and mask of every task.
pub fn places(kernel: &SimKernel) -> BTreeMap<u32, (String, String)> {
    let tasks = kernel.tasks.borrow();
    let place = |task: &SimTask| (task.tid, (task.cgroup.clone(), task.mask.to_string()));
    tasks.iter().map(place).collect()
}

/// Undoes everything, which must succeed.
pub fn undone(kernel: &SimKernel, disk: &SimDisk, what: &str) {
    let undone = undo(kernel, disk, UndoTarget::Last, Force::No).unwrap();
    assert!(undone.equal(), "{what}: {:?}", undone.remains());
}

/// Moves in a process with one thread.
pub fn move_in_one(kernel: &SimKernel, disk: &SimDisk, tid: u32) {
    let machine = Machine::read(kernel.root());
    let mut journal = Journal::open(disk).unwrap().unwrap();
    let ground = MoveContext {
        system: kernel,
        hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
        isolated: &set("2-3"),
    };
    relocate(&ground, &mut journal, &[parcel(&inside(kernel), tid, None)]).unwrap();
}
