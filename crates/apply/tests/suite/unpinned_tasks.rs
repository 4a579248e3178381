//! Level 3: unpinned tasks are recorded together and restored as if each had its own record.

use crate::support::rehearsal::acting::{isolate_as, undo};
use crate::support::rehearsal::{Rules, SimDisk, SimKernel, SimTask};
use apply::{Force, UndoOutcome, UndoTarget};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

/// A kernel that lists the children of tasks, which this short form of undo needs.
fn isolated(rules: Rules, after: impl FnOnce(&SimKernel, &SimDisk)) {
    let kernel = SimKernel::boot(rules);
    kernel.put("/proc/2/task/2/children", "15 30\n");
    let disk = SimDisk::new(&kernel);
    let intent = Intent::new(PartitionName::default(), CpuSet::range(3, 3), Profile::Minimal);
    isolate_as(&kernel, &disk, &intent, || {}).unwrap();
    after(&kernel, &disk);
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk, force: Force) -> UndoOutcome {
    undo(kernel, disk, UndoTarget::Last, force).unwrap()
}

fn mask_of(kernel: &SimKernel, tid: u32) -> String {
    kernel.task(tid).mask.to_string()
}

#[test]
fn only_unpinned_tasks_are_recorded_by_number() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins] {
        isolated(rules, |kernel, disk| {
            let journal = std::fs::read_to_string(disk.dir.path().join("journal")).unwrap();
            assert!(journal.contains(r#""tids":[1,100]}"#), "{rules:?}: {journal}");
            assert_eq!(mask_of(kernel, 100), "0-2", "{rules:?}");
            let undone = run_undo(kernel, disk, Force::No);
            assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
            for (tid, mask) in [(1, "0-3"), (100, "0-3"), (101, "3"), (102, "1"), (103, "1-3")] {
                let task = kernel.task(tid);
                assert_eq!(
                    (task.cgroup.as_str(), mask_of(kernel, tid).as_str()),
                    ("/", mask),
                    "{rules:?}: {tid}"
                );
            }
        });
    }
}

/// Another program sets the affinity of a task.
fn pin(kernel: &SimKernel, tid: u32, cpu: u32) {
    for task in kernel.tasks.borrow_mut().iter_mut().filter(|task| task.tid == tid) {
        task.mask = CpuSet::range(cpu, cpu);
        task.user_mask = Some(CpuSet::range(cpu, cpu));
    }
    kernel.render();
}

#[test]
fn a_pin_that_another_program_set_since_is_reported() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins] {
        isolated(rules, |kernel, disk| {
            pin(kernel, 100, 1);
            let undone = run_undo(kernel, disk, Force::No);
            assert!(undone.failed.is_empty(), "{rules:?}: {:?}", undone.failed);
            assert_eq!(undone.tasks.len(), 1, "{rules:?}: {:?}", undone.tasks);
            assert!(undone.tasks[0].contains("task 100"), "{rules:?}: {:?}", undone.tasks);
            assert_eq!(mask_of(kernel, 100), "1", "{rules:?}");
            // Any user can pin a task, so this does not keep the journal open.
            assert!(apply::Journal::open(disk).unwrap().is_none(), "{rules:?}");
        });
        isolated(rules, |kernel, disk| {
            pin(kernel, 100, 1);
            let forced = run_undo(kernel, disk, Force::Restore);
            assert!(forced.equal(), "{rules:?}: {:?}", forced.remains());
            assert_eq!(mask_of(kernel, 100), "0-3", "{rules:?}");
        });
    }
}

/// When a CPU comes online, the kernel gives some threads all CPUs of their node, whatever their set says.
#[test]
fn a_mask_equal_to_the_former_one_is_not_a_pin() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins] {
        isolated(rules, |kernel, disk| {
            let mut tasks = kernel.tasks.borrow_mut();
            tasks.iter_mut().find(|task| task.tid == 100).unwrap().mask = CpuSet::range(0, 3);
            drop(tasks);
            kernel.render();
            let undone = run_undo(kernel, disk, Force::No);
            assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
            assert_eq!(mask_of(kernel, 100), "0-3", "{rules:?}");
        });
    }
}

