//! Models the machine as nested places: all, node, package, last-level cache, level-2 cache, core.
//!
//! The cost of a choice is then a sum over places. Overlapping sets (wrong firmware data, unusual hypervisors) cannot be
//! nested. Memory nodes win, because leaving a node without housekeeping is forbidden; after that the larger set wins.

use machine::{CpuId, CpuSet, OrderBy, Topology};

/// The kind of a place. One set of CPUs may be of several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DomainKind {
    Node(u32),
    Package,
    Die,
    LastLevelCache,
    Cluster,
    Level2,
    Core,
    Machine,
}

/// Online CPUs that belong together.
#[derive(Clone, Debug)]
pub(crate) struct TopologyDomain {
    pub(crate) kinds: Vec<DomainKind>,
    pub(crate) cpus: CpuSet,
    /// How many CPUs.
    pub(crate) len: usize,
    /// What the kernel's `cpumask_first` gives for it.
    pub(crate) first: CpuId,
    /// Places inside it, by their first CPU; none inside a core.
    pub(crate) inside: Vec<usize>,
}

impl TopologyDomain {
    pub(crate) fn is_core(&self) -> bool {
        self.kinds.contains(&DomainKind::Core)
    }

    pub(crate) fn is_any(&self, test: impl Fn(&DomainKind) -> bool) -> bool {
        self.kinds.iter().any(test)
    }

    pub(crate) fn node(&self) -> Option<u32> {
        self.kinds.iter().find_map(|kind| match kind {
            DomainKind::Node(id) => Some(*id),
            _ => None,
        })
    }

    /// Its readable name, by its largest kind.
    pub(crate) fn name(&self) -> String {
        match self.kinds.iter().min() {
            Some(DomainKind::Node(id)) => format!("node {id}"),
            Some(DomainKind::Package) => format!("the package of CPU {}", self.cpus),
            Some(DomainKind::Die) => format!("the die of CPU {}", self.cpus),
            Some(DomainKind::LastLevelCache) => format!("the last-level cache of CPU {}", self.cpus),
            Some(DomainKind::Cluster) => format!("the cluster of CPU {}", self.cpus),
            Some(DomainKind::Level2) => format!("the level-2 cache of CPU {}", self.cpus),
            Some(DomainKind::Core) => format!("the core of CPU {}", self.cpus),
            Some(DomainKind::Machine) | None => "the machine".to_owned(),
        }
    }
}

/// All places; the whole machine is the first, and every place precedes those inside it.
pub(crate) fn places(topology: &Topology) -> Vec<TopologyDomain> {
    let online = &topology.online;
    let mut nest = DomainNesting::new(online);
    let mut groups = groups(topology);
    // Larger sets first; among equal ones the kind decides, which only orders the names.
    groups.order_by_key(|(kind, set)| (std::cmp::Reverse(set.len()), *kind, set.first()));
    for (kind, set) in groups {
        nest.insert(kind, set);
    }
    nest.finish()
}

