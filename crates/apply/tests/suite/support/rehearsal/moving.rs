//! What the tests of moves share: a partition, who goes in, and where everybody is.

use super::acting::isolate_as;
use super::acting::undo;
use super::{Rules, SimDisk, SimKernel, SimTask, set};
use apply::{
    Force, Journal, MoveContext, MovePurpose, MoveUnit, PlannedMove, System, ThreadMove, UndoTarget, relocate,
};
use machine::Machine;
use plan::{Intent, PartitionName, Profile};
use std::collections::BTreeMap;

/// CPUs 2 and 3 become partition `rt`.
pub fn isolate(kernel: &SimKernel, disk: &SimDisk) {
    isolate_cpus(kernel, disk, "2-3");
}

/// As [`isolate`] with these CPUs.
pub fn isolate_cpus(kernel: &SimKernel, disk: &SimDisk, cpus: &str) {
    let intent = Intent::new(PartitionName::new("rt").unwrap(), set(cpus), Profile::Balanced);
    isolate_as(kernel, disk, &intent, || {}).unwrap();
}

/// A child of a task, with its place and mask.
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

/// A process of one thread ends.
pub fn end(kernel: &SimKernel, tid: u32) {
    kernel.tasks.borrow_mut().retain(|task| task.tid != tid);
    for file in ["stat", "status", "cgroup", "comm"] {
        kernel.remove(&format!("/proc/{tid}/{file}"));
        kernel.remove(&format!("/proc/{tid}/task/{tid}/{file}"));
    }
    std::fs::remove_dir_all(kernel.dir.path().join(format!("proc/{tid}"))).unwrap();
    kernel.render();
}

/// A process of one thread on its way.
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

/// Directory of that partition.
pub fn inside(kernel: &SimKernel) -> String {
    let name = if kernel.rules == Rules::V2 {
        "quietcore-rt"
    } else {
        "rt"
    };
    format!("{}/{name}", kernel.mount_point())
}

/// Cgroup and mask of every task.
pub fn places(kernel: &SimKernel) -> BTreeMap<u32, (String, String)> {
    let tasks = kernel.tasks.borrow();
    let place = |task: &SimTask| (task.tid, (task.cgroup.clone(), task.mask.to_string()));
    tasks.iter().map(place).collect()
}

/// Takes all of it back, and that has to work.
pub fn undone(kernel: &SimKernel, disk: &SimDisk, what: &str) {
    let undone = undo(kernel, disk, UndoTarget::Last, Force::No).unwrap();
    assert!(undone.equal(), "{what}: {:?}", undone.remains());
}

/// A process of one thread comes in.
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
