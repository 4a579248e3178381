//! Packages, dies, clusters, cores, threads, caches, memory nodes: `/sys/devices/system/{cpu,node}`.

use crate::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};

/// What the machine is built of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// CPUs that could ever exist (`/sys/devices/system/cpu/possible`).
    pub possible: Option<CpuSet>,
    /// CPUs that are plugged in.
    pub present: Option<CpuSet>,
    /// CPUs that run now.
    pub online: CpuSet,
    /// Every present CPU (online or not), by number.
    pub cpus: Vec<Cpu>,
    /// NUMA nodes by number; empty where the machine does not tell.
    pub nodes: Vec<Node>,
    /// Every cache once, smallest level first.
    pub caches: Vec<Cache>,
    /// The CPU that the kernel booted on, normally 0.
    pub boot_cpu: Option<CpuId>,
    /// The processor's own name (`model name`).
    pub model_name: Option<String>,
    /// The hypervisor, where the machine is a guest and says so (`kvm`, `tcg`, `microsoft`, ...).
    pub hypervisor: Option<String>,
}

/// One logical CPU. Fields of an offline CPU are mostly unknown, because the kernel removes its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: CpuId,
    /// Whether it runs.
    pub online: bool,
    /// `physical_package_id`; `None` also where the kernel says -1.
    pub package: Option<i64>,
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
#[serde(rename_all = "lowercase")]
pub enum CoreKind {
    /// The large, fast kind (`cpu_core`, highest `cpu_capacity`).
    Performance,
    /// The small kind (`cpu_atom`).
    Efficiency,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its CPUs; empty for a node that has memory only.
    pub cpus: CpuSet,
    /// Whether it has memory; `None` is unknown.
    pub has_memory: Option<bool>,
    /// Distances to the nodes in the order of their numbers; 10 is local.
    pub distances: Vec<u32>,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1, 2, 3 ...
    pub level: u32,
    /// Data, instruction or both.
    pub kind: CacheKind,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// The CPUs that share it.
    pub shared_by: CpuSet,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheKind {
    /// `Data`
    Data,
    /// `Instruction`
    Instruction,
    /// `Unified`
    Unified,
}
