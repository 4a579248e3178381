//! Where a result was measured: stored with every result, because a number without its machine means nothing.

use machine::{CpuSet, Preemption};
use serde::{Deserialize, Serialize};

/// The machine, as far as it decides what latencies mean. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of this tool.
    pub tool_version: String,
    /// Kernel release.
    pub release: Option<String>,
    /// Preemption model.
    pub preemption: Option<Preemption>,
    /// The boot line.
    pub cmdline: Option<String>,
    /// The processor's name.
    pub model_name: Option<String>,
    /// The hypervisor, where the machine is a guest.
    pub hypervisor: Option<String>,
    /// Whether the processor is known to be emulated in software. Then no latency means anything.
    pub emulated: bool,
    /// The current clock source.
    pub clocksource: Option<String>,
    /// CPUs that run.
    pub online: CpuSet,
    /// CPUs taken out of the scheduler's domains at boot.
    pub boot_isolated: Option<CpuSet>,
    /// CPUs whose tick may stop.
    pub nohz_full: Option<CpuSet>,
    /// CPUs in cpuset partitions without load balancing.
    pub partitioned: Option<CpuSet>,
    /// Frequency governors in use, without repetition; `None` where there is no frequency scaling.
    pub governor: Option<String>,
    /// `kernel.sched_rt_runtime_us`; -1 is unlimited.
    pub sched_rt_runtime_us: Option<i64>,
}
