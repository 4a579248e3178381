//! Collects the input of a choice: the places of the machine, the available CPUs, and the wish.

use super::limits::CandidateLimits;
use super::places::{TopologyDomain, places};
use super::{CpuRequest, PlacementShape};
use machine::{CoreKind, CpuSet, Topology};

/// The machine as the rules see it.
pub(crate) struct ChoiceContext<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) places: Vec<TopologyDomain>,
    /// CPUs that no limit excludes.
    pub(crate) available: CpuSet,
    /// Online CPUs that were isolated at boot.
    pub(crate) boot_isolated: CpuSet,
    /// Slow CPUs of a machine with two kinds.
    pub(crate) efficiency: CpuSet,
    /// The requested number of CPUs.
    pub(crate) count: usize,
    pub(crate) shape: PlacementShape,
    /// Nodes that must keep at least one CPU.
    pub(crate) guarded: Vec<u32>,
}

/// What a choice takes from one place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DomainAllotment {
    /// How many of its CPUs.
    pub(crate) cpus: usize,
    /// Whether its first CPU is among them.
    pub(crate) first: bool,
    /// In a core: how many of them were not isolated at boot.
    pub(crate) fresh: usize,
    /// In a core: how many of them are of the slow kind.
    pub(crate) slow: usize,
    /// In a core: the sum of their distances from the highest number.
    pub(crate) depth: u64,
}

impl<'a> ChoiceContext<'a> {
    pub(crate) fn new(
        machine: &'a machine::Machine,
        request: &CpuRequest,
        limits: &CandidateLimits,
    ) -> ChoiceContext<'a> {
        let topology = &machine.topology;
        let boot = machine.isolation.boot_isolated.as_ref();
        let slow = topology.cpus_where(|cpu| cpu.kind == Some(CoreKind::Efficiency));
        ChoiceContext {
            topology,
            places: places(topology),
            available: limits.available.clone(),
            boot_isolated: boot.map(|set| set.and(&topology.online)).unwrap_or_default(),
            efficiency: if topology.is_hybrid() { slow } else { CpuSet::new() },
            count: request.count(),
            shape: request.shape,
            guarded: limits.guarded.clone(),
        }
    }

    /// What a set takes from a place.
    pub(crate) fn part_taken(&self, place: &TopologyDomain, set: &CpuSet) -> DomainAllotment {
        let cpus = place.cpus.and(set);
        let mut taken = DomainAllotment {
            cpus: cpus.len(),
            first: cpus.contains(place.first),
            ..DomainAllotment::default()
        };
        if place.is_core() {
            let top = self.topology.online.last().map_or(0, |cpu| cpu.0);
            taken.fresh = if self.boot_isolated.is_empty() {
                0
            } else {
                cpus.minus(&self.boot_isolated).len()
            };
            taken.slow = cpus.and(&self.efficiency).len();
            taken.depth = cpus.iter().map(|cpu| u64::from(top.saturating_sub(cpu.0))).sum();
        }
        taken
    }

    /// Whether a place keeps what it must keep.
    pub(crate) fn may_take(&self, place: &TopologyDomain, cpus: usize) -> bool {
        let guarded = place.node().is_some_and(|node| self.guarded.contains(&node));
        !(guarded && cpus == place.len)
    }
}
