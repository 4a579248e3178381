//! Writes the JSON of `inspect`. Rows are serialised one by one, so that a hundred thousand tasks need no second copy.

use super::{InspectView, PartDetail};
use machine::{
    Cache, CpuId, CpuSet, ImmovableReason, Interrupt, Isolation, Machine, Node, Partition, Policy, Preemption, Task,
    UnreadableFile, Version,
};
use root::Origin;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::io::{self, Write};

/// The schema of the document.
pub const INSPECT_SCHEMA: &str = "quietcore.inspect/1";

/// Writes the JSON document `quietcore.inspect/1`, streaming.
///
/// # Errors
/// Errors of `out`.
pub fn inspect_json(machine: &Machine, view: &InspectView, out: &mut dyn Write) -> io::Result<()> {
    let is_selected = |cpu: CpuId| view.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu));
    let touches = |set: &Option<CpuSet>| match (&view.cpus, set) {
        (Some(cpus), Some(set)) => set.intersects(cpus),
        _ => true,
    };
    let tasks = machine.tasks.as_deref().map(|tasks| {
        RowSequence(move || {
            let here = move |task: &&Task| task.cpu.is_some_and(is_selected) || touches(&task.allowed);
            tasks.iter().filter(here).map(TaskRow::from)
        })
    });
    let irqs = machine.interrupts.as_deref().map(|irqs| {
        RowSequence(move || {
            irqs.iter()
                .filter(move |irq| touches(&irq.affinity) || touches(&irq.effective))
                .map(IrqRow::from)
        })
    });
    let document = InspectDocument {
        schema: INSPECT_SCHEMA,
        origin: machine.origin,
        kernel: KernelRow {
            release: machine.kernel.release.as_deref(),
            preemption: machine.kernel.preemption,
            cmdline: machine.kernel.cmdline.as_ref().map(|line| line.text.as_str()),
            boot_id: machine.kernel.boot_id.as_deref(),
            clocksource: machine.kernel.clocksource.as_deref(),
            lockdown: machine.kernel.lockdown.as_deref(),
            sched_rt_runtime_us: machine.kernel.sched_rt_runtime_us,
        },
        model_name: machine.topology.model_name.as_deref(),
        hypervisor: machine.topology.hypervisor.as_deref(),
        possible: &machine.topology.possible,
        present: &machine.topology.present,
        online: &machine.topology.online,
        cpus: RowSequence(|| machine.topology.cpus.iter().filter(move |cpu| is_selected(cpu.id))),
        nodes: &machine.topology.nodes,
        caches: &machine.topology.caches,
        isolation: IsolationRow {
            isolation: &machine.isolation,
            partitions: RowSequence(|| machine.isolation.partitions.iter().map(PartitionRow::from)),
        },
        cgroups: CgroupsRow {
            cpuset: machine.cgroups.cpuset.as_ref().map(|set| CpusetRow {
                hierarchy: set.version,
                mount: &set.mount,
                read_only: set.read_only,
                sets: set.sets.len(),
            }),
            owners: &machine.cgroups.owners,
        },
        unreadable: &machine.unreadable,
        tasks: (view.tasks != PartDetail::Left).then_some(tasks),
        irqs: (view.interrupts != PartDetail::Left).then_some(irqs),
    };
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// The document, as a type without closures.
#[cfg(feature = "schema")]
pub(crate) type InspectDocumentForm<'a> =
    InspectDocument<'a, Vec<machine::Cpu>, Vec<PartitionRow<'a>>, Vec<TaskRow<'a>>, Vec<IrqRow<'a>>>;

/// A sequence that is generated while it is written.
struct RowSequence<F>(F);

impl<F, I> Serialize for RowSequence<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(None)?;
        for row in (self.0)() {
            sequence.serialize_element(&row)?;
        }
        sequence.end()
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct InspectDocument<'a, C: Serialize, P: Serialize, T: Serialize, I: Serialize> {
    schema: &'static str,
    /// Whether the machine is the running one or a captured one.
    origin: Origin,
    /// The kernel.
    kernel: KernelRow<'a>,
    /// Name of the processor.
    model_name: Option<&'a str>,
    /// The hypervisor, if the machine is a guest and it is known.
    hypervisor: Option<&'a str>,
    /// CPUs that the machine can have; `None` is unknown.
    possible: &'a Option<CpuSet>,
    /// CPUs that are plugged in; `None` is unknown.
    present: &'a Option<CpuSet>,
    /// CPUs that are online.
    online: &'a CpuSet,
    /// The selected CPUs.
    cpus: C,
    /// The NUMA nodes.
    nodes: &'a [Node],
    /// The caches.
    caches: &'a [Cache],
    /// What is isolated, by boot line or at run time.
    isolation: IsolationRow<'a, P>,
    /// Cgroups with a cpuset.
    cgroups: CgroupsRow<'a>,
    /// Files that exist but could not be read.
    unreadable: &'a [UnreadableFile],
    // Outer `None`: not requested. Inner `None`: requested, but unknown, which is `null`.
    /// The tasks, with `--tasks`; `null` is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Option<T>>,
    /// The interrupts, with `--irqs`; `null` is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    irqs: Option<Option<I>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct KernelRow<'a> {
    /// Its release.
    release: Option<&'a str>,
    /// Its preemption model.
    preemption: Option<Preemption>,
    /// Its boot line.
    cmdline: Option<&'a str>,
    /// Identifier of this boot.
    boot_id: Option<&'a str>,
    /// Its clock source.
    clocksource: Option<&'a str>,
    /// The active word of `/sys/kernel/security/lockdown`.
    lockdown: Option<&'a str>,
    /// `sched_rt_runtime_us`, in microseconds; -1 is unlimited.
    sched_rt_runtime_us: Option<i64>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "IsolationRow"))]
