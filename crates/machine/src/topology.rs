//! Models packages, dies, clusters, cores, threads, caches, memory nodes: `/sys/devices/system/{cpu,node}`.

mod caches;
mod cpuinfo;
mod hypervisor;
mod nodes;
mod read;

pub use cpuinfo::{CpuInfo, CpuinfoRecord, parse_cpuinfo};
pub(crate) use read::read;

use crate::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The hardware topology of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// CPUs that could ever exist (`/sys/devices/system/cpu/possible`).
    pub possible: Option<CpuSet>,
    /// CPUs that are present.
    pub present: Option<CpuSet>,
    /// CPUs that are online.
    pub online: CpuSet,
    /// Every present CPU (online or not), by number.
    pub cpus: Vec<Cpu>,
    /// NUMA nodes by number; empty if unknown.
    pub nodes: Vec<Node>,
    /// Every cache once, smallest level first.
    pub caches: Vec<Cache>,
    /// The CPU that the kernel booted on, normally 0.
    pub boot_cpu: Option<CpuId>,
    /// The processor's own name (`model name`).
    pub model_name: Option<String>,
    /// The hypervisor, if the machine is a guest and it is known (`kvm`, `tcg`, `microsoft`, ...).
    pub hypervisor: Option<String>,
}

/// One logical CPU. Fields of an offline CPU are mostly unknown, because the kernel removes its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Its number.
    #[serde(rename = "cpu")]
    pub id: CpuId,
    /// Whether it is online.
    pub online: bool,
    /// `physical_package_id`; `None` also if the kernel reports -1.
    pub package: Option<i64>,
    /// `book_id` (s390: between package and drawer).
    #[serde(skip)]
    pub book: Option<i64>,
    /// `drawer_id` (s390).
    #[serde(skip)]
    pub drawer: Option<i64>,
    /// CPUs of the same package, itself included (`package_cpus_list`, formerly `core_siblings_list`).
    #[serde(skip)]
    pub package_cpus: Option<CpuSet>,
    /// `die_id`.
    pub die: Option<i64>,
    /// `cluster_id`.
    pub cluster: Option<i64>,
    /// `core_id`, unique only within a package (or die).
    pub core: Option<i64>,
    /// Threads of the same core, itself included.
    pub siblings: Option<CpuSet>,
    /// CPUs that share its level-2 cache, itself included.
    pub l2: Option<CpuSet>,
    /// CPUs that share its last-level cache, itself included.
    pub llc: Option<CpuSet>,
    /// NUMA node.
    pub node: Option<u32>,
    /// Kind of core on a hybrid machine.
    pub kind: Option<CoreKind>,
    /// Highest frequency in kHz (`cpufreq/cpuinfo_max_freq`).
    pub max_khz: Option<u64>,
}

/// Kinds of core of a hybrid machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CoreKind {
    /// The large, fast kind (`cpu_core`, highest `cpu_capacity`).
    Performance,
    /// The small kind (`cpu_atom`).
    Efficiency,
}

/// A NUMA node with its CPUs (`/sys/devices/system/node`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// Its number.
    #[serde(rename = "node")]
    pub id: u32,
    /// Its CPUs; empty for a node that has memory only.
    pub cpus: CpuSet,
    /// Whether it has memory; `None` is unknown.
    pub has_memory: Option<bool>,
    /// Distances to the nodes in the order of their numbers; 10 is local.
    pub distances: Vec<u32>,
}

/// One cache, with the CPUs that share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1, 2, 3 ...
    pub level: u32,
    /// Data, instruction or both.
    pub kind: CacheKind,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// The CPUs that share it.
    #[serde(rename = "cpus")]
    pub shared_by: CpuSet,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// `Data`
    Data,
    /// `Instruction`
    Instruction,
    /// `Unified`
    Unified,
}

/// CPUs that belong together, with the kernel's number of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuGroup {
    /// Number of the package, die ...; `None` if unknown.
    pub id: Option<i64>,
    /// Its CPUs, offline ones included.
    pub cpus: CpuSet,
}

impl Cpu {
    /// A CPU with no known property except whether it is online.
    #[must_use]
    pub fn new(id: CpuId, online: bool) -> Cpu {
        Cpu {
            id,
            online,
            ..Cpu::default()
        }
    }
}

