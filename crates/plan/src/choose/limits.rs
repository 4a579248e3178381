//! Defines which CPUs a choice must never take: the lowest CPU, the boot CPU, CPUs that the user keeps, CPUs that are
//! not near the device, the other kind of core, the last CPU of a node in use.

use super::{CpuRequest, NearbyCpus, Reason};
use crate::{CpuRefusal, PlanRefusal};
use machine::{CoreKind, CpuId, CpuSet, Machine, Topology};

/// The CPUs left to choose from, with reasons.
#[derive(Clone, Debug)]
pub(crate) struct CandidateLimits {
    /// CPUs that may be taken.
    pub(crate) available: CpuSet,
    /// Nodes that must keep a CPU.
    pub(crate) guarded: Vec<u32>,
    /// The reasons.
    pub(crate) reasons: Vec<Reason>,
}

/// One limit that can be lifted to find out which one prevents a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiftableLimit {
    Keep,
    Near,
    Kind,
    Nodes,
}

impl LiftableLimit {
    pub(crate) const ALL: [LiftableLimit; 4] = [
        LiftableLimit::Keep,
        LiftableLimit::Near,
        LiftableLimit::Kind,
        LiftableLimit::Nodes,
    ];

    /// The rule in words, for a refusal.
    pub(crate) fn rule(self, request: &CpuRequest) -> String {
        match self {
            LiftableLimit::Keep => format!("--keep {} reserves CPUs for housekeeping", request.keep),
            LiftableLimit::Near => {
                let near = request.near.as_ref();
                near.map_or_else(String::new, |near| {
                    format!("only CPU {} is near {} ({})", near.cpus, near.device, near.what)
                })
            }
            LiftableLimit::Kind => "all chosen CPUs must be the same kind of core".to_owned(),
            LiftableLimit::Nodes => {
                "every memory node with tasks, memory or devices keeps a housekeeping CPU".to_owned()
            }
        }
    }

    /// How to avoid the limit.
    pub(crate) fn lifted(self) -> &'static str {
        match self {
            LiftableLimit::Keep => "without --keep",
            LiftableLimit::Near => "without --near",
            LiftableLimit::Kind => "with --cpus, which may mix kinds,",
            LiftableLimit::Nodes => "with --cpus, which may empty a node,",
        }
    }
}

impl CandidateLimits {
    /// The limits of a wish. `kind` is the kind of core to take on a machine with two kinds; `lifted` is a limit to ignore.
    ///
    /// # Errors
    /// A machine whose CPUs are unknown, CPUs to keep that do not exist, a kind that it does not have.
    pub(crate) fn of(
        machine: &Machine,
        request: &CpuRequest,
        kind: Option<CoreKind>,
        lifted: Option<LiftableLimit>,
    ) -> Result<CandidateLimits, PlanRefusal> {
        let topology = &machine.topology;
        let lowest = checked_lowest(topology, request)?;
        let applies = |limit: LiftableLimit| lifted != Some(limit);
        let mut limits = CandidateLimits {
            available: topology.online.clone(),
            guarded: Vec::new(),
            reasons: Vec::new(),
        };
        limits.never_lowest_or_boot(topology, lowest);
        if !request.keep.is_empty() && applies(LiftableLimit::Keep) {
            let text = format!("never CPU {}", request.keep);
            limits.never("keep", &request.keep, text, "--keep reserves it for housekeeping");
        }
        let offline = topology.offline();
        if !offline.is_empty() {
            limits.reasons.push(Reason {
                rule: "online".to_owned(),
                message: format!("CPU {offline} is offline and is not used"),
                because: "no program can run on an offline CPU".to_owned(),
            });
        }
        if let Some(near) = request.near.as_ref().filter(|_| applies(LiftableLimit::Near)) {
            limits.only_near(&topology.online, near);
        }
        if let Some(kind) = kind.filter(|_| applies(LiftableLimit::Kind)) {
            limits.only_kind(topology, kind);
        }
        if applies(LiftableLimit::Nodes) {
            limits.guard_nodes(machine, request);
        }
        Ok(limits)
    }