struct IsolationRow<'a, P: Serialize> {
    #[serde(flatten)]
    isolation: &'a Isolation,
    /// Cpusets that take CPUs from the rest.
    partitions: P,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PartitionRow<'a> {
    /// Its path below the mount.
    name: &'a str,
    /// Its version of cgroups.
    hierarchy: Version,
    /// Its CPUs; `None` is unknown.
    cpus: Option<&'a CpuSet>,
    /// The word in `cpuset.cpus.partition`; on v1 `isolated`.
    kind: &'a str,
    /// Why the kernel calls it invalid; `None` if it is valid.
    invalid: Option<&'a str>,
}

impl<'a> From<&'a Partition> for PartitionRow<'a> {
    fn from(partition: &'a Partition) -> PartitionRow<'a> {
        let (kind, invalid) = super::isolation::partition_kind(partition);
        PartitionRow {
            name: &partition.name,
            hierarchy: partition.version,
            cpus: partition.assigned_cpus(),
            kind,
            invalid,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CgroupsRow<'a> {
    /// The hierarchy with the cpuset controller; `None` without one.
    cpuset: Option<CpusetRow<'a>>,
    /// Other programs that manage cgroups.
    owners: &'a [machine::Owner],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CpusetRow<'a> {
    /// Its version of cgroups.
    hierarchy: Version,
    /// Where it is mounted.
    mount: &'a str,
    /// Whether it is mounted read-only.
    read_only: bool,
    /// Number of its cpusets.
    sets: usize,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TaskRow<'a> {
    /// Its process.
    pid: u32,
    /// Its TID.
    tid: u32,
    /// Its name.
    comm: &'a str,
    /// Its state, as one letter of `/proc/PID/stat`.
    state: char,
    /// The CPU that it ran on last.
    cpu: Option<CpuId>,
    /// Its affinity; `None` is unknown.
    allowed: &'a Option<CpuSet>,
    /// Its scheduling policy.
    policy: Policy,
    /// Its real-time priority, 1 to 99; else 0.
    priority: u32,
    /// Its nice value.
    nice: i32,
    /// Whether its affinity can be changed.
    movable: bool,
    /// Whether it is a kernel thread.
    kernel: bool,
    /// Its cgroup; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<&'a str>,
}

impl<'a> From<&'a Task> for TaskRow<'a> {
    fn from(task: &'a Task) -> TaskRow<'a> {
        TaskRow {
            pid: task.pid,
            tid: task.key.tid,
            comm: &task.comm,
            state: task.state,
            cpu: task.cpu,
            allowed: &task.allowed,
            policy: task.policy,
            priority: task.rt_priority,
            nice: task.nice,
            movable: task.is_movable(),
            kernel: task.is_kernel(),
            cgroup: task.cgroup.as_deref(),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct IrqRow<'a> {
    /// Its number.
    irq: u32,
    /// Names of its actions, joined by `,`; empty if no driver has requested it.
    name: &'a str,
    /// Chip and trigger as the kernel prints them.
    chip: &'a str,
    /// Its affinity; `None` is unknown.
    affinity: &'a Option<CpuSet>,
    /// CPUs that it is delivered to; `None` is unknown.
    effective: &'a Option<CpuSet>,
    /// Whether the kernel manages its mask; `None` is unknown.
    managed: Option<bool>,
    /// Why writing its mask does not move it; `null` if no reason is known.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["per_cpu", "managed", "timer", "fixed", null])))]
    immovable: Option<&'static str>,
    /// Counts since boot by CPU; omitted CPUs counted nothing.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<u32, u64>"))]
    counts: CountsByCpu<'a>,
}

impl<'a> From<&'a Interrupt> for IrqRow<'a> {
    fn from(irq: &'a Interrupt) -> IrqRow<'a> {
        IrqRow {
            irq: irq.irq,
            name: &irq.name,
            chip: &irq.chip,
            affinity: &irq.affinity,
            effective: &irq.effective,
            managed: irq.managed,
            immovable: irq.immovable().map(ImmovableReason::name),
            counts: CountsByCpu(&irq.counts),
        }
    }
}

/// An object from CPU number to count; omitted CPUs counted nothing.
struct CountsByCpu<'a>(&'a [(u32, u64)]);

impl Serialize for CountsByCpu<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (cpu, count) in self.0 {
            map.serialize_entry(cpu, count)?;
        }
        map.end()
    }
}
