//! Sets the deadline server for tasks of a scheduler loaded as BPF (sched_ext).

use super::server_runtime::{NEEDS, REFUSED, set_all};
use super::{Knob, KnobUse, KnobValueKind};
use crate::parameters::ParameterCost;

pub(super) const KNOB: Knob = Knob {
    name: "ext_server",
    files: &["/sys/kernel/debug/sched/ext_server/cpuN/runtime"],
    what: "as fair_server, for tasks of a sched_ext scheduler",
    isolation: "as fair_server",
    since: "7.0",
    needs: NEEDS,
    usage: KnobUse::ByName,
    takes: KnobValueKind::Number(0, 1_000_000_000),
    usual: "0",
    price: ParameterCost::Safety,
    stops: &["tick"],
    side_effects: "a real-time loop on that CPU starves everything else there, also kernel threads that others wait for",
    verify: "the file of each isolated CPU, in nanoseconds per period",
    peers: &["TuneD"],
    refused: REFUSED,
    plan: |scene, plan| {
        set_all(
            scene,
            plan,
            &KNOB,
            "the server has a timer on the CPU while a sched_ext scheduler runs",
        )
    },
    ..Knob::PLAIN
};
