//! Level 3 for a partition that is recreated: a kill at every step of both halves. Undo restores the state before the
//! partition, including the policy of a real-time program that spun inside.

use crate::support::rehearsal::acting::{dies, isolate_as, isolate_by, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel, SimTask};
use apply::{
    ApplyError, Force, Journal, JournalState, MoveContext, MoveUnit, PartitionTasks, PlannedMove, System,
    TaskDestination, ThreadMove, UndoTarget, apply_resized, relocate, resize,
};
use machine::{CpuSet, Machine};
use plan::{Intent, PartitionName, Profile};

const BOOT: Option<&str> = Some("11111111-2222-3333-4444-555555555555");
pub const SPINNER: u32 = 110;
pub const FIFO_50: (u32, u32) = (1, 50);

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn intent(cpus: &str) -> Intent {
    Intent::new(PartitionName::new("rt").unwrap(), set(cpus), Profile::Balanced)
}

/// Isolates CPU 3 and moves in a program that spins with a real-time policy.
pub fn inhabited(kernel: &SimKernel, disk: &SimDisk) {
    isolate_as(kernel, disk, &intent("3"), || {}).unwrap();
    let machine = Machine::read(kernel.root());
    let context = MoveContext {
        system: kernel,
        hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
        isolated: &set("3"),
    };
    let parcels = [100, SPINNER].map(|tid| PlannedMove {
        tid,
        unit: MoveUnit::Process,
        to: inside(kernel),
        tasks: vec![ThreadMove {
            tid,
            pin: None,
            policy: None,
        }],
        later: Vec::new(),
        stay: apply::MovePurpose::Belongs,
    });
    let mut journal = Journal::open(disk).unwrap().unwrap();
    relocate(&context, &mut journal, &parcels).unwrap();
}

fn inside(kernel: &SimKernel) -> String {
    let machine = Machine::read(kernel.root());
    plan::partition_path(machine.cgroups.cpuset.as_ref().unwrap(), "rt")
}

pub fn boot(rules: Rules) -> SimKernel {
    let kernel = SimKernel::boot(rules);
    kernel.tasks.borrow_mut().push(SimTask {
        tid: SPINNER,
        pid: SPINNER,
        ppid: 1,
        comm: "spinner",
        flags: 0,
        mask: set("0-3"),
        user_mask: None,
        cgroup: "/".to_owned(),
    });
    kernel.policies.borrow_mut().insert(SPINNER, FIFO_50);
    kernel.render();
    kernel
}

/// Does what the command line does.
pub fn recreate(kernel: &SimKernel, disk: &SimDisk, cpus: &str) {
    let there = inside(kernel);
    let dwelling = |cpus| TaskDestination { path: &there, cpus };
    let version = Machine::read(kernel.root()).cgroups.cpuset.unwrap().version;
    let former = Journal::open(disk).unwrap().unwrap();
    let former = former
        .layers()
        .into_iter()
        .find(|layer| layer.is_live() && layer.intent.name.as_str() == "rt");
    let (former, wanted) = (former.unwrap().intent.cpus.clone(), set(cpus));
    let journal = Journal::open(disk).unwrap().unwrap();
    let inhabitants = PartitionTasks::of(kernel, journal.records(), version, dwelling(&former)).unwrap();
    let undone = resize::begin(kernel, disk, "rt", &wanted, &inhabitants).unwrap();
    assert!(undone.equal(), "{:?}", undone.remains());
    isolate_by(kernel, disk, &intent(cpus), || {}, apply_resized).unwrap();
    let machine = Machine::read(kernel.root());
    let context = MoveContext {
        system: kernel,
        hierarchy: machine.cgroups.cpuset.as_ref().unwrap(),
        isolated: &wanted,
    };
    let mut journal = Journal::open(disk).unwrap().unwrap();
    inhabitants
        .move_back(&context, &mut journal, dwelling(&wanted))
        .unwrap();
    resize::end(disk).unwrap();
}

