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
struct InspectDocument<'a, C: Serialize, P: Serialize, T: Serialize, I: Serialize> {
    schema: &'static str,
    origin: Origin,
    kernel: KernelRow<'a>,
    model_name: Option<&'a str>,
    hypervisor: Option<&'a str>,
    possible: &'a Option<CpuSet>,
    present: &'a Option<CpuSet>,
    online: &'a CpuSet,
    cpus: C,
    nodes: &'a [Node],
    caches: &'a [Cache],
    isolation: IsolationRow<'a, P>,
    cgroups: CgroupsRow<'a>,
    unreadable: &'a [UnreadableFile],
    // Outer `None`: not requested. Inner `None`: requested, but unknown, which is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Option<T>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    irqs: Option<Option<I>>,
}

#[derive(Serialize)]
struct KernelRow<'a> {
    release: Option<&'a str>,
    preemption: Option<Preemption>,
    cmdline: Option<&'a str>,
    boot_id: Option<&'a str>,
    clocksource: Option<&'a str>,
    lockdown: Option<&'a str>,
    sched_rt_runtime_us: Option<i64>,
}

#[derive(Serialize)]
struct IsolationRow<'a, P: Serialize> {
    #[serde(flatten)]
    isolation: &'a Isolation,
    partitions: P,
}

#[derive(Serialize)]
struct PartitionRow<'a> {
    name: &'a str,
    hierarchy: Version,
    cpus: Option<&'a CpuSet>,
    kind: &'a str,
    invalid: Option<&'a str>,
}

impl<'a> From<&'a Partition> for PartitionRow<'a> {
    fn from(partition: &'a Partition) -> PartitionRow<'a> {
        let (kind, invalid) = super::isolation::partition_kind(partition);
        PartitionRow {
            name: &partition.name,
            hierarchy: partition.version,
            cpus: super::isolation::configured_cpus(partition),
            kind,
            invalid,
        }
    }
}

#[derive(Serialize)]
struct CgroupsRow<'a> {
    cpuset: Option<CpusetRow<'a>>,
    owners: &'a [machine::Owner],
}

#[derive(Serialize)]
struct CpusetRow<'a> {
    hierarchy: Version,
    mount: &'a str,
    read_only: bool,
    sets: usize,
}

#[derive(Serialize)]
struct TaskRow<'a> {
    pid: u32,
    tid: u32,
    comm: &'a str,
    state: char,
    cpu: Option<CpuId>,
    allowed: &'a Option<CpuSet>,
    policy: Policy,
    priority: u32,
    nice: i32,
    movable: bool,
    kernel: bool,
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
struct IrqRow<'a> {
    irq: u32,
    name: &'a str,
    chip: &'a str,
    affinity: &'a Option<CpuSet>,
    effective: &'a Option<CpuSet>,
    managed: Option<bool>,
    /// Why writing its mask does not move it; `null` if no reason is known.
    immovable: Option<&'static str>,
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
