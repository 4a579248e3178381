//! Level 3 for changes that are requested one by one: sets created, changed and removed, tasks moved between them. Each
//! request is a layer of its own. Undo restores the original state from a kill at any step.

use crate::support::rehearsal::acting::{dies, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::{ApplyError, ApplyRequest, Force, System, UndoOutcome, UndoTarget, apply};
use machine::{CpuSet, Machine};
use plan::{Change, Intent, PartitionName, Profile, ReadbackComparison, UndoMethod, by_hand};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];

fn apply_plan(kernel: &SimKernel, disk: &SimDisk, intent: &Intent, plan: &plan::Plan) -> Result<(), ApplyError> {
    let machine = Machine::read(kernel.root());
    let stop = AtomicBool::new(false);
    let request = ApplyRequest {
        machine: &machine,
        intent,
        plan,
        reason: "test",
        tool: "0",
        guard: None,
        stop: &stop,
    };
    apply(kernel, disk, &request).map(|_| ())
}

fn do_by_hand(kernel: &SimKernel, disk: &SimDisk, name: &str, changes: Vec<Change>) -> Result<(), ApplyError> {
    let (intent, plan) = by_hand::by_hand(PartitionName::new(name).unwrap(), changes);
    apply_plan(kernel, disk, &intent, &plan)
}

fn mount(rules: Rules) -> &'static str {
    match rules {
        Rules::V2 => "/sys/fs/cgroup",
        _ => "/sys/fs/cgroup/cpuset",
    }
}

fn cpus(text: &str) -> CpuSet {
    CpuSet::parse_list(text).unwrap()
}

/// Moves two tasks into a set on CPU 3 and one of them on to a second set. Then the first set grows and is removed.
fn story(kernel: &SimKernel, disk: &SimDisk) -> Result<(), ApplyError> {
    let (mount, v2) = (mount(kernel.rules), kernel.rules == Rules::V2);
    let (one, two) = (format!("{mount}/one"), format!("{mount}/two"));
    let inside = |set: &str, name: &str, value: &str| {
        by_hand::write(
            &format!("{set}/cpuset.{name}"),
            None,
            value,
            ReadbackComparison::List,
            UndoMethod::WithSet,
        )
    };
    let make = |set: &str, list: &str| {
        let control = format!("{mount}/cgroup.subtree_control");
        let hand = by_hand::write(&control, None, "+cpuset", ReadbackComparison::Word, UndoMethod::Restore);
        let mut changes: Vec<Change> = v2.then_some(hand).into_iter().collect();
        changes.extend([
            by_hand::make_set(set),
            inside(set, "cpus", list),
            inside(set, "mems", "0"),
        ]);
        changes
    };
    do_by_hand(kernel, disk, "cset-1", make(&one, "3"))?;
    do_by_hand(kernel, disk, "cset-2", make(&two, "2"))?;
    do_by_hand(
        kernel,
        disk,
        "cset-3",
        vec![by_hand::move_tasks(vec![100, 101], &one, &cpus("3"))],
    )?;
    do_by_hand(
        kernel,
        disk,
        "cset-4",
        vec![by_hand::move_tasks(vec![101], &two, &cpus("2"))],
    )?;
    let path = format!("{one}/cpuset.cpus");
    let wider = by_hand::write(
        &path,
        Some("3".to_owned()),
        "1,3",
        ReadbackComparison::List,
        UndoMethod::Restore,
    );
    do_by_hand(kernel, disk, "cset-5", vec![wider])?;
    let empty = by_hand::move_tasks(vec![100], mount, &cpus("0-3"));
    do_by_hand(kernel, disk, "cset-6", vec![empty, by_hand::remove_set(&one)])
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk, which: UndoTarget) -> UndoOutcome {
    undo(kernel, disk, which, Force::No).unwrap()
}

fn place(kernel: &SimKernel, tid: u32) -> String {
    let tasks = kernel.tasks.borrow();
    tasks.iter().find(|task| task.tid == tid).unwrap().cgroup.clone()
}

