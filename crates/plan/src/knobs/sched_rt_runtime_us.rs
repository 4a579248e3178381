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
    isolation: "-1 ends the throttling of busy real-time loops up to 6.11; later the fair server does it",
    takes: KnobValueKind::Number(-1, 1_000_000_000),
    usual: "-1",
    price: ParameterCost::Safety,
    stops: &["task"],
    side_effects: "a real-time loop on a housekeeping CPU can lock the machine up",
    verify: "the file, and `sched: RT throttling activated` no longer in the kernel's log",
    peers: &["TuneD", "partrt"],
    refused: &[
        (
            declare::EINVAL,
            "it is more than sched_rt_period_us, or less than the control groups have been promised \
                           (RT_GROUP_SCHED, cpu.rt_runtime_us)",
        ),
        (
            declare::EBUSY,
            "deadline tasks hold more than that, or a control group without a budget has real-time tasks \
                          (RT_GROUP_SCHED, cpu.rt_runtime_us)",
        ),
    ],
    why: "a real-time loop is stopped for a part of each period otherwise",
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
        let message = "this kernel protects ordinary tasks with the fair server, which goes on whatever this file says";
        plan.findings
            .push(Finding::info(FindingId::FAIR_SERVER_REMAINS, knob.name, message).fix("add --with fair_server"));
    }
    plan_files(knob, scene, plan)
}
