//! Level 3 for a CPU that goes offline during `apply` on v1: the kernel removes it from every cpuset permanently, and
//! undo restores the recorded values. A set that its owner changed is left alone.

use crate::support::rehearsal::acting::{isolate_as, same, undo};
use crate::support::rehearsal::{Rules, SimDisk, SimKernel, SimTask};
use apply::{ApplyError, ApplyOutcome, Force, System, UndoOutcome, UndoTarget};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const FOREIGN: &str = "/sys/fs/cgroup/cpuset/foreign";
const V1: [Rules; 2] = [Rules::V1DropsPins, Rules::V1KeepsPins];

/// Boots with a foreign set of CPUs 1 to 3 that contains a program.
fn boot(rules: Rules) -> SimKernel {
    let kernel = SimKernel::boot_with_hotplug(rules);
    kernel.make_dir(FOREIGN).unwrap();
    let cpus = "1-3";
    for (file, value) in [("cpus", cpus), ("mems", "0")] {
        kernel.write(&format!("{FOREIGN}/cpuset.{file}"), value).unwrap();
    }
    kernel.tasks.borrow_mut().push(SimTask {
        tid: 130,
        pid: 130,
        ppid: 1,
        comm: "foreign",
        flags: 0,
        mask: CpuSet::parse_list(cpus).unwrap(),
        user_mask: None,
        cgroup: "/foreign".to_owned(),
    });
    kernel.render();
    kernel
}

fn set_online(kernel: &SimKernel, cpu: u32, word: &str) {
    kernel
        .write(&format!("/sys/devices/system/cpu/cpu{cpu}/online"), word)
        .unwrap();
}

fn isolate(kernel: &SimKernel, disk: &SimDisk) -> Result<ApplyOutcome, ApplyError> {
    let cpus = CpuSet::parse_list("3").unwrap();
    let intent = Intent::new(PartitionName::new("rt").unwrap(), cpus, Profile::Minimal);
    isolate_as(kernel, disk, &intent, || {})
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk) -> UndoOutcome {
    undo(kernel, disk, UndoTarget::Last, Force::No).unwrap()
}

/// The steps of an apply after its first record, without the last one. A CPU that goes offline after that and is online
/// again before the undo leaves no trace.
fn steps(rules: Rules) -> std::ops::RangeInclusive<usize> {
    let kernel = boot(rules);
    let first = kernel.steps.get() + 2;
    isolate(&kernel, &SimDisk::new(&kernel)).unwrap();
    assert!(kernel.steps.get() > first + 20);
    first..=kernel.steps.get() - 1
}

#[test]
fn undo_restores_what_hotplug_removed_from_a_foreign_set() {
    for rules in V1 {
        for (step, cpu) in steps(rules).flat_map(|step| [1, 2, 3].map(|cpu| (step, cpu))) {
            let what = format!("{rules:?}: CPU {cpu} before step {step}");
            let kernel = boot(rules);
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            kernel.goes.set(Some((step, cpu)));
            // If the kernel refuses a step without the CPU, `apply` has already rolled back.
            let _ = isolate(&kernel, &disk);
            set_online(&kernel, cpu, "1");
            let undone = run_undo(&kernel, &disk);
            assert!(undone.equal(), "{what}: {:?}", undone.remains());
            same(&kernel, &before, &what);
        }
    }
}

#[test]
fn a_set_that_its_owner_changed_is_left_alone() {
    for rules in V1 {
        let kernel = boot(rules);
        let disk = SimDisk::new(&kernel);
        kernel.goes.set(Some((*steps(rules).start(), 1)));
        isolate(&kernel, &disk).unwrap();
        set_online(&kernel, 1, "1");
        let file = format!("{FOREIGN}/cpuset.cpus");
        kernel.write(&file, "1").unwrap();
        let undone = run_undo(&kernel, &disk);
        let remains = undone.remains();
        assert!(remains.iter().any(|line| line.starts_with(&file)), "{remains:?}");
        assert_eq!(kernel.get(&file), "1", "{rules:?}");
    }
}
