//! Takes the SMT siblings of isolated CPUs offline, so that nothing shares a core with an isolated CPU.
//!
//! The whole machine stops for a moment (`kernel/cpu.c`, `takedown_cpu`), v1 cpusets lose the CPU for good, and tasks
//! and interrupts that had no other CPU move elsewhere. So it is never done while a cpuset holds the CPU. Ours do not,
//! because the CPU is no longer a housekeeping CPU. Interrupts that would be left without a CPU are moved first.

use super::value_file::{ValueFile, set};
use super::{Knob, KnobUse, Presence, declare};
use crate::parameters::ParameterCost;
use crate::{
    Action, Change, ChangeKind, Finding, FindingId, Level, Plan, PlanContext, ReadbackComparison, RefusalPolicy,
    UndoMethod,
};
use machine::{CpuSet, Partition, Version};

pub(super) const KNOB: Knob = Knob {
    name: "cpu_offline",
    aliases: &["online"],
    files: &["/sys/devices/system/cpu/cpuN/online"],
    what: "takes a CPU down and up; quietcore takes down the SMT siblings of isolated CPUs that are not isolated themselves",
    isolation: "0 for the siblings: no task shares a core with an isolated CPU. Down and up also moves timers and interrupts \
                away that nothing else moves; it stops all CPUs for a moment, empties v1 cpusets and drops pins",
    needs: "a processor with SMT, and siblings that are not isolated; isolating whole cores is the gentler way",
    usage: KnobUse::ByName,
    price: ParameterCost::Safety,
    stops: &["smt_sibling"],
    side_effects: "the machine has fewer CPUs until undo; all of it stops for some milliseconds, twice",
    verify: "/sys/devices/system/cpu/offline",
    peers: &["TuneD", "pyperf"],
    refused: &[
        (
            declare::EBUSY,
            "it keeps the time for nohz_full CPUs, or is the last one that may do housekeeping",
        ),
        (declare::EPERM, "this CPU cannot be switched off"),
    ],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    if scene.going_offline.is_empty() {
        return Presence::Absent;
    }
    if let Some(finding) = obstacle(scene) {
        plan.findings.push(finding);
        return Presence::Here;
    }
    let online = |cpu: machine::CpuId| format!("/sys/devices/system/cpu/cpu{}/online", cpu.0);
    let able: CpuSet = scene
        .going_offline
        .iter()
        .filter(|cpu| scene.settings.get(&online(*cpu)).is_some())
        .collect();
    let interrupts = scene.machine.interrupts.iter().flatten();
    for interrupt in interrupts.filter(|interrupt| interrupt.immovable().is_none()) {
        let stranded = interrupt
            .affinity
            .as_ref()
            .filter(|cpus| !cpus.is_empty() && cpus.is_subset(&able));
        if let Some(now) = stranded {
            plan.changes.push(before_it_is_stranded(scene, interrupt.irq, now));
        }
    }
    for cpu in able.iter() {
        let file = ValueFile {
            knob: &KNOB,
            part: &format!("cpu{}", cpu.0),
            path: &online(cpu),
            value: "0",
            why: "it shares a core with an isolated CPU, and takes execution time from it",
        };
        set(scene, plan, &file);
    }
    match able.is_empty() {
        true => Presence::Absent,
        false => Presence::Here,
    }
}

/// The kernel widens the mask of an interrupt whose CPUs all go offline, and does not restore it.
fn before_it_is_stranded(scene: &PlanContext, irq: u32, now: &CpuSet) -> Change {
    let path = format!("/proc/irq/{irq}/smp_affinity_list");
    Change {
        id: format!("{}/irq{irq}", KNOB.name),
        target: path.clone(),
        kind: ChangeKind::Runtime,
        before: Some(now.to_string()),
        after: scene.housekeeping.to_string(),
        why: "it would be left without a CPU, and the kernel would widen its mask for good".to_owned(),
        undo: "write the former list".to_owned(),
        action: Action::Write {
            path,
            value: scene.housekeeping.to_string(),
            compare: ReadbackComparison::List,
            on_refusal: RefusalPolicy::Report,
            undo: UndoMethod::Restore,
        },
    }
}

fn obstacle(scene: &PlanContext) -> Option<Finding> {
    let going = &scene.going_offline;
    let lowest = scene.machine.topology.online.first();
    if let Some(lowest) = lowest.filter(|cpu| going.contains(*cpu)) {
        let message = format!("CPU {lowest} is the lowest that is online and cannot be spared");
        return Some(
            Finding::new(Level::Error, FindingId::OFFLINE_LOWEST, format!("cpu{lowest}"), message)
                .fix("isolate another core, or leave --with cpu_offline out"),
        );
    }
    let set = holder(scene, going)?;
    let message = format!("the cpuset {set} holds CPU {going} and would lose it for good");
    Some(
        Finding::new(Level::Error, FindingId::OFFLINE_CPUSET, set, message)
            .fix("take that cpuset back first, or isolate whole cores instead of --with cpu_offline"),
    )
}

/// A cpuset that would lose the CPUs going offline: on v1 for good, on v2 a partition until they come back.
pub(super) fn holder<'a>(scene: &PlanContext<'a>, going: &CpuSet) -> Option<&'a str> {
    let hierarchy = scene.machine.cgroups.cpuset.as_ref()?;
    let holds = |set: &&'a Partition| {
        let taking = hierarchy.version == Version::V1 || set.takes_cpus();
        let holding = set.cpus.as_ref().is_some_and(|cpus| cpus.intersects(going));
        set.name != "/" && taking && holding
    };
    hierarchy.sets.iter().find(holds).map(|set| set.name.as_str())
}
