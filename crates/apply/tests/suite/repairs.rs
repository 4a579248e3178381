//! Level 3: changes that an active partition has lost are made again in its own layer of the journal. From a kill at
//! any step, undo restores the state before the partition, and for added changes the value before the repair.

use crate::support::rehearsal::acting::{dies, isolate_as, same, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::{
    Force, Journal, JournalState, RepairOutcome, RepairRequest, System, UndoTarget, active_partitions, repair,
};
use machine::{CpuSet, Machine};
use plan::{Change, Intent, PartitionName, Plan, Profile};

const BOOT: Option<&str> = Some("11111111-2222-3333-4444-555555555555");
const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];
const ETH0: &str = "/proc/irq/25/smp_affinity_list";
/// A file of a single CPU, and so of a single partition.
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor";
const MIGRATION: &str = "/proc/sys/kernel/timer_migration";

fn intent(name: &str, cpus: &str) -> Intent {
    let cpus = CpuSet::parse_list(cpus).unwrap();
    Intent::new(PartitionName::new(name).unwrap(), cpus, Profile::Strict)
}

fn read(kernel: &SimKernel) -> Machine {
    Machine::read(kernel.root())
        .with_tasks(kernel.root())
        .with_interrupts(kernel.root())
}

/// Returns what the partition would need now.
fn plan_now(kernel: &SimKernel) -> Plan {
    let wanted = intent("rt", "3");
    let settings = machine::settings::for_cpus(kernel.root(), &wanted.cpus, plan::knobs::planned());
    plan::plan_beside(&read(kernel), &settings, &wanted, &[intent("fast", "2")]).unwrap()
}

/// Returns a request to repair a partition with these changes.
fn repair_of<'a>(partition: &'a str, changes: &'a [Change]) -> RepairRequest<'a> {
    RepairRequest {
        partition,
        changes,
        tool: env!("CARGO_PKG_VERSION"),
    }
}

/// Repairs what another program changed of `rt`.
pub fn repair_rt(kernel: &SimKernel, disk: &SimDisk) -> RepairOutcome {
    let lost = |change: &&Change| matches!(change.target.as_str(), ETH0 | MIGRATION | GOVERNOR);
    let changes: Vec<Change> = plan_now(kernel).changes.iter().filter(lost).cloned().collect();
    repair(kernel, disk, &read(kernel), repair_of("rt", &changes)).unwrap()
}

/// A machine on which the partition has to change all three files.
pub fn wrong_before(rules: Rules) -> SimKernel {
    let kernel = SimKernel::boot_with_settings(rules);
    kernel.put(MIGRATION, "0\n");
    kernel
}

/// A machine on which all three files already have the required values.
fn right_before(rules: Rules) -> SimKernel {
    let kernel = SimKernel::boot_with_settings(rules);
    kernel.put(ETH0, "0-1\n");
    kernel.put(MIGRATION, "1\n");
    kernel.put(GOVERNOR, "performance\n");
    kernel
}

