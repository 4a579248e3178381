//! Takes the SMT siblings of isolated CPUs offline, so that nothing shares a core with an isolated CPU.
//!
//! The whole machine stops for a moment (`kernel/cpu.c`, `takedown_cpu`), v1 cpusets lose the CPU for good, and tasks
//! and interrupts that had no other CPU move elsewhere. So it is never done while a cpuset holds the CPU. Ours do not,
//! because the CPU is no longer a housekeeping CPU. Interrupts that would be left without a CPU are moved first.

use super::knob_file::KnobFile;
use super::{Knob, Presence, declare};
use crate::parameters::ParameterCost;
use crate::{Change, Finding, FindingId, Plan, PlanContext, RefusalPolicy};
use machine::{CpuId, CpuSet, Partition, Version};

pub(super) const KNOB: Knob = Knob {
    name: "cpu_offline",
    aliases: &["online"],
    files: &["/sys/devices/system/cpu/cpuN/online"],
    what: "takes a CPU offline or online; quietcore takes the SMT siblings of isolated CPUs offline, unless they are \
         isolated themselves",
    isolation: "0 for the siblings: no task shares a core with an isolated CPU. Going offline and online also moves \
         timers and interrupts that cannot be moved otherwise; it stops all CPUs for a moment, empties v1 cpusets and \
         drops pinning",
    needs: "a processor with SMT, and siblings that are not isolated; isolating whole cores has fewer side effects",
    price: ParameterCost::Safety,
    stops: &["smt_sibling"],
    side_effects: "the machine has fewer CPUs until undo; the whole machine stops for some milliseconds, twice",
    verify: "/sys/devices/system/cpu/offline",
    peers: &["TuneD", "pyperf"],
    refused: &[
        (
            declare::EBUSY,
            "it keeps the time for nohz_full CPUs, or is the last one that may do housekeeping",
        ),
        (declare::EPERM, "this CPU cannot go offline"),
    ],
    why: "it shares a core with an isolated CPU and takes execution time from it",
    plan,
    ..Knob::PLAIN
};

fn plan(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    if scene.going_offline.is_empty() {
        return Presence::Absent;
    }
    if let Some(finding) = obstacle(scene) {
        plan.findings.push(finding);
        return Presence::Here;
    }
    let able = able(scene, &scene.going_offline);
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
        KnobFile::new(knob, format!("cpu{}", cpu.0), online(cpu)).set(scene, plan, "0");
    }
    match able.is_empty() {
        true => Presence::Absent,
        false => Presence::Here,
    }
}

/// The kernel widens the mask of an interrupt whose CPUs all go offline, and does not restore it.
fn before_it_is_stranded(scene: &PlanContext, irq: u32, now: &CpuSet) -> Change {
    let (path, intended) = (format!("/proc/irq/{irq}/smp_affinity_list"), &scene.housekeeping);
    let why = "it would have no CPU left, and the kernel would widen its mask permanently";
    Change {
        id: format!("{}/irq{irq}", KNOB.name),
        ..Change::of_list(&path, Some(now), intended, RefusalPolicy::Report, why.to_owned())
    }
}

fn obstacle(scene: &PlanContext) -> Option<Finding> {
    let going = &scene.going_offline;
    let lowest = scene.machine.topology.online.first();
    if let Some(lowest) = lowest.filter(|cpu| going.contains(*cpu)) {
        let message = format!("CPU {lowest} is the lowest online CPU, which the machine needs");
        return Some(
            Finding::error(FindingId::OFFLINE_LOWEST, format!("cpu{lowest}"), message)
                .fix("isolate another core, or leave out --with cpu_offline"),
        );
    }
    held(scene, going, "or isolate whole cores instead of --with cpu_offline")
}

fn online(cpu: CpuId) -> String {
    format!("/sys/devices/system/cpu/cpu{}/online", cpu.0)
}

/// Those of these CPUs that can be taken offline.
pub(super) fn able(scene: &PlanContext, cpus: &CpuSet) -> CpuSet {
    cpus.iter()
        .filter(|cpu| scene.settings.get(&online(*cpu)).is_some())
        .collect()
}

/// The finding that a cpuset would lose the CPUs going offline, with what can be done instead of taking it back.
pub(super) fn held(scene: &PlanContext, going: &CpuSet, instead: &str) -> Option<Finding> {
    let set = holder(scene, going)?;
    let message = format!("the cpuset {set} contains CPU {going} and would lose it permanently");
    let fix = format!("undo that cpuset first, {instead}");
    Some(Finding::error(FindingId::OFFLINE_CPUSET, set, message).fix(fix))
}

/// A cpuset that would lose the CPUs going offline: on v1 for good, on v2 a partition until they come back.
fn holder<'a>(scene: &PlanContext<'a>, going: &CpuSet) -> Option<&'a str> {
    let hierarchy = scene.machine.cgroups.cpuset.as_ref()?;
    let holds = |set: &&'a Partition| {
        let taking = hierarchy.version == Version::V1 || set.takes_cpus();
        let holding = set.cpus.as_ref().is_some_and(|cpus| cpus.intersects(going));
        set.name != "/" && taking && holding
    };
    hierarchy.sets.iter().find(holds).map(|set| set.name.as_str())
}
