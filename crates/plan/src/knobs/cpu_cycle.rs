//! Takes isolated CPUs offline and online again before they are isolated. Timers that happened to be armed there move
//! to other CPUs and stay there (`hrtimers_cpu_dying` and `timers_dead_cpu`, `kernel/time/`; recommended in
//! `Documentation/admin-guide/kernel-per-CPU-kthreads.rst`).
//!
//! It comes before everything else: otherwise a v1 cpuset would lose the CPU for good, and a partition would become invalid.

use super::cpu_offline::{able, held};
use super::{Knob, Presence};
use crate::parameters::ParameterCost;
use crate::{Action, Change, Finding, FindingId, Plan, PlanContext};

pub(super) const KNOB: Knob = Knob {
    name: "cpu_cycle",
    aliases: &["hotplug", "timers"],
    what: "takes every isolated CPU offline and online again before it is isolated",
    isolation: "timers and softirq work that earlier programs left on the CPUs move elsewhere; all of the CPUs go \
         offline before the first one comes back, so that none inherits the timers of another",
    needs: "CPUs that can go offline, and no cpuset that contains them",
    price: ParameterCost::Safety,
    stops: &["soft_timer", "soft_hrtimer"],
    side_effects: "the whole machine stops for some milliseconds, twice for each CPU; the kernel widens masks of \
         interrupts and tasks that had no other CPU, and quietcore restores them at once",
    verify: "/proc/timer_list",
    peers: &["partrt"],
    plan,
    ..Knob::PLAIN
};

fn plan(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let able = able(scene, scene.isolated());
    if able.is_empty() {
        return Presence::Absent;
    }
    if let Some(finding) = held(scene, &able, "or leave out --with cpu_cycle") {
        plan.findings.push(finding);
        return Presence::Here;
    }
    let stays = scene.isolated().minus(&able);
    if !stays.is_empty() {
        let message = format!("CPU {stays} cannot go offline, so timers may stay there");
        plan.findings.push(
            Finding::warning(FindingId::CYCLE_STAYS, stays.to_string(), message)
                .fix("none: the kernel has no `online` file for it"),
        );
    }
    let undo = "none needed: masks are restored immediately";
    let target = format!("CPU {able}");
    plan.changes.push(Change {
        id: format!("{}/cpu{able}", knob.name),
        before: Some("online".to_owned()),
        why: "timers that were set there would fire there until they expire".to_owned(),
        ..Change::new(
            &target,
            "offline and online again",
            undo,
            Action::CycleCpus { cpus: able },
        )
    });
    Presence::Here
}