impl Topology {
    /// One CPU; `None` if it is not present.
    #[must_use]
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        let place = self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok()?;
        self.cpus.get(place)
    }

    /// CPUs that are present, online or not.
    #[must_use]
    pub fn present_cpus(&self) -> CpuSet {
        self.cpus_where(|_| true)
    }

    /// CPUs that are present but offline.
    #[must_use]
    pub fn offline(&self) -> CpuSet {
        self.cpus_where(|cpu| !cpu.online)
    }

    /// CPUs that are present and selected.
    #[must_use]
    pub fn cpus_where(&self, is_selected: impl Fn(&Cpu) -> bool) -> CpuSet {
        let cpus = self.cpus.iter().filter(|cpu| is_selected(cpu));
        cpus.map(|cpu| cpu.id).collect()
    }

    /// The required width of a mask: the kernel's `nr_cpu_ids`, one above the highest possible CPU.
    #[must_use]
    pub fn width(&self) -> u32 {
        let last = |set: &CpuSet| set.last().map(|cpu| cpu.0 + 1);
        let possible = self.possible.as_ref().and_then(last);
        possible
            .or_else(|| last(&self.present_cpus()))
            .or_else(|| last(&self.online))
            .unwrap_or(1)
    }

    /// The set and all threads known to share a core with one of its members.
    #[must_use]
    pub fn with_siblings(&self, set: &CpuSet) -> CpuSet {
        let siblings = set.iter().filter_map(|id| self.cpu(id)?.siblings.as_ref());
        siblings.fold(set.clone(), |all, siblings| all.or(siblings))
    }

    /// The other threads of the cores of a set: for isolation they should be idle or offline.
    #[must_use]
    pub fn siblings_of(&self, set: &CpuSet) -> CpuSet {
        self.with_siblings(set).minus(set)
    }

    /// Cores, by their lowest CPU. A CPU with unknown siblings (offline, or not reported) counts as a core of its own.
    #[must_use]
    pub fn cores(&self) -> Vec<CpuSet> {
        let mut seen = CpuSet::new();
        let mut cores = Vec::new();
        for cpu in &self.cpus {
            if seen.contains(cpu.id) {
                continue;
            }
            let core = cpu
                .siblings
                .clone()
                .unwrap_or_else(|| CpuSet::range(cpu.id.0, cpu.id.0));
            seen = seen.or(&core);
            cores.push(core);
        }
        cores
    }

    /// Packages by their number, then CPUs whose package has no number, grouped by the CPUs that the kernel reports as
    /// sharing it. The rest, including offline CPUs, is one group.
    #[must_use]
    pub fn packages(&self) -> Vec<CpuGroup> {
        // POWER reports -1 and lists the threads of a core as the package; s390 reports -1 with correct sets.
        let is_larger = |cpu: &Cpu| {
            let len = |set: &Option<CpuSet>| set.as_ref().map_or(0, CpuSet::len);
            cpu.siblings.is_some() && len(&cpu.package_cpus) > len(&cpu.siblings)
        };
        let sets_tell = self.cpus.iter().any(is_larger);
        let mut numbered: BTreeMap<i64, CpuSet> = BTreeMap::new();
        let mut unnumbered: Vec<CpuSet> = Vec::new();
        let mut placed = CpuSet::new();
        let mut rest = CpuSet::new();
        for cpu in &self.cpus {
            match (cpu.package, &cpu.package_cpus) {
                (Some(id), _) => numbered.entry(id).or_default().insert(cpu.id),
                (None, Some(set)) if sets_tell => {
                    if !placed.contains(cpu.id) {
                        placed = placed.or(set);
                        unnumbered.push(set.clone());
                    }
                }
                _ => rest.insert(cpu.id),
            }
        }
        let known = numbered.into_iter().map(|(id, cpus)| CpuGroup { id: Some(id), cpus });
        let reported = unnumbered.into_iter().map(|cpus| CpuGroup { id: None, cpus });
        let rest = Some(rest)
            .filter(|rest| !rest.is_empty())
            .map(|cpus| CpuGroup { id: None, cpus });
        known.chain(reported).chain(rest).collect()
    }

    /// The memory node with this number.
    #[must_use]
    pub fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Nodes with memory of their own, for `cpuset.mems`; all nodes if that is unknown.
    pub fn memory_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.has_memory != Some(false))
    }

    /// Whether the machine is known to have two kinds of core.
    #[must_use]
    pub fn is_hybrid(&self) -> bool {
        let has = |kind| self.cpus.iter().any(|cpu| cpu.kind == Some(kind));
        has(CoreKind::Performance) && has(CoreKind::Efficiency)
    }

    /// Whether any core is known to have more than one thread.
    #[must_use]
    pub fn has_smt(&self) -> bool {
        self.cpus
            .iter()
            .any(|cpu| cpu.siblings.as_ref().is_some_and(|core| core.len() > 1))
    }
}
