//! Compares two readings of a machine and describes what changed, with how much each change matters to the isolated
//! CPUs. A value that is unknown on one side is not a change.

mod boot;
mod cpus;
mod interrupts;
mod sets;
mod settings;
mod tasks;

use crate::words::cpus_or_none as set_text;
use crate::{FindingId, Level};
use machine::{CpuSet, Machine, OrderBy, Partition, Settings};
use serde::Serialize;

/// One reading of a machine, with tasks and interrupts.
#[derive(Clone, Debug)]
pub struct MachineReading {
    /// The model.
    pub machine: Machine,
    /// The contents of files that no plan uses.
    pub settings: Settings,
    /// A process whose threads are not counted: our own.
    pub own_pid: Option<u32>,
}

/// The differences between two readings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diff {
    /// The CPUs that matter most: given by the user, or isolated in either reading.
    pub isolated: CpuSet,
    /// Why the two are probably different machines; empty for one machine at two times.
    pub different_machines: Vec<String>,
    /// The changes, most important first.
    pub changes: Vec<MachineDifference>,
}

/// One difference between the two machines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineDifference {
    /// Stable identifier of its kind: `irq-affinity`.
    pub id: FindingId,
    /// `error` opens the isolated CPUs to something that could not reach them before, or ends isolation; `warning` may
    /// matter to them; `info` is the rest.
    pub level: Level,
    /// Its subject: `irq/47`, `cpu3`, a boot parameter.
    pub subject: String,
    /// In words.
    pub message: String,
    /// The old value; `None` for nothing.
    pub before: Option<String>,
    /// The new value; `None` for nothing.
    pub after: Option<String>,
}

/// The two readings and the CPUs that matter.
struct ReadingPair<'a> {
    before: &'a MachineReading,
    after: &'a MachineReading,
    isolated: &'a CpuSet,
    changes: Vec<MachineDifference>,
}

/// All comparisons, in the order in which a reader asks about them.
const FAMILIES: &[fn(&mut ReadingPair)] = &[
    boot::compare,
    cpus::compare,
    sets::compare,
    interrupts::compare,
    tasks::compare,
    settings::compare,
];

/// Compares two readings. `cpus` are the CPUs that matter; `None` takes those isolated in either of them.
#[must_use]
pub fn diff(before: &MachineReading, after: &MachineReading, cpus: Option<&CpuSet>) -> Diff {
    let isolated = cpus.cloned().unwrap_or_else(|| {
        let (one, other) = (isolated(&before.machine), isolated(&after.machine));
        one.or(&other)
    });
    let mut pair = ReadingPair {
        before,
        after,
        isolated: &isolated,
        changes: Vec::new(),
    };
    for family in FAMILIES {
        family(&mut pair);
    }
    let mut changes = pair.changes;
    changes.order_by_key(|change| std::cmp::Reverse(change.level));
    Diff {
        different_machines: identity_differences(before, after),
        isolated,
        changes,
    }
}

/// CPUs that the boot line or a partition isolates.
fn isolated(machine: &Machine) -> CpuSet {
    let isolation = &machine.isolation;
    let boot = [
        &isolation.boot_isolated,
        &isolation.nohz_full,
        &isolation.cpuset_isolated,
    ];
    let partitions = isolation.partitions.iter().map(Partition::listed_cpus);
    CpuSet::union(boot.into_iter().flatten().cloned().chain(partitions))
}

/// What does not match one machine, in words. No serial numbers are captured, so the hardware decides.
fn identity_differences(before: &MachineReading, after: &MachineReading) -> Vec<String> {
    let dmi = |reading: &MachineReading, name: &str| {
        let suffix = format!("/id/{name}");
        let found = reading.settings.values.iter().find(|(path, _)| path.ends_with(&suffix));
        found.map(|(_, value)| value.clone())
    };
    let topology = |reading: &MachineReading| {
        let topology = &reading.machine.topology;
        let present = Some(topology.present_cpus()).filter(|cpus| !cpus.is_empty());
        (
            present.map(|cpus| cpus.to_string()),
            topology.model_name.clone(),
            topology.hypervisor.clone(),
        )
    };
    let (one, other) = (topology(before), topology(after));
    let facts = [
        ("processor", one.1, other.1),
        ("CPUs plugged in", one.0, other.0),
        ("hypervisor", one.2, other.2),
        ("vendor", dmi(before, "sys_vendor"), dmi(after, "sys_vendor")),
        ("product", dmi(before, "product_name"), dmi(after, "product_name")),
    ];
    let differs = facts.into_iter().filter_map(|(name, before, after)| {
        let (before, after) = (before?, after?);
        (before != after).then(|| format!("{name}: {before} -> {after}"))
    });
    differs.collect()
}

impl ReadingPair<'_> {
    /// Adds a difference.
    fn add(
        &mut self,
        id: FindingId,
        level: Level,
        subject: impl Into<String>,
        step: ValueChange,
        message: impl Into<String>,
    ) {
        self.changes.push(MachineDifference {
            id,
            level,
            subject: subject.into(),
            message: message.into(),
            before: step.before,
            after: step.after,
        });
    }

    /// How much it matters that something moved from one set of CPUs to another.
    fn reach(&self, before: &CpuSet, after: &CpuSet, otherwise: Level) -> Level {
        let gained = after.and(self.isolated).minus(before);
        if gained.is_empty() { otherwise } else { Level::Error }
    }

    /// Whether both readings are of one boot, so that numbers are comparable.
    fn same_boot(&self) -> bool {
        let id = |reading: &MachineReading| reading.machine.kernel.boot_id.clone();
        id(self.before).is_some() && id(self.before) == id(self.after)
    }
}

/// The old and the new value.
struct ValueChange {
    before: Option<String>,
    after: Option<String>,
}

impl ValueChange {
    fn new(before: &impl ToString, after: &impl ToString) -> ValueChange {
        ValueChange {
            before: Some(before.to_string()),
            after: Some(after.to_string()),
        }
    }

    fn gained(after: &impl ToString) -> ValueChange {
        ValueChange {
            before: None,
            after: Some(after.to_string()),
        }
    }

    fn lost(before: &impl ToString) -> ValueChange {
        ValueChange {
            before: Some(before.to_string()),
            after: None,
        }
    }
}
