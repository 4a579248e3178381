//! Level 3 where systemd manages the control groups: the slice that keeps the controller enabled, and machines where it
//! cannot be created.

use crate::support::rehearsal::acting::{dies, isolate_as, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::{ApplyOutcome, Force, UndoOutcome, UndoTarget};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const CONTROL: &str = "/sys/fs/cgroup/cgroup.subtree_control";
const SLICE: &str = "/sys/fs/cgroup/quietcore.slice";

fn boot() -> SimKernel {
    SimKernel::boot(Rules::V2).under_systemd()
}

fn isolate(kernel: &SimKernel, disk: &SimDisk, name: &str, cpus: &str) -> ApplyOutcome {
    let name = PartitionName::new(name).unwrap();
    let intent = Intent::new(name, CpuSet::parse_list(cpus).unwrap(), Profile::Minimal);
    isolate_as(kernel, disk, &intent, || {}).unwrap()
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk) -> UndoOutcome {
    undo(kernel, disk, UndoTarget::Last, Force::No).unwrap()
}

fn is_there(kernel: &SimKernel, path: &str) -> bool {
    kernel.dir.path().join(&path[1..]).exists()
}

#[test]
fn the_slice_is_created_first_and_removed_with_the_last_partition() {
    let kernel = boot();
    let before = kernel.dump();
    let disk = SimDisk::new(&kernel);
    let applied = isolate(&kernel, &disk, "rt", "3");
    let first = &applied.entries[0];
    assert_eq!(first.change, "systemd_slice/sys/fs/cgroup/quietcore.slice");
    assert_eq!(first.outcome.text(), "done");
    assert_eq!(kernel.get(&format!("{SLICE}/cpuset.mems")).trim(), "0");
    let second = isolate(&kernel, &disk, "net", "2");
    assert_eq!(second.entries[0].outcome.text(), "already");
    let undone = run_undo(&kernel, &disk);
    assert!(undone.equal() && is_there(&kernel, SLICE), "{:?}", undone.remains());
    let undone = run_undo(&kernel, &disk);
    assert!(undone.equal(), "{:?}", undone.remains());
    assert_eq!(kernel.dump(), before);
}

#[test]
fn the_slice_stays_until_the_second_partition_is_undone() {
    let kernel = boot();
    let before = kernel.dump();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "rt", "3");
    isolate(&kernel, &disk, "net", "2");
    let first = undo(&kernel, &disk, UndoTarget::Named("rt"), Force::No).unwrap();
    assert!(first.equal() && is_there(&kernel, SLICE), "{:?}", first.remains());
    assert!(run_undo(&kernel, &disk).equal());
    assert_eq!(kernel.dump(), before);
}

#[test]
fn a_kill_at_any_step_is_undone() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "rt", "3");
    let applied = kernel.steps.get();
    run_undo(&kernel, &disk);
    for step in 1..=kernel.steps.get() {
        for death in [Death::Before(step), Death::After(step)] {
            let kernel = boot();
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            let in_undo = step > applied;
            if !in_undo {
                kernel.death.set(death);
            }
            let died = dies(|| drop(isolate(&kernel, &disk, "rt", "3")));
            assert_ne!(died, in_undo, "{death:?}");
            if in_undo {
                kernel.death.set(death);
                assert!(dies(|| drop(run_undo(&kernel, &disk))), "{death:?}");
            }
            kernel.death.set(Death::Never);
            let undone = run_undo(&kernel, &disk);
            assert!(undone.equal(), "{death:?}: {:?}", undone.remains());
            assert_eq!(kernel.dump(), before, "{death:?}");
        }
    }
}

#[test]
fn a_systemd_that_does_not_listen_is_reported() {
    let kernel = boot();
    std::fs::remove_file(kernel.dir.path().join("run/systemd/private")).unwrap();
    let before = kernel.dump();
    let disk = SimDisk::new(&kernel);
    let applied = isolate(&kernel, &disk, "rt", "3");
    let found = applied
        .findings
        .iter()
        .find(|finding| finding.id.as_str() == "systemd-bus");
    let found = found.unwrap();
    assert!(
        found.message.contains("/run/systemd/private: Connection refused"),
        "{}",
        found.message
    );
    assert!(found.fix.contains("--install-unit"), "{}", found.fix);
    let undone = run_undo(&kernel, &disk);
    assert!(undone.equal(), "{:?}", undone.remains());
    assert_eq!(kernel.dump(), before);
}

#[test]
fn a_controller_that_another_unit_uses_stays_enabled() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "rt", "3");
    kernel.put("/sys/fs/cgroup/user.slice/cpuset.cpus", "0-1\n");
    kernel.put("/sys/fs/cgroup/user.slice/cpuset.mems", "\n");
    let undone = run_undo(&kernel, &disk);
    assert!(undone.equal(), "{:?}", undone.remains());
    let note = undone
        .notes
        .iter()
        .any(|note| note.contains("another unit now uses cpuset"));
    assert!(note, "{:?}", undone.notes);
    assert!(kernel.get(CONTROL).contains("cpuset") && !is_there(&kernel, SLICE));
}

#[test]
fn a_controller_that_was_enabled_before_stays_enabled() {
    let kernel = boot();
    kernel.put(CONTROL, "cpuset cpu\n");
    let before = kernel.dump();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "rt", "3");
    assert!(run_undo(&kernel, &disk).equal());
    assert_eq!(kernel.dump(), before);
}

#[test]
fn a_slice_with_running_processes_is_not_stopped() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "rt", "3");
    kernel.put(&format!("{SLICE}/app.service/cgroup.procs"), "");
    let undone = run_undo(&kernel, &disk);
    assert!(
        undone.drift.iter().any(|line| line.contains("app.service run in it")),
        "{:?}",
        undone.remains()
    );
    assert!(is_there(&kernel, SLICE));
}
