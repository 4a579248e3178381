//! Sets the throttling of real-time tasks (`kernel/sched/rt.c`). From 6.12 on a deadline server gives ordinary tasks
//! their share instead, whatever this file says; only group budgets (RT_GROUP_SCHED) are still checked against it.

use super::knob_file::plan_files;
use super::{Knob, KnobValueKind, Presence, declare};
use crate::parameters::ParameterCost;
use crate::{Finding, FindingId, Plan, PlanContext};

pub(super) const KNOB: Knob = Knob {
    name: "sched_rt_runtime_us",
    files: &["/proc/sys/kernel/sched_rt_runtime_us"],
    what: "how much of each period real-time tasks may take, on all CPUs together",
    isolation: "-1 disables the throttling of busy real-time loops up to 6.11; later kernels use the fair server for \
         this",
    takes: KnobValueKind::Number(-1, 1_000_000_000),
    usual: "-1",
    price: ParameterCost::Safety,
    stops: &["task"],
    side_effects: "a real-time loop on a housekeeping CPU can make the machine unusable",
    verify: "the file, and no new `sched: RT throttling activated` in the kernel log",
    peers: &["TuneD", "partrt"],
    refused: &[
        (
            declare::EINVAL,
            "it is more than sched_rt_period_us, or less than the control groups already reserve (RT_GROUP_SCHED, \
             cpu.rt_runtime_us)",
        ),
        (
            declare::EBUSY,
            "deadline tasks reserve more than that, or a control group without a budget has real-time tasks \
             (RT_GROUP_SCHED, cpu.rt_runtime_us)",
        ),
    ],
    why: "otherwise the kernel stops a real-time loop for a part of each period",
    plan,
    ..Knob::PLAIN
};

fn plan(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let server = scene
        .isolated()
        .iter()
        .next()
        .map(|cpu| format!("/sys/kernel/debug/sched/fair_server/cpu{}/runtime", cpu.0));
    let runs = server
        .and_then(|path| scene.settings.get(&path))
        .is_some_and(|runtime| runtime != "0");
    if runs && !scene.intent.with.contains_key("fair_server") {
        let message = "on this kernel the fair server protects ordinary tasks, whatever this file contains";
        plan.findings
            .push(Finding::info(FindingId::FAIR_SERVER_REMAINS, knob.name, message).fix("add --with fair_server"));
    }
    plan_files(knob, scene, plan)
}