/// A name for the state before the partition, and the function that creates it.
type InitialState = (&'static str, fn(Rules) -> SimKernel);

const STARTS: [InitialState; 2] = [("wrong before", wrong_before), ("right before", right_before)];

/// Applies two partitions, so that the damaged one is not the last, and then overwrites all three files.
pub fn isolate_and_break(kernel: &SimKernel, disk: &SimDisk) {
    isolate_as(kernel, disk, &intent("rt", "3"), || {}).unwrap();
    isolate_as(kernel, disk, &intent("fast", "2"), || {}).unwrap();
    kernel.put(ETH0, "2-3\n");
    kernel.put(MIGRATION, "0\n");
    kernel.put(GOVERNOR, "powersave\n");
}

fn starts() -> impl Iterator<Item = (Rules, InitialState)> {
    ALL_RULES
        .into_iter()
        .flat_map(|rules| STARTS.map(|start| (rules, start)))
}

#[test]
fn repairs_are_active_and_undo_restores_the_state_before_the_partition() {
    for (rules, (name, start)) in starts() {
        let what = format!("{rules:?}, {name}");
        let kernel = start(rules);
        let before = kernel.dump();
        let is_written = kernel.get(ETH0).trim() != "0-1";
        let disk = SimDisk::new(&kernel);
        isolate_and_break(&kernel, &disk);
        let drift = |kernel: &SimKernel| {
            let journal = Journal::open(&disk).unwrap().unwrap();
            let standing = active_partitions(kernel, &journal, &read(kernel));
            standing.into_iter().flat_map(|one| one.drift).collect::<Vec<_>>()
        };
        // A value that was already right at apply was not written, so it cannot drift. A new plan finds it.
        let reported = drift(&kernel).iter().any(|one| one.subject == ETH0);
        assert_eq!(reported, is_written, "{what}");
        let repaired = repair_rt(&kernel, &disk);
        assert_eq!(repaired.entries.len(), 3, "{what}: {repaired:?}");
        assert_eq!(kernel.get(ETH0).trim(), "0-1", "{what}");
        assert_eq!(kernel.get(MIGRATION).trim(), "1", "{what}");
        assert_eq!(kernel.get(GOVERNOR).trim(), "performance", "{what}");
        assert!(drift(&kernel).is_empty(), "{what}: {:?}", drift(&kernel));
        let journal = Journal::open(&disk).unwrap().unwrap();
        assert_eq!(journal.state(BOOT), JournalState::InForce, "{what}");
        // Repairing an intact partition writes nothing.
        assert!(
            repair_rt(&kernel, &disk).entries.iter().all(|entry| entry.seq == 0),
            "{what}"
        );
        let undone = undo(&kernel, &disk, UndoTarget::All, Force::No).unwrap();
        assert!(undone.equal(), "{what}: {:?}", undone.remains());
        same(&kernel, &before, &what);
    }
}

#[test]
fn a_kill_during_repair_leaves_a_journal_that_undo_completes() {
    let mut tried = 0;
    for (rules, (name, start)) in starts() {
        let kernel = start(rules);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        isolate_and_break(&kernel, &disk);
        let begin = kernel.steps.get();
        repair_rt(&kernel, &disk);
        for step in begin + 1..=kernel.steps.get() {
            for death in [Death::Before(step), Death::After(step), Death::Torn(step)] {
                let what = format!("{rules:?}, {name}, {death:?}");
                let kernel = start(rules);
                let disk = SimDisk::new(&kernel);
                isolate_and_break(&kernel, &disk);
                kernel.death.set(death);
                assert!(dies(|| drop(repair_rt(&kernel, &disk))), "{what} did not die");
                kernel.death.set(Death::Never);
                // The next repair completes the interrupted one.
                repair_rt(&kernel, &disk);
                let undone = undo(&kernel, &disk, UndoTarget::All, Force::No).unwrap();
                assert!(undone.equal(), "{what}: {:?}", undone.remains());
                same(&kernel, &before, &what);
                tried += 1;
            }
        }
    }
    assert!(tried > 80, "only {tried} deaths");
}

#[test]
fn a_refused_repair_is_reported_and_the_rest_is_repaired() {
    let kernel = wrong_before(Rules::V2);
    let disk = SimDisk::new(&kernel);
    isolate_and_break(&kernel, &disk);
    kernel.refuse(ETH0, libc::EIO);
    let repaired = repair_rt(&kernel, &disk);
    assert_eq!(repaired.findings.len(), 1, "{repaired:?}");
    assert_eq!(repaired.findings[0].subject, ETH0);
    assert_eq!(kernel.get(MIGRATION).trim(), "1");
}

/// A change that once succeeded counts as lost until it succeeds again. A change that was refused at apply does not
/// count as lost.
#[test]
fn changes_refused_at_apply_differ_from_those_refused_later() {
    let reported = |kernel: &SimKernel, disk: &SimDisk| {
        let journal = Journal::open(disk).unwrap().unwrap();
        let all = active_partitions(kernel, &journal, &read(kernel));
        let rt = all.into_iter().find(|one| one.intent.name.as_str() == "rt").unwrap();
        let has = |set: &std::collections::BTreeMap<String, String>| set.contains_key("irq_affinity/25");
        let drifts = rt.drift.iter().any(|one| one.subject == ETH0);
        (has(&rt.refused), has(&rt.unrepaired), drifts)
    };
    for rules in ALL_RULES {
        let kernel = wrong_before(rules);
        let disk = SimDisk::new(&kernel);
        isolate_and_break(&kernel, &disk);
        kernel.refuse(ETH0, libc::EROFS);
        repair_rt(&kernel, &disk);
        assert_eq!(
            reported(&kernel, &disk),
            (false, true, true),
            "{rules:?}: refused later"
        );
        kernel.allow(ETH0);
        repair_rt(&kernel, &disk);
        assert_eq!(
            reported(&kernel, &disk),
            (false, false, false),
            "{rules:?}: taken again"
        );

        let kernel = wrong_before(rules);
        let disk = SimDisk::new(&kernel);
        kernel.refuse(ETH0, libc::EIO);
        isolate_and_break(&kernel, &disk);
        assert_eq!(
            reported(&kernel, &disk),
            (true, false, false),
            "{rules:?}: refused at first"
        );
        repair_rt(&kernel, &disk);
        assert_eq!(reported(&kernel, &disk), (true, false, false), "{rules:?}: and again");
        kernel.allow(ETH0);
        repair_rt(&kernel, &disk);
        assert_eq!(
            reported(&kernel, &disk),
            (false, false, false),
            "{rules:?}: taken later"
        );
        kernel.put(ETH0, "2-3\n");
        assert_eq!(reported(&kernel, &disk), (false, false, true), "{rules:?}: and lost");
    }
}

/// What a repair adds belongs to the repaired partition, not to the one that was applied last.
#[test]
fn what_a_repair_adds_is_undone_with_its_partition() {
    for rules in ALL_RULES {
        let what = format!("{rules:?}");
        let kernel = SimKernel::boot_with_settings(rules);
        let disk = SimDisk::new(&kernel);
        let governor = kernel.get(GOVERNOR);
        let mut first = intent("rt", "3");
        first.without.insert("scaling_governor".to_owned());
        isolate_as(&kernel, &disk, &first, || {}).unwrap();
        isolate_as(&kernel, &disk, &intent("fast", "2"), || {}).unwrap();
        assert_eq!(kernel.get(GOVERNOR), governor, "{what}: it was set already");
        repair_rt(&kernel, &disk);
        assert_eq!(kernel.get(GOVERNOR).trim(), "performance", "{what}");
        let undone = undo(&kernel, &disk, UndoTarget::Named("rt"), Force::No).unwrap();
        assert!(undone.equal(), "{what}: {:?}", undone.remains());
        assert_eq!(kernel.get(GOVERNOR), governor, "{what}: it went to another partition");
    }
}

/// Each partition plans from the broken value and knows only its own CPUs. The plans are joined before one value is
/// written.
#[test]
fn a_file_that_two_partitions_need_repaired_is_written_once() {
    for rules in ALL_RULES {
        let what = format!("{rules:?}");
        let kernel = wrong_before(rules);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        isolate_as(&kernel, &disk, &intent("rt", "3"), || {}).unwrap();
        isolate_as(&kernel, &disk, &intent("fast", "2"), || {}).unwrap();
        kernel.put(ETH0, "0-3\n");
        let of = |name: &str, cpus: &str, other: Intent| -> Vec<Change> {
            let wanted = intent(name, cpus);
            let settings = machine::settings::for_cpus(kernel.root(), &wanted.cpus, plan::knobs::planned());
            let plan = plan::plan_beside(&read(&kernel), &settings, &wanted, &[other]).unwrap();
            plan.changes
                .into_iter()
                .filter(|change| change.target == ETH0)
                .collect()
        };
        let mut rt = of("rt", "3", intent("fast", "2"));
        let mut fast = of("fast", "2", intent("rt", "3"));
        assert_eq!(
            (rt[0].after.as_str(), fast[0].after.as_str()),
            ("0-2", "0-1,3"),
            "{what}"
        );
        plan::joint::join(&mut rt.iter_mut().chain(&mut fast).collect::<Vec<_>>());
        let make =
            |name: &str, changes: &[Change]| repair(&kernel, &disk, &read(&kernel), repair_of(name, changes)).unwrap();
        assert!(make("fast", &fast).entries.iter().all(|entry| entry.seq > 0), "{what}");
        assert_eq!(kernel.get(ETH0).trim(), "0-1", "{what}");
        assert!(
            make("rt", &rt).entries.iter().all(|entry| entry.seq == 0),
            "{what}: written twice"
        );
        // Either partition can be undone first, and both restore the original state.
        let gone = undo(&kernel, &disk, UndoTarget::Named("fast"), Force::No).unwrap();
        assert!(gone.equal(), "{what}: {:?}", gone.remains());
        assert!(!kernel.get(ETH0).contains('3'), "{what}: {}", kernel.get(ETH0));
        let undone = undo(&kernel, &disk, UndoTarget::All, Force::No).unwrap();
        assert!(undone.equal(), "{what}: {:?}", undone.remains());
        same(&kernel, &before, &what);
    }
}
