//! What is isolated already, by boot line or at run time.

use crate::{CpuSet, Partition};

/// Isolation in force, as the kernel's files tell it. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// `/sys/devices/system/cpu/isolated`: scheduler domains, boot value only.
    pub boot_isolated: Option<CpuSet>,
    /// `/sys/devices/system/cpu/nohz_full`; the kernel's `(null)` is empty.
    pub nohz_full: Option<CpuSet>,
    /// From `rcu_nocbs=` united with `nohz_full`.
    pub rcu_nocbs: Option<CpuSet>,
    /// From `irqaffinity=`; what later interrupts start with is `default_smp_affinity`.
    pub irqaffinity: Option<CpuSet>,
    /// `/proc/irq/default_smp_affinity`.
    pub default_smp_affinity: Option<CpuSet>,
    /// `/sys/devices/virtual/workqueue/cpumask`.
    pub workqueue_cpumask: Option<CpuSet>,
    /// cgroup v2 root `cpuset.cpus.isolated` (6.7 and later).
    pub cpuset_isolated: Option<CpuSet>,
    /// Cpusets that take CPUs from the rest: v2 partitions, v1 sets without load balancing.
    pub partitions: Vec<Partition>,
}
