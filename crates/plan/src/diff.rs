//! What changed on a machine, in meanings: two readings of it in, sentences out, with how much each matters to
//! the isolated CPUs. What is unknown on one side is no change.

mod boot;
mod cpus;
mod identity;
mod interrupts;
mod sets;
mod settings;
mod tasks;

use crate::Level;
use machine::{CpuSet, Machine, Settings};
use serde::Serialize;

/// One reading of a machine, with tasks and interrupts.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The model.
    pub machine: Machine,
    /// What stands in the files that nobody plans from.
    pub settings: Settings,
    /// A process whose threads are not counted: our own.
    pub own_pid: Option<u32>,
}

/// What lies between two readings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// The CPUs that matter most: given, or isolated in either reading.
    pub isolated: CpuSet,
    /// Why the two are probably different machines; empty for one machine at two times.
    pub different_machines: Vec<String>,
    /// The changes, the weightiest first.
    pub changes: Vec<Difference>,
}

/// One difference between the two machines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Difference {
    /// Stable identifier of its sort: `irq-affinity`.
    pub id: String,
    /// `error` lets something reach the isolated CPUs that could not before, or takes isolation away;
    /// `warning` may matter to them; `info` is the rest.
    pub level: Level,
    /// What it is about: `irq/47`, `cpu3`, a boot parameter.
    pub subject: String,
    /// In words.
    pub message: String,
    /// What was; `None` for nothing.
    pub before: Option<String>,
    /// What is; `None` for nothing.
    pub after: Option<String>,
}

/// The two readings side by side, and what it matters to.
struct Pair<'a> {
    before: &'a Reading,
    after: &'a Reading,
    isolated: &'a CpuSet,
    changes: Vec<Difference>,
}

/// Everything that is compared, in the order of a reader's questions.
const FAMILIES: &[fn(&mut Pair)] = &[
    boot::compare,
    cpus::compare,
    sets::compare,
    interrupts::compare,
    tasks::compare,
    settings::compare,
];

/// Compares two readings. `cpus` are the CPUs that matter; `None` takes those isolated in either of them.
#[must_use]
pub fn diff(before: &Reading, after: &Reading, cpus: Option<&CpuSet>) -> Diff {
    let isolated = cpus.cloned().unwrap_or_else(|| {
        let (one, other) = (isolated(&before.machine), isolated(&after.machine));
        one.or(&other)
    });
    let mut pair = Pair {
        before,
        after,
        isolated: &isolated,
        changes: Vec::new(),
    };
    for family in FAMILIES {
        family(&mut pair);
    }
    let mut changes = pair.changes;
    changes.sort_by_key(|change| std::cmp::Reverse(change.level));
    Diff {
        different_machines: identity::differences(before, after),
        isolated,
        changes,
    }
}

/// CPUs that the boot line or a partition takes from the rest.
fn isolated(machine: &Machine) -> CpuSet {
    let isolation = &machine.isolation;
    let boot = [
        &isolation.boot_isolated,
        &isolation.nohz_full,
        &isolation.cpuset_isolated,
    ];
    let partitions = isolation.partitions.iter().map(|set| match &set.cpus {
        Some(cpus) if !cpus.is_empty() => cpus.clone(),
        _ => set.effective_cpus.clone().unwrap_or_default(),
    });
    let boot = boot.into_iter().flatten().cloned();
    boot.chain(partitions)
        .fold(CpuSet::new(), |all, cpus| all.or(&cpus))
}

impl Pair<'_> {
    /// Adds a difference.
    fn add(
        &mut self,
        id: &str,
        level: Level,
        subject: impl Into<String>,
        step: Step,
        message: impl Into<String>,
    ) {
        debug_assert!(crate::finding_ids::is_known(id), "`explain {id}` says nothing");
        self.changes.push(Difference {
            id: id.to_owned(),
            level,
            subject: subject.into(),
            message: message.into(),
            before: step.before,
            after: step.after,
        });
    }

    /// How much it matters that something reached one set of CPUs and now reaches another.
    fn reach(&self, before: &CpuSet, after: &CpuSet, otherwise: Level) -> Level {
        let gained = after.and(self.isolated).minus(before);
        if gained.is_empty() {
            otherwise
        } else {
            Level::Error
        }
    }

    /// Whether both readings are of one boot, so that numbers mean the same.
    fn same_boot(&self) -> bool {
        let id = |reading: &Reading| reading.machine.kernel.boot_id.clone();
        id(self.before).is_some() && id(self.before) == id(self.after)
    }
}

/// From what to what.
struct Step {
    before: Option<String>,
    after: Option<String>,
}

impl Step {
    fn new(before: &impl ToString, after: &impl ToString) -> Step {
        Step {
            before: Some(before.to_string()),
            after: Some(after.to_string()),
        }
    }

    fn gained(after: &impl ToString) -> Step {
        Step {
            before: None,
            after: Some(after.to_string()),
        }
    }

    fn lost(before: &impl ToString) -> Step {
        Step {
            before: Some(before.to_string()),
            after: None,
        }
    }
}

/// A set for people.
fn shown(set: &CpuSet) -> String {
    if set.is_empty() {
        "none".to_owned()
    } else {
        set.to_string()
    }
}
