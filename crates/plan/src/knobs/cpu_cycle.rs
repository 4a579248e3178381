//! Takes isolated CPUs offline and online again before they are isolated. Timers that happened to be armed there move
//! to other CPUs and stay there (`hrtimers_cpu_dying` and `timers_dead_cpu`, `kernel/time/`; recommended in
//! `Documentation/admin-guide/kernel-per-CPU-kthreads.rst`).
//!
//! It comes before everything else: otherwise a v1 cpuset would lose the CPU for good, and a partition would become invalid.

use super::cpu_offline::holder;
use super::{Knob, KnobUse, Presence};
use crate::parameters::ParameterCost;
use crate::{Action, Change, ChangeKind, Finding, FindingId, Level, Plan, PlanContext};
use machine::CpuSet;

pub(super) const KNOB: Knob = Knob {
    name: "cpu_cycle",
    aliases: &["hotplug", "timers"],
    what: "takes every isolated CPU off and on again before it is isolated",
    isolation: "timers and softirq work that earlier programs left on the CPUs go elsewhere; all of them go off before the \
                first comes back, so that none inherits the timers of another",
    needs: "CPUs that can be switched off, and no cpuset that holds them",
    usage: KnobUse::ByName,
    price: ParameterCost::Safety,
    stops: &["soft_timer", "soft_hrtimer"],
    side_effects: "all of the machine stops for some milliseconds, twice for each CPU; the kernel widens masks of \
                   interrupts and tasks that had no other CPU, and they get them back at once",
    verify: "/proc/timer_list",
    peers: &["partrt"],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let online = |cpu: machine::CpuId| format!("/sys/devices/system/cpu/cpu{}/online", cpu.0);
    let able: CpuSet = scene
        .isolated()
        .iter()
        .filter(|cpu| scene.settings.get(&online(*cpu)).is_some())
        .collect();
    if able.is_empty() {
        return Presence::Absent;
    }
    if let Some(set) = holder(scene, &able) {
        let message = format!("the cpuset {set} holds CPU {able} and would lose it for good");
        plan.findings.push(
            Finding::new(Level::Error, FindingId::OFFLINE_CPUSET, set, message)
                .fix("take that cpuset back first, or leave --with cpu_cycle out"),
        );
        return Presence::Here;
    }
    let stays = scene.isolated().minus(&able);
    if !stays.is_empty() {
        let message = format!("CPU {stays} cannot be switched off, so timers may stay there");
        plan.findings.push(
            Finding::new(Level::Warning, FindingId::CYCLE_STAYS, stays.to_string(), message)
                .fix("none: the kernel has no `online` file for it"),
        );
    }
    plan.changes.push(Change {
        id: format!("{}/cpu{able}", KNOB.name),
        target: format!("CPU {able}"),
        kind: ChangeKind::Runtime,
        before: Some("online".to_owned()),
        after: "off and on again".to_owned(),
        why: "timers that were armed there would fire there until they run out".to_owned(),
        undo: "none is needed: masks are given back right away".to_owned(),
        action: Action::CycleCpus { cpus: able },
    });
    Presence::Here
}
