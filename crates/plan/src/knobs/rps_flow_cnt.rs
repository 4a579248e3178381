//! Disables receive flow steering: it sends packets to the CPU where their reader last ran, even outside `rps_cpus`.

use super::rps_cpus::{PREFIX, queue};
use super::value_file::{ValueFile, set};
use super::{Knob, KnobUse, Presence};
use crate::parameters::ParameterCost;
use crate::{Plan, PlanContext, Profile};

pub(super) const KNOB: Knob = Knob {
    name: "rps_flow_cnt",
    files: &["/sys/class/net/IF/queues/rx-N/rps_flow_cnt"],
    what: "flows that are handed to the CPU of their reader",
    isolation: "0: a reader on an isolated CPU would draw packets there",
    needs: "a network interface, and a kernel with CONFIG_RPS",
    usage: KnobUse::From(Profile::Strict),
    usual: "0",
    price: ParameterCost::Speed,
    stops: &["soft_net"],
    side_effects: "readers on housekeeping CPUs find their packets in another CPU's cache",
    verify: "the files, and the row NET_RX of /proc/softirqs over time",
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for (between, path, _) in scene.settings.family(PREFIX, "/rps_flow_cnt") {
        let file = ValueFile {
            knob: &KNOB,
            part: &queue(between),
            path,
            value: scene.value_of(&KNOB),
            why: "packets follow their reader, so one on an isolated CPU would draw protocol work there",
        };
        presence = presence.max(set(scene, plan, &file));
    }
    presence
}
