//! Sets transmit packet steering (`net/core/dev.c`, `netdev_pick_tx`): which queue a CPU sends through. It needs an explicit
//! request, because it matters only to a program that sends from an isolated CPU, and then that program decides.

use super::mask_file::{MaskFile, narrow};
use super::rps_cpus::{PREFIX, queue};
use super::{Knob, KnobUse, Presence};
use crate::{Plan, PlanContext, ReadbackComparison};
use machine::CpuSet;

pub(super) const KNOB: Knob = Knob {
    name: "xps_cpus",
    files: &["/sys/class/net/IF/queues/tx-N/xps_cpus"],
    what: "CPUs that send through a queue (a mask)",
    isolation: "the housekeeping CPUs, on queues that both kinds share; a queue that isolated CPUs have to themselves \
                is left to them, because it completes for no other CPU",
    needs: "a network interface with several queues, and a kernel with CONFIG_XPS",
    usage: KnobUse::ByName,
    stops: &["soft_net"],
    side_effects: "an isolated CPU that sends takes whatever queue the packet's hash says",
    verify: "the files, and the row NET_TX of /proc/softirqs over time",
    compare: ReadbackComparison::Mask,
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for (between, path, now) in scene.settings.family(PREFIX, "/xps_cpus") {
        presence = Presence::Here;
        let own = CpuSet::parse_mask(now).is_ok_and(|cpus| cpus.is_subset(scene.isolated()));
        if own {
            continue;
        }
        let file = MaskFile {
            knob: &KNOB,
            part: &queue(between),
            path,
            why: "an isolated CPU that sends would share the queue, and its lock, with housekeeping CPUs",
        };
        narrow(scene, plan, &file);
    }
    presence
}