/// The kernel accepts the number of an exiting task and does not move it. A large process can take longer to exit than
/// all passes.
#[test]
fn an_exiting_task_does_not_count_as_a_fork_storm() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2] {
        let kernel = SimKernel::boot(rules);
        let disk = SimDisk::new(&kernel);
        for task in kernel.tasks.borrow_mut().iter_mut().filter(|task| task.tid == 100) {
            task.flags |= machine::Task::PF_EXITING;
        }
        kernel.render();
        let intent = Intent::new(PartitionName::default(), CpuSet::range(3, 3), Profile::Minimal);
        let applied = isolate_as(&kernel, &disk, &intent, || {}).unwrap();
        let ids: Vec<&str> = applied.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert!(!ids.contains(&"fork-storm"), "{rules:?}: {:?}", applied.findings);
        assert_eq!(mask_of(&kernel, 1), "0-2", "{rules:?}: the others moved");
    }
}

/// Lets a child of this task become visible during the next write of a partition, numbered 300 above its parent.
fn fork_during_the_write(kernel: &SimKernel, parent: u32) -> u32 {
    let tid = parent + 300;
    let child = SimTask {
        tid,
        pid: tid,
        ppid: parent,
        ..kernel.task(parent)
    };
    kernel.unborn.borrow_mut().push(child);
    tid
}

fn isolate_cpu(kernel: &SimKernel, disk: &SimDisk, name: &str, cpu: u32) -> Vec<String> {
    let name = PartitionName::new(name).unwrap();
    let intent = Intent::new(name, CpuSet::range(cpu, cpu), Profile::Minimal);
    let applied = isolate_as(kernel, disk, &intent, || {}).unwrap();
    let ids = applied.findings.iter().map(|finding| finding.id.as_str().to_owned());
    ids.filter(|id| id.starts_with("task-")).collect()
}

/// A child copies the mask of its parent before the partition exists, and joins the root cgroup after the kernel walked
/// through the tasks of it.
#[test]
fn a_task_that_is_forked_during_the_write_gets_the_cpus_of_its_cgroup() {
    for (parent, isolated, before) in [(100, "0-2", "0-3"), (103, "1-2", "1-3")] {
        let kernel = SimKernel::boot(Rules::V2);
        let disk = SimDisk::new(&kernel);
        let child = fork_during_the_write(&kernel, parent);
        assert_eq!(isolate_cpu(&kernel, &disk, "rt", 3), [""; 0]);
        assert_eq!(mask_of(&kernel, child), isolated);
        let undone = run_undo(&kernel, &disk, Force::No);
        assert!(undone.equal(), "{:?}", undone.remains());
        assert_eq!(mask_of(&kernel, child), before);
    }
}

#[test]
fn a_task_that_is_forked_during_the_second_write_gets_all_its_cpus_back() {
    let kernel = SimKernel::boot(Rules::V2);
    let disk = SimDisk::new(&kernel);
    assert_eq!(isolate_cpu(&kernel, &disk, "fast", 2), [""; 0]);
    let child = fork_during_the_write(&kernel, 100);
    assert_eq!(isolate_cpu(&kernel, &disk, "rt", 3), [""; 0]);
    assert_eq!(mask_of(&kernel, child), "0-1");
    undo(&kernel, &disk, UndoTarget::All, Force::No).unwrap();
    assert_eq!(mask_of(&kernel, child), "0-3");
}

/// Its request leaves it no CPU, so the kernel refuses it.
#[test]
fn a_task_that_is_forked_during_the_write_and_has_no_other_cpu_is_reported() {
    let kernel = SimKernel::boot(Rules::V2);
    let disk = SimDisk::new(&kernel);
    fork_during_the_write(&kernel, 101);
    assert_eq!(isolate_cpu(&kernel, &disk, "rt", 3), ["task-refused"]);
}
