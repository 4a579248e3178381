//! Reads what is already isolated, by boot line or at run time.

use crate::reading::RootReader;
use crate::{Cgroups, Cmdline, CpuSet, Hierarchy, Kernel, Partition, Topology, Version};
use serde::Serialize;
use std::collections::BTreeMap;

/// Active isolation, as shown by the kernel's files. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Isolation {
    /// `/sys/devices/system/cpu/isolated`: scheduler domains, boot value only.
    pub boot_isolated: Option<CpuSet>,
    /// `/sys/devices/system/cpu/nohz_full`; the kernel's `(null)` is empty.
    pub nohz_full: Option<CpuSet>,
    /// From `rcu_nocbs=` united with `nohz_full`.
    pub rcu_nocbs: Option<CpuSet>,
    /// From `irqaffinity=`; the initial value for later interrupts is `default_smp_affinity`.
    pub irqaffinity: Option<CpuSet>,
    /// `/proc/irq/default_smp_affinity`.
    pub default_smp_affinity: Option<CpuSet>,
    /// `/sys/devices/virtual/workqueue/cpumask`.
    pub workqueue_cpumask: Option<CpuSet>,
    /// cgroup v2 root `cpuset.cpus.isolated` (6.7 and later).
    pub cpuset_isolated: Option<CpuSet>,
    /// Online CPUs that systemd's `AllowedCPUs=` keeps services and sessions off: those outside `cpuset.cpus` of
    /// system.slice, user.slice and init.scope (v2). `None` if one of the three has no list, or if no CPU is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_free: Option<CpuSet>,
    /// Cpusets that take CPUs from the rest: v2 partitions, v1 sets without load balancing.
    #[serde(skip)]
    pub partitions: Vec<Partition>,
}

/// The groups in which systemd starts everything, except virtual machines and containers.
const SLICES: [&str; 3] = ["/system.slice", "/user.slice", "/init.scope"];

/// Reads what is isolated, using what was read before.
pub(crate) fn read(reader: &RootReader, kernel: &Kernel, topology: &Topology, cgroups: &Cgroups) -> Isolation {
    let nohz_full = reader.list("/sys/devices/system/cpu/nohz_full").or_else(|| {
        // Without the option there is no file, and no such CPU. That is known if the configuration is, or if the boot
        // line does not request any.
        let lacks = kernel
            .config
            .as_ref()
            .is_some_and(|config| !config.contains_key("CONFIG_NO_HZ_FULL"));
        let has_isolation = |line: &Cmdline| line.has("nohz_full") || line.has("isolcpus");
        let unasked = kernel.cmdline.as_ref().is_some_and(|line| !has_isolation(line));
        (lacks || unasked).then(CpuSet::new)
    });
    let cpuset_isolated = cgroups
        .cpuset
        .as_ref()
        .filter(|hierarchy| hierarchy.version == Version::V2)
        .and_then(|hierarchy| reader.list(&format!("{}/cpuset.cpus.isolated", hierarchy.mount)));
    let sets = cgroups.cpuset.iter().flat_map(|hierarchy| &hierarchy.sets);
    Isolation {
        boot_isolated: reader.list("/sys/devices/system/cpu/isolated"),
        rcu_nocbs: read_rcu_nocbs(reader, kernel, topology, nohz_full.as_ref()),
        nohz_full,
        irqaffinity: read_irqaffinity(reader, kernel, topology),
        default_smp_affinity: reader.mask("/proc/irq/default_smp_affinity"),
        workqueue_cpumask: reader.mask("/sys/devices/virtual/workqueue/cpumask"),
        cpuset_isolated,
        partitions: sets.filter(|set| set.takes_cpus()).cloned().collect(),
        kept_free: cgroups
            .cpuset
            .as_ref()
            .and_then(|hierarchy| service_free_cpus(hierarchy, topology)),
    }
}

/// On v2 the list of a set limits every task below it, and an empty list limits nothing (`kernel/cgroup/cpuset.c`,
/// `update_cpumasks_hier`).
fn service_free_cpus(hierarchy: &Hierarchy, topology: &Topology) -> Option<CpuSet> {
    if hierarchy.version != Version::V2 {
        return None;
    }
    let mut used = CpuSet::new();
    for name in SLICES {
        let cpus = hierarchy.set(name)?.cpus.as_ref()?;
        if cpus.is_empty() {
            return None;
        }
        used = used.or(cpus);
    }
    let free = topology.online.minus(&used);
    (!free.is_empty()).then_some(free)
}

/// The kernel merges `rcu_nocbs=` with the `nohz_full` CPUs (`kernel/rcu/tree_nocb.h`, `rcu_init_nohz`). No file shows
/// the result.
fn read_rcu_nocbs(
    reader: &RootReader,
    kernel: &Kernel,
    topology: &Topology,
    nohz_full: Option<&CpuSet>,
) -> Option<CpuSet> {
    let lacks = |config: &BTreeMap<String, String>| !config.contains_key("CONFIG_RCU_NOCB_CPU");
    if kernel.config.as_deref().is_some_and(lacks) {
        return Some(CpuSet::new());
    }
    let line = kernel.cmdline.as_ref()?;
    let by_default = |config: &BTreeMap<String, String>| config.contains_key("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL");
    if !line.has("rcu_nocbs") && kernel.config.as_deref().is_some_and(by_default) {
        return topology.possible.clone();
    }
    let requested = boot_list(reader, line, "rcu_nocbs", topology)?;
    Some(requested.or(nohz_full?))
}

/// `irqaffinity=`, to which the kernel adds the CPU that it boots on (`kernel/irq/irqdesc.c`).
fn read_irqaffinity(reader: &RootReader, kernel: &Kernel, topology: &Topology) -> Option<CpuSet> {
    let line = kernel.cmdline.as_ref()?;
    let is_set = line.last("irqaffinity").is_some_and(|word| word.value.is_some());
    let mut requested = boot_list(reader, line, "irqaffinity", topology)?;
    // An empty list leaves only this CPU.
    if is_set {
        requested.insert(topology.boot_cpu?);
    }
    Some(requested)
}

/// The CPU list of a boot parameter; empty without the parameter or without a value, `None` if it does not parse.
fn boot_list(reader: &RootReader, line: &Cmdline, name: &str, topology: &Topology) -> Option<CpuSet> {
    let Some(value) = line.last(name).and_then(|parameter| parameter.value.as_deref()) else {
        return Some(CpuSet::new());
    };
    let possible = topology.possible.clone().unwrap_or_else(|| topology.present_cpus());
    reader.ok_or_note("/proc/cmdline", CpuSet::parse_list_of(value, &possible))
}
