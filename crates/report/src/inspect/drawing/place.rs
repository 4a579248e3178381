//! Locates a CPU in the drawing: the lines, and their labels.

use crate::style::bytes;
use machine::{Cpu, CpuSet, Machine, MapEntries};
use std::collections::BTreeMap;

/// The location of a line. `None` is unknown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct CpuLocation {
    pub(super) package: Option<i64>,
    pub(super) node: Option<u32>,
    pub(super) die: Option<i64>,
    pub(super) llc: Option<CpuSet>,
}

pub(super) type CpusByLocation<'a> = BTreeMap<(i64, u32), (CpuLocation, Vec<&'a Cpu>)>;

/// Groups CPUs into lines; within the package, the lowest CPU of a line determines its order.
pub(super) fn lines<'a>(cpus: &[&'a Cpu], place_of: impl Fn(&Cpu) -> CpuLocation) -> CpusByLocation<'a> {
    let mut places: BTreeMap<CpuLocation, Vec<&'a Cpu>> = BTreeMap::new();
    for &cpu in cpus {
        places.entry(place_of(cpu)).or_default().push(cpu);
    }
    // Unknown packages come last.
    let key = |place: &CpuLocation, cpus: &[&Cpu]| {
        (
            place.package.unwrap_or(i64::MAX),
            cpus.first().map_or(0, |cpu| cpu.id.0),
        )
    };
    places
        .into_iter()
        .map(|(place, cpus)| (key(&place, &cpus), (place, cpus)))
        .into_map()
}

pub(super) fn full_place(cpu: &Cpu) -> CpuLocation {
    if !cpu.online && cpu.package.is_none() {
        return CpuLocation::default();
    }
    // A private cache per core would put every core on a line of its own.
    let own = |llc: &CpuSet| cpu.siblings.as_ref().is_some_and(|siblings| llc.is_subset(siblings));
    let llc = cpu.llc.clone().filter(|llc| !own(llc));
    CpuLocation {
        package: cpu.package,
        node: cpu.node,
        die: cpu.die,
        llc,
    }
}

/// The labels of a line, for things of which the machine has several.
pub(super) struct LocationLabels<'a> {
    machine: &'a Machine,
    nodes: usize,
    node_width: usize,
    dies: bool,
}

impl<'a> LocationLabels<'a> {
    pub(super) fn of(machine: &'a Machine, cpus: &[&Cpu]) -> LocationLabels<'a> {
        let mut dies: Vec<(Option<i64>, i64)> = cpus.iter().filter_map(|cpu| Some((cpu.package, cpu.die?))).collect();
        dies.sort_unstable();
        dies.dedup();
        let mut packages: Vec<Option<i64>> = dies.iter().map(|(package, _)| *package).collect();
        packages.dedup();
        let nodes = machine.topology.nodes.len();
        let node_width = machine
            .topology
            .nodes
            .iter()
            .map(|node| node.id.to_string().len())
            .max()
            .unwrap_or(1);
        LocationLabels {
            machine,
            nodes,
            node_width,
            dies: dies.len() > packages.len(),
        }
    }

    pub(super) fn text(&self, place: &CpuLocation) -> String {
        let mut words = Vec::new();
        if let Some(node) = place.node.filter(|_| self.nodes > 1) {
            words.push(format!("node {node:<width$}", width = self.node_width));
        }
        if let Some(die) = place.die.filter(|_| self.dies) {
            words.push(format!("die {die}"));
        }
        if let Some(llc) = &place.llc {
            let caches = self.machine.topology.caches.iter().rev();
            if let Some(cache) = caches.clone().find(|cache| cache.shared_by == *llc) {
                let size = cache
                    .size_bytes
                    .map_or_else(String::new, |size| format!(" {}", bytes(size)));
                words.push(format!("L{}{size}", cache.level));
            }
        }
        words.join("  ")
    }
}