/// Every known set, restricted to online CPUs. A core that spans two nodes is split by node.
fn groups(topology: &Topology) -> Vec<(DomainKind, CpuSet)> {
    let online = &topology.online;
    let mut groups: Vec<(DomainKind, CpuSet)> = Vec::new();
    let mut nodes: std::collections::BTreeMap<u32, CpuSet> = std::collections::BTreeMap::new();
    for cpu in topology.cpus.iter().filter(|cpu| online.contains(cpu.id)) {
        if let Some(node) = cpu.node {
            nodes.entry(node).or_default().insert(cpu.id);
        }
    }
    // The set if no node splits it; else nothing.
    let uncut = |set: &CpuSet| {
        let within = |node: &CpuSet| !node.intersects(set) || node.is_subset(set) || set.is_subset(node);
        nodes.values().all(within)
    };
    for package in topology.packages() {
        groups.push((DomainKind::Package, package.cpus));
    }
    let mut dies: std::collections::BTreeMap<(Option<i64>, i64), CpuSet> = std::collections::BTreeMap::new();
    let mut clusters = dies.clone();
    for cpu in &topology.cpus {
        for (id, sets) in [(cpu.die, &mut dies), (cpu.cluster, &mut clusters)] {
            if let Some(id) = id {
                sets.entry((cpu.package, id)).or_default().insert(cpu.id);
            }
        }
    }
    groups.extend(dies.into_values().map(|set| (DomainKind::Die, set)));
    groups.extend(clusters.into_values().map(|set| (DomainKind::Cluster, set)));
    let mut seen = [CpuSet::new(), CpuSet::new()];
    for cpu in &topology.cpus {
        let sets = [(DomainKind::LastLevelCache, &cpu.llc), (DomainKind::Level2, &cpu.l2)];
        for ((kind, set), seen) in sets.into_iter().zip(&mut seen) {
            if let Some(set) = set.as_ref().filter(|_| !seen.contains(cpu.id)) {
                *seen = seen.or(set);
                groups.push((kind, set.clone()));
            }
        }
    }
    let mut groups: Vec<(DomainKind, CpuSet)> = groups
        .into_iter()
        .map(|(kind, set)| (kind, set.and(online)))
        .filter(|(_, set)| !set.is_empty() && uncut(set))
        .collect();
    for core in topology.cores() {
        let core = core.and(online);
        if uncut(&core) {
            groups.push((DomainKind::Core, core));
        } else {
            groups.extend(core.iter().map(|cpu| (DomainKind::Core, [cpu].into_iter().collect())));
        }
    }
    groups.extend(nodes.into_iter().map(|(id, set)| (DomainKind::Node(id), set)));
    groups.retain(|(_, set)| !set.is_empty());
    groups
}

/// Places while they are being nested.
struct DomainNesting {
    places: Vec<TopologyDomain>,
    /// The innermost place of each CPU so far, by CPU number.
    innermost: Vec<usize>,
}

impl DomainNesting {
    fn new(online: &CpuSet) -> DomainNesting {
        let width = online.last().map_or(0, |cpu| cpu.0 as usize + 1);
        let mut nest = DomainNesting {
            places: Vec::new(),
            innermost: vec![0; width],
        };
        nest.add(vec![DomainKind::Machine], online.clone());
        nest
    }

    fn add(&mut self, kinds: Vec<DomainKind>, cpus: CpuSet) {
        let place = self.places.len();
        for cpu in cpus.iter() {
            if let Some(inner) = self.innermost.get_mut(cpu.0 as usize) {
                *inner = place;
            }
        }
        self.places.push(TopologyDomain {
            kinds,
            len: cpus.len(),
            first: cpus.first().unwrap_or(CpuId(0)),
            cpus,
            inside: Vec::new(),
        });
    }

    fn insert(&mut self, kind: DomainKind, set: CpuSet) {
        let innermost = |cpu: CpuId| self.innermost.get(cpu.0 as usize).copied();
        let around: Vec<usize> = set.iter().filter_map(innermost).collect();
        let Some((&around, others)) = around.split_first() else {
            return;
        };
        if others.iter().any(|&other| other != around) {
            return;
        }
        let next = self.places.len();
        let Some(place) = self.places.get_mut(around) else {
            return;
        };
        if place.cpus == set {
            place.kinds.push(kind);
        } else if !place.is_core() {
            place.inside.push(next);
            self.add(vec![kind], set);
        }
    }

    /// CPUs whose core could not be nested become places of their own, so that every CPU is in a core.
    fn finish(mut self) -> Vec<TopologyDomain> {
        let lone: Vec<(usize, CpuId)> = self
            .places
            .iter()
            .take(1)
            .flat_map(|all| all.cpus.iter())
            .filter_map(|cpu| {
                let around = *self.innermost.get(cpu.0 as usize)?;
                (!self.places.get(around)?.is_core()).then_some((around, cpu))
            })
            .collect();
        for (around, cpu) in lone {
            let next = self.places.len();
            let Some(place) = self.places.get_mut(around) else {
                continue;
            };
            if place.len == 1 {
                place.kinds.push(DomainKind::Core);
            } else {
                place.inside.push(next);
                self.add(vec![DomainKind::Core], [cpu].into_iter().collect());
            }
        }
        let firsts: Vec<CpuId> = self.places.iter().map(|place| place.first).collect();
        for place in &mut self.places {
            place.inside.order_by_key(|&inside| firsts.get(inside).copied());
        }
        self.places
    }
}