    fn never_lowest_or_boot(&mut self, topology: &Topology, lowest: CpuId) {
        self.never(
            "lowest-cpu",
            &[lowest].into_iter().collect(),
            format!("never CPU {lowest}, the lowest online CPU"),
            "the kernel does time keeping, hotplug and all cpumask_first(cpu_online_mask) work there",
        );
        let is_other = |boot: &CpuId| *boot != lowest && topology.online.contains(*boot);
        if let Some(boot) = topology.boot_cpu.filter(is_other) {
            self.never(
                "boot-cpu",
                &[boot].into_iter().collect(),
                format!("never CPU {boot}, the boot CPU"),
                "it cannot be a nohz_full CPU, and suspend and reboot return to it",
            );
        }
    }

    fn only_near(&mut self, online: &CpuSet, near: &NearbyCpus) {
        let text = format!(
            "only CPU {}, near {} ({})",
            near.cpus.and(online),
            near.device,
            near.what
        );
        let because = "access to a device's memory and registers is slower from another node";
        self.never("near", &online.minus(&near.cpus), text, because);
    }

    fn only_kind(&mut self, topology: &Topology, kind: CoreKind) {
        let others = topology.cpus_where(|cpu| cpu.online && cpu.kind != Some(kind));
        let text = format!("only {} cores", super::kind_word(kind));
        let because = "with two kinds in one partition the same work runs at two speeds; the fast kind is used unless \
             it is too small or --kind efficiency requests the other";
        self.never("one-kind", &others, text, because);
    }

    fn never(&mut self, rule: &str, cpus: &CpuSet, message: String, because: &str) {
        self.available = self.available.minus(cpus);
        self.reasons.push(Reason {
            rule: rule.to_owned(),
            message,
            because: because.to_owned(),
        });
    }

    fn guard_nodes(&mut self, machine: &Machine, request: &CpuRequest) {
        let nodes = &machine.topology.nodes;
        self.guarded = nodes
            .iter()
            .filter(|node| is_in_use(machine, node, request))
            .map(|node| node.id)
            .collect();
        if nodes.len() > 1 && !self.guarded.is_empty() {
            let ids: CpuSet = self.guarded.iter().map(|&id| CpuId(id)).collect();
            self.reasons.push(Reason {
                rule: "node-housekeeping".to_owned(),
                message: format!("node {ids} keeps at least one housekeeping CPU"),
                because: "its memory, devices and tasks need a nearby CPU (kswapd, interrupts)".to_owned(),
            });
        }
    }
}

/// The lowest online CPU of a machine that can give CPUs away and has those to keep.
fn checked_lowest(topology: &Topology, wish: &CpuRequest) -> Result<CpuId, PlanRefusal> {
    let online = &topology.online;
    let lowest = online.first().ok_or(PlanRefusal::UnknownCpus)?;
    if online.len() == 1 {
        let online = online.clone();
        return Err(PlanRefusal::TooSmall { online });
    }
    let present = topology.present_cpus().or(online);
    let cpus = wish.keep.minus(&present);
    match cpus.is_empty() {
        true => Ok(lowest),
        false => Err(CpuRefusal::Missing { cpus, present }.into()),
    }
}

/// Whether a node has tasks, memory or devices. Memory of unknown size is assumed to exist.
pub(crate) fn is_in_use(machine: &Machine, node: &machine::Node, request: &CpuRequest) -> bool {
    let pinned_there = |group: &machine::MaskCount| {
        !group.is_kernel && !group.allowed.is_empty() && group.allowed.is_subset(&node.cpus)
    };
    node.has_memory != Some(false)
        || request.device_nodes.contains(&node.id)
        || machine.task_masks().is_some_and(|masks| masks.iter().any(pinned_there))
}