#[test]
fn a_kill_at_any_step_of_a_resize_is_undone_with_policies() {
    for rules in [Rules::V1DropsPins, Rules::V2] {
        let whole = boot(rules);
        let disk = SimDisk::new(&whole);
        inhabited(&whole, &disk);
        let first = whole.steps.get() + 1;
        recreate(&whole, &disk, "2-3");
        let last = whole.steps.get();
        assert!(last - first > 40, "{rules:?}: {first} to {last}");
        assert_eq!(whole.task(SPINNER).mask, set("2-3"), "{rules:?}");
        assert_eq!(whole.policies.borrow().get(&SPINNER), Some(&FIFO_50), "{rules:?}");
        assert_eq!(
            Journal::open(&disk).unwrap().unwrap().state(BOOT),
            JournalState::InForce,
            "{rules:?}: the record of the resize is closed"
        );
        let mut restored = 0;
        for death in (first..=last).flat_map(|step| [Death::Before(step), Death::Torn(step)]) {
            let what = format!("{rules:?} {death:?}");
            let kernel = boot(rules);
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            inhabited(&kernel, &disk);
            kernel.death.set(death);
            assert!(dies(|| recreate(&kernel, &disk, "2-3")), "{what} did not die");
            kernel.death.set(Death::Never);
            let is_open = resize::Resize::open(Journal::open(&disk).unwrap().unwrap().records()).is_some();
            if is_open {
                let again = isolate_as(&kernel, &disk, &intent("2-3"), || {});
                assert!(matches!(again, Err(ApplyError::Resizing { .. })), "{what}: {again:?}");
            }
            let undone = undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap();
            assert!(undone.equal(), "{what}: {:?}", undone.remains());
            // If the record of the resize was not written, this was a normal undo, which leaves a spinning program
            // demoted.
            if !is_open {
                kernel.policies.borrow_mut().insert(SPINNER, FIFO_50);
                kernel.render();
            }
            assert_eq!(kernel.dump(), before, "{what}");
            assert!(Journal::open(&disk).unwrap().is_none(), "{what}");
            restored += 1;
        }
        println!(
            "{rules:?}: {restored} of {} deaths during a resize taken back",
            (last - first + 1) * 2
        );
        assert_eq!(restored, (last - first + 1) * 2);
    }
}

#[test]
fn a_killed_undo_of_a_stopped_resize_is_completed_by_the_next_undo() {
    let between = |kernel: &SimKernel, disk: &SimDisk| {
        inhabited(kernel, disk);
        let first = kernel.steps.get() + 1;
        // A step in the second half.
        kernel.death.set(Death::Before(first + 35));
        assert!(dies(|| recreate(kernel, disk, "2-3")));
        kernel.death.set(Death::Never);
    };
    let whole = boot(Rules::V2);
    let disk = SimDisk::new(&whole);
    between(&whole, &disk);
    let first = whole.steps.get() + 1;
    undo(&whole, &disk, UndoTarget::Last, Force::No).unwrap();
    let last = whole.steps.get();
    for death in (first..=last).flat_map(|step| [Death::Before(step), Death::Torn(step)]) {
        let kernel = boot(Rules::V2);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        between(&kernel, &disk);
        kernel.death.set(death);
        let died = dies(|| drop(undo(&kernel, &disk, UndoTarget::Last, Force::No)));
        assert!(died, "{death:?} did not die");
        kernel.death.set(Death::Never);
        let undone = undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap();
        assert!(undone.equal(), "{death:?}: {:?}", undone.remains());
        assert_eq!(kernel.dump(), before, "{death:?}");
    }
}

#[test]
fn a_journal_does_not_grow_with_every_resize() {
    const TURNS: usize = 200;
    for rules in [Rules::V1DropsPins, Rules::V2] {
        let kernel = boot(rules);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        inhabited(&kernel, &disk);
        let size = || std::fs::metadata(disk.dir.path().join("journal")).unwrap().len();
        let mut sizes = Vec::new();
        for turn in 0..TURNS {
            recreate(&kernel, &disk, ["2-3", "3"][turn % 2]);
            sizes.push(size());
        }
        let (early, late) = (sizes[1].max(sizes[2]), sizes[TURNS - 2].max(sizes[TURNS - 1]));
        println!("{rules:?}: journal {early} bytes after 3 resizes, {late} after {TURNS}");
        // Later record numbers have more digits.
        assert!(late < early + early / 4, "{rules:?}: {early} bytes, then {late}");
        // No layer of the history is lost.
        let reported = apply::history(&disk).unwrap();
        let layer_count: usize = reported
            .journals
            .iter()
            .map(|journal| apply::layers(journal).len())
            .sum();
        assert_eq!(layer_count, TURNS + 1, "{rules:?}");
        let undone = undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap();
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        kernel.policies.borrow_mut().insert(SPINNER, FIFO_50);
        kernel.render();
        assert_eq!(kernel.dump(), before, "{rules:?}");
        assert!(Journal::open(&disk).unwrap().is_none(), "{rules:?}");
    }
}

#[test]
fn records_that_another_partition_shares_are_not_archived() {
    for rules in [Rules::V1DropsPins, Rules::V2] {
        let kernel = boot(rules);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        inhabited(&kernel, &disk);
        let net = Intent::new(PartitionName::new("net").unwrap(), set("1"), Profile::Balanced);
        isolate_as(&kernel, &disk, &net, || {}).unwrap();
        for cpus in ["2-3", "3", "2"] {
            recreate(&kernel, &disk, cpus);
        }
        for name in ["net", "rt"] {
            let undone = undo(&kernel, &disk, UndoTarget::Named(name), Force::No).unwrap();
            assert!(undone.equal(), "{rules:?} {name}: {:?}", undone.remains());
        }
        kernel.policies.borrow_mut().insert(SPINNER, FIFO_50);
        kernel.render();
        assert_eq!(kernel.dump(), before, "{rules:?}");
    }
}