#[test]
fn each_list_of_changes_can_be_undone_separately_last_first() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot(rules);
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        story(&kernel, &disk).unwrap();
        let exists = |set: &str| {
            kernel
                .root()
                .kind(&format!("{}/{set}", mount(rules)))
                .unwrap()
                .is_some()
        };
        assert!(!exists("one") && exists("two"), "{rules:?}");
        assert_eq!(
            (place(&kernel, 100), place(&kernel, 101)),
            ("/".to_owned(), "/two".to_owned())
        );
        let steps = [
            ("one", "two", true),
            ("one", "two", true),
            ("one", "one", true),
            ("/", "/", true),
            ("/", "/", true),
        ];
        for (hundred, other, has_one) in steps {
            let undone = run_undo(&kernel, &disk, UndoTarget::Last);
            assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
            let path = |name: &str| format!("/{}", name.trim_start_matches('/'));
            assert_eq!(
                (place(&kernel, 100), place(&kernel, 101)),
                (path(hundred), path(other)),
                "{rules:?}"
            );
            assert_eq!(exists("one"), has_one, "{rules:?}");
        }
        let undone = run_undo(&kernel, &disk, UndoTarget::Last);
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(kernel.dump(), before, "{rules:?}");
        assert!(apply::Journal::open(&disk).unwrap().is_none(), "{rules:?}");
    }
}

#[test]
fn a_kill_at_any_step_is_undone() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot(rules);
        story(&kernel, &SimDisk::new(&kernel)).unwrap();
        let steps = kernel.steps.get();
        assert!(steps > 20, "{steps}");
        for death in (1..=steps).flat_map(|step| [Death::Before(step), Death::After(step), Death::Torn(step)]) {
            let kernel = SimKernel::boot(rules);
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            kernel.death.set(death);
            assert!(dies(|| drop(story(&kernel, &disk))), "{rules:?} {death:?} did not die");
            kernel.death.set(Death::Never);
            let undone = run_undo(&kernel, &disk, UndoTarget::All);
            assert!(undone.equal(), "{rules:?} {death:?}: {:?}", undone.remains());
            assert_eq!(kernel.dump(), before, "{rules:?} {death:?}");
        }
    }
}

#[test]
fn a_partition_and_manual_changes_do_not_affect_each_other() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot(rules);
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        let files = |kernel: &SimKernel| -> BTreeMap<String, String> {
            let dump = kernel.dump();
            dump.into_iter()
                .filter(|(path, _)| path.contains("/one/") && !path.ends_with("tasks"))
                .collect()
        };
        let rt = Intent::new(PartitionName::default(), cpus("3"), Profile::Minimal);
        let isolate = |kernel: &SimKernel, disk: &SimDisk| {
            let machine = Machine::read(kernel.root())
                .with_tasks(kernel.root())
                .with_interrupts(kernel.root());
            let settings = machine::settings::for_cpus(kernel.root(), &rt.cpus, plan::knobs::planned());
            let plan = plan::plan(&machine, &settings, &rt).unwrap();
            apply_plan(kernel, disk, &rt, &plan).unwrap();
        };
        isolate(&kernel, &disk);
        let one = format!("{}/one", mount(rules));
        let list = by_hand::write(
            &format!("{one}/cpuset.cpus"),
            None,
            "1",
            ReadbackComparison::List,
            UndoMethod::WithSet,
        );
        do_by_hand(&kernel, &disk, "cset-1", vec![by_hand::make_set(&one), list]).unwrap();
        let made = files(&kernel);
        assert!(!made.is_empty(), "{rules:?}");
        let undone = run_undo(&kernel, &disk, UndoTarget::Named("rt"));
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(files(&kernel), made, "{rules:?}: the set keeps its files");
        let undone = run_undo(&kernel, &disk, UndoTarget::Last);
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(kernel.dump(), before, "{rules:?}");
    }
}
