//! A slow checker that shares no code with the chooser: it applies the rules to the machine's own sets.

use machine::{CoreKind, CpuId, CpuSet, Machine};
use plan::{CpuRequest, PlacementShape};
use std::collections::BTreeSet;

/// The CPU sets of the machine, restricted to online CPUs, without duplicates within a family.
pub struct ChoiceChecker<'a> {
    machine: &'a Machine,
    cores: BTreeSet<CpuSet>,
    nodes: Vec<(u32, CpuSet)>,
    large: BTreeSet<CpuSet>,
    last: BTreeSet<CpuSet>,
    small: BTreeSet<CpuSet>,
}

impl<'a> ChoiceChecker<'a> {
    pub fn new(machine: &'a Machine) -> ChoiceChecker<'a> {
        let online = &machine.topology.online;
        let cpus = || machine.topology.cpus.iter().filter(|cpu| cpu.online);
        let same = |test: &dyn Fn(&machine::Cpu) -> bool| -> CpuSet {
            cpus().filter(|cpu| test(cpu)).map(|cpu| cpu.id).collect()
        };
        let alone = |id: CpuId| [id].into_iter().collect::<CpuSet>();
        let mut checker = ChoiceChecker {
            machine,
            cores: BTreeSet::new(),
            nodes: Vec::new(),
            large: machine
                .topology
                .packages()
                .into_iter()
                .map(|package| package.cpus.and(online))
                .collect(),
            last: BTreeSet::new(),
            small: BTreeSet::new(),
        };
        for cpu in cpus() {
            let core = cpu.siblings.as_ref().map_or(alone(cpu.id), |core| core.and(online));
            checker.cores.insert(core);
            if let Some(node) = cpu.node {
                let set = same(&|other| other.node == Some(node));
                checker.large.insert(set.clone());
                if !checker.nodes.contains(&(node, set.clone())) {
                    checker.nodes.push((node, set));
                }
            }
            checker.last.extend(cpu.llc.as_ref().map(|set| set.and(online)));
            checker.small.extend(cpu.l2.as_ref().map(|set| set.and(online)));
            if cpu.die.is_some() {
                checker
                    .last
                    .insert(same(&|other| (other.package, other.die) == (cpu.package, cpu.die)));
            }
            if cpu.cluster.is_some() {
                checker
                    .small
                    .insert(same(&|o| (o.package, o.cluster) == (cpu.package, cpu.cluster)));
            }
        }
        checker.large.remove(&CpuSet::new());
        checker
    }

    /// Returns why a set must not be chosen; `None` for a permitted one.
    pub fn forbidden(&self, wish: &CpuRequest, set: &CpuSet) -> Option<String> {
        let topology = &self.machine.topology;
        let lowest = topology.online.first()?;
        let kinds: BTreeSet<Option<CoreKind>> = set
            .iter()
            .map(|id| topology.cpus.iter().find(|cpu| cpu.id == id).and_then(|cpu| cpu.kind))
            .collect();
        let guarded = |node: u32| {
            let node = topology.nodes.iter().find(|known| known.id == node);
            node.is_some_and(|node| node.has_memory != Some(false))
                || wish.device_nodes.contains(&node.map_or(0, |n| n.id))
        };
        let no = |is_so: bool, why: &str| is_so.then(|| why.to_owned());
        no(!set.is_subset(&topology.online), "offline")
            .or(no(set.contains(lowest), "lowest"))
            .or(no(set.contains(CpuId(0)), "boot CPU"))
            .or(no(set.intersects(&wish.keep), "keep"))
            .or(no(topology.online.is_subset(set), "nothing left"))
            .or(no(
                wish.near.as_ref().is_some_and(|near| !set.is_subset(&near.cpus)),
                "not near",
            ))
            .or(no(topology.is_hybrid() && kinds.len() > 1, "two kinds"))
            .or(no(
                wish.kind.is_some() && !kinds.iter().all(|kind| *kind == wish.kind),
                "other kind",
            ))
            .or(no(
                self.nodes.iter().any(|(id, cpus)| guarded(*id) && cpus.is_subset(set)),
                "a node without housekeeping",
            ))
    }

    /// Returns the costs of a set, the most important first.
    pub fn cost(&self, wish: &CpuRequest, set: &CpuSet) -> Vec<u64> {
        let topology = &self.machine.topology;
        let boot = self
            .machine
            .isolation
            .boot_isolated
            .clone()
            .unwrap_or_default()
            .and(&topology.online);
        let slow = |id: &CpuId| {
            let cpu = topology.cpus.iter().find(|cpu| cpu.id == *id);
            cpu.and_then(|cpu| cpu.kind) == Some(CoreKind::Efficiency)
        };
        let touched = |group: &&CpuSet| group.intersects(set);
        let shared = |group: &&CpuSet| group.intersects(set) && !group.is_subset(set);
        let beyond_core = |group: &&CpuSet| !self.cores.contains(*group) && **group != topology.online;
        let count = |groups: &BTreeSet<CpuSet>| groups.iter().filter(touched).count() as u64;
        let squares = |groups: &BTreeSet<CpuSet>| {
            groups
                .iter()
                .map(|group| (group.and(set).len() as u64).pow(2))
                .sum::<u64>()
        };
        let groups: BTreeSet<&CpuSet> = self.large.iter().chain(&self.last).chain(&self.small).collect();
        let is_first = |group: &&CpuSet| group.first().is_some_and(|first| set.contains(first));
        let firsts = groups
            .iter()
            .copied()
            .filter(beyond_core)
            .filter(shared)
            .filter(is_first)
            .count();
        let is_pack = wish.shape == PlacementShape::Pack;
        let top = topology.online.last().map_or(0, |cpu| cpu.0);
        vec![
            self.cores.iter().filter(shared).count() as u64,
            if boot.is_empty() {
                0
            } else {
                set.minus(&boot).len() as u64
            },
            if topology.is_hybrid() {
                set.iter().filter(slow).count() as u64
            } else {
                0
            },
            set.len().saturating_sub(wish.count.unwrap_or(1)) as u64,
            if is_pack { 0 } else { squares(&self.large) },
            if is_pack { 0 } else { squares(&self.last) },
            if is_pack { 0 } else { squares(&self.small) },
            if is_pack { count(&self.large) } else { 0 },
            firsts as u64,
            self.small.iter().filter(beyond_core).filter(shared).count() as u64,
            self.last
                .iter()
                .filter(beyond_core)
                .filter(shared)
                .filter(|set| !self.small.contains(*set))
                .count() as u64,
            if is_pack { count(&self.last) } else { 0 },
            set.iter().map(|cpu| u64::from(top - cpu.0)).sum(),
        ]
    }

    /// Returns the cheapest permitted set, found by trying all.
    pub fn cheapest(&self, wish: &CpuRequest) -> Option<(Vec<u64>, CpuSet)> {
        let ids: Vec<CpuId> = self.machine.topology.online.iter().collect();
        assert!(ids.len() <= 16, "too many to try all");
        let mut best: Option<(Vec<u64>, CpuSet)> = None;
        for bits in 1_u32..1 << ids.len() {
            if (bits.count_ones() as usize) < wish.count.unwrap_or(1) {
                continue;
            }
            let set: CpuSet = ids
                .iter()
                .enumerate()
                .filter(|(bit, _)| bits >> bit & 1 == 1)
                .map(|(_, id)| *id)
                .collect();
            if self.forbidden(wish, &set).is_some() {
                continue;
            }
            let cost = self.cost(wish, &set);
            if best.as_ref().is_none_or(|(known, _)| cost < *known) {
                best = Some((cost, set));
            }
        }
        best
    }

    /// Returns a better set that differs by one core, for machines with too many sets to try all.
    pub fn better_neighbour(&self, wish: &CpuRequest, set: &CpuSet) -> Option<CpuSet> {
        let own = self.cost(wish, set);
        let inside = self.cores.iter().filter(|core| core.intersects(set));
        for core in inside {
            let without = set.minus(core);
            let outside = self.cores.iter().filter(|other| !other.intersects(set));
            for other in outside {
                let changed = without.or(other);
                let enough = changed.len() >= wish.count.unwrap_or(1);
                if enough && self.forbidden(wish, &changed).is_none() && self.cost(wish, &changed) < own {
                    return Some(changed);
                }
            }
            let fewer = without.len() >= wish.count.unwrap_or(1);
            if fewer && self.forbidden(wish, &without).is_none() && self.cost(wish, &without) < own {
                return Some(without);
            }
        }
        None
    }
}
