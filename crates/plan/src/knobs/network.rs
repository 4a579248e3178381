//! Sets which CPUs process packets, and reports queues whose number no file sets.

use super::knob_file::files;
use super::{Knob, KnobUse, Presence, declare};
use crate::parameters::ParameterCost;
use crate::{Finding, FindingId, Plan, PlanContext, Profile, ReadbackComparison};
use std::collections::BTreeMap;

/// Sets receive packet steering (`net/core/dev.c`, `get_rps_cpu`): the CPU that receives a packet passes it to another CPU for
/// protocol processing. The kernel removes boot-isolated CPUs from a written mask by itself, but not those of partitions.
pub(super) const RPS_CPUS: Knob = Knob {
    name: "rps_cpus",
    files: &["/sys/class/net/IF/queues/rx-N/rps_cpus"],
    what: "CPUs that process received packets for this queue (a mask)",
    why: "the kernel passes received packets to these CPUs, which then do the protocol work",
    isolation: "0, or the housekeeping CPUs; the kernel excludes boot-isolated CPUs itself",
    needs: "a network interface, and a kernel with CONFIG_RPS",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["soft_net", "function_call"],
    side_effects: "none",
    verify: "the files, and the row NET_RX of /proc/softirqs over time",
    peers: &["TuneD"],
    refused: &[(declare::EINVAL, "the mask contains no housekeeping CPU")],
    compare: ReadbackComparison::Mask,
    ..Knob::PLAIN
};

/// Sets the initial `rps_cpus` of queues that are created later in this network namespace.
pub(super) const RPS_DEFAULT_MASK: Knob = Knob {
    name: "rps_default_mask",
    files: &["/proc/sys/net/core/rps_default_mask"],
    what: "rps_cpus of queues that are created later",
    why: "queues that are created later would pass packets to isolated CPUs",
    isolation: "the housekeeping CPUs",
    since: "6.3",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["soft_net"],
    side_effects: "none; other network namespaces have their own setting",
    compare: ReadbackComparison::Mask,
    ..Knob::PLAIN
};

/// Disables receive flow steering: it sends packets to the CPU where their reader last ran, even outside `rps_cpus`.
pub(super) const RPS_FLOW_CNT: Knob = Knob {
    name: "rps_flow_cnt",
    files: &["/sys/class/net/IF/queues/rx-N/rps_flow_cnt"],
    what: "flows that are passed to the CPU of their reader",
    why: "packets follow their reader, so a reader on an isolated CPU would move protocol work there",
    isolation: "0: a reader on an isolated CPU would receive packets there",
    needs: "a network interface, and a kernel with CONFIG_RPS",
    usage: KnobUse::From(Profile::Strict),
    usual: "0",
    price: ParameterCost::Speed,
    stops: &["soft_net"],
    side_effects: "readers on housekeeping CPUs find their packets in the cache of another CPU",
    verify: "the files, and the row NET_RX of /proc/softirqs over time",
    ..Knob::PLAIN
};

/// Sets transmit packet steering (`net/core/dev.c`, `netdev_pick_tx`): which queue a CPU sends through. It needs an explicit
/// request, because it matters only to a program that sends from an isolated CPU, and then that program decides.
pub(super) const XPS_CPUS: Knob = Knob {
    name: "xps_cpus",
    files: &["/sys/class/net/IF/queues/tx-N/xps_cpus"],
    what: "CPUs that send through a queue (a mask)",
    why: "an isolated CPU that sends would share the queue and its lock with housekeeping CPUs",
    isolation: "the housekeeping CPUs, on queues that both kinds share; a queue that only isolated CPUs use is left to \
         them, because it completes for no other CPU",
    needs: "a network interface with several queues, and a kernel with CONFIG_XPS",
    stops: &["soft_net"],
    side_effects: "an isolated CPU that sends uses the queue that the packet's hash selects",
    verify: "the files, and the row NET_TX of /proc/softirqs over time",
    compare: ReadbackComparison::Mask,
    plan: shared_queues,
    ..Knob::PLAIN
};

/// Reports how many queues a network card has. No file sets the number (`ETHTOOL_SCHANNELS` does), so it is only reported.
pub(super) const NET_CHANNELS: Knob = Knob {
    name: "net_channels",
    what: "how many queues, and therefore interrupts, a network card has; changed with ethtool -L, not with a file",
    isolation: "no more than there are housekeeping CPUs: the interrupts of the others would only share those CPUs",
    needs: "a network card with several queues",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["device"],
    side_effects: "quietcore only shows the command",
    verify: "ethtool -l IF",
    peers: &["TuneD"],
    plan: channels,
    ..Knob::PLAIN
};

/// Plans the queues that housekeeping CPUs use too.
fn shared_queues(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let queues = files(knob, scene);
    for queue in &queues {
        let cpus = scene.settings.get(&queue.path).and_then(|now| knob.compare.cpus(now));
        if !cpus.is_some_and(|cpus| cpus.is_subset(scene.isolated())) {
            queue.narrow(scene, plan);
        }
    }
    queues.first().map_or(Presence::Absent, |_| Presence::Here)
}

fn channels(_: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut queues: BTreeMap<String, usize> = BTreeMap::new();
    for queue in files(&RPS_CPUS, scene) {
        let card = queue.part.split('/').next().unwrap_or_default();
        *queues.entry(card.to_owned()).or_default() += 1;
    }
    let keep = scene.housekeeping.len();
    for (card, count) in queues.iter().filter(|(_, count)| **count > keep.max(1)) {
        let message = format!("{card} has {count} receive queues for {keep} housekeeping CPUs");
        plan.findings
            .push(Finding::info(FindingId::NET_CHANNELS, card, message).fix(format!(
                "ethtool -L {card} combined {keep}  (some drivers: rx {keep} tx {keep})"
            )));
    }
    queues.first_key_value().map_or(Presence::Absent, |_| Presence::Here)
}
