//! Sets receive packet steering (`net/core/dev.c`, `get_rps_cpu`): the CPU that receives a packet passes it to another CPU for
//! protocol processing. The kernel removes boot-isolated CPUs from a written mask by itself, but not those of partitions.

use super::mask_file::{MaskFile, narrow};
use super::{Knob, KnobUse, Presence, declare};
use crate::{Plan, PlanContext, Profile, ReadbackComparison};

pub(super) const PREFIX: &str = "/sys/class/net/";

pub(super) const KNOB: Knob = Knob {
    name: "rps_cpus",
    files: &["/sys/class/net/IF/queues/rx-N/rps_cpus"],
    what: "CPUs that received packets are handed to (a mask)",
    isolation: "0, or the housekeeping CPUs; the kernel takes boot-isolated CPUs out by itself",
    needs: "a network interface, and a kernel with CONFIG_RPS",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["soft_net", "function_call"],
    side_effects: "none",
    verify: "the files, and the row NET_RX of /proc/softirqs over time",
    peers: &["TuneD"],
    refused: &[(declare::EINVAL, "no CPU of the mask may do housekeeping")],
    compare: ReadbackComparison::Mask,
    plan,
    ..Knob::PLAIN
};

/// `eth0/queues/rx-0` as `eth0/rx-0`.
pub(super) fn queue(between: &str) -> String {
    between.replace("/queues/", "/")
}

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for (between, path, _) in scene.settings.family(PREFIX, "/rps_cpus") {
        let file = MaskFile {
            knob: &KNOB,
            part: &queue(between),
            path,
            why: "received packets are handed to these CPUs, which then do the protocol work",
        };
        presence = presence.max(narrow(scene, plan, &file));
    }
    presence
}
