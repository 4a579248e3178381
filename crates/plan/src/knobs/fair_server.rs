//! Sets the deadline server for ordinary tasks, which replaced real-time throttling.

use super::server_runtime::{NEEDS, REFUSED, set_all};
use super::{Knob, KnobUse, KnobValueKind};
use crate::parameters::ParameterCost;

pub(super) const KNOB: Knob = Knob {
    name: "fair_server",
    files: &["/sys/kernel/debug/sched/fair_server/cpuN/runtime"],
    what: "gives ordinary tasks 5 % of a CPU that real-time tasks fill",
    isolation: "0 ends it for one CPU, and its timer interrupts too; then nothing else ever runs there",
    since: "6.12",
    needs: NEEDS,
    usage: KnobUse::ByName,
    takes: KnobValueKind::Number(0, 1_000_000_000),
    usual: "0",
    price: ParameterCost::Safety,
    stops: &["tick"],
    side_effects: "a real-time loop on that CPU starves everything else there, also kernel threads that others wait for; \
                   6.12 was seen to log a warning (kernel/sched/deadline.c) and to taint itself when it is written",
    verify: "the file of each isolated CPU, in nanoseconds per period",
    peers: &["TuneD"],
    refused: REFUSED,
    plan: |scene, plan| {
        set_all(
            scene,
            plan,
            &KNOB,
            "the server has a timer on the CPU, also where only one task runs",
        )
    },
    ..Knob::PLAIN
};
