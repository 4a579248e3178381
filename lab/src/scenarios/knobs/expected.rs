//! The expected value of each file, by profile. The guest has four CPUs, of which 3 is isolated.

/// A file and its value, where the guest has the file.
pub struct Expected {
    /// The file.
    pub path: &'static str,
    /// Its value, as it reads.
    pub value: &'static str,
}

const fn of(path: &'static str, value: &'static str) -> Expected {
    Expected { path, value }
}

/// Every file of this module, and some others that must not change.
pub const FILES: &[&str] = &[
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/devices/virtual/workqueue/writeback/cpumask",
    "/sys/devices/virtual/workqueue/blkcg_punt_bio/cpumask",
    "/sys/block/sda/queue/rq_affinity",
    "/sys/class/net/lo/queues/rx-0/rps_cpus",
    "/sys/class/net/lo/queues/rx-0/rps_flow_cnt",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/sys/kernel/watchdog",
    "/proc/sys/kernel/soft_watchdog",
    "/proc/sys/kernel/watchdog_thresh",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/compact_unevictable_allowed",
    "/sys/kernel/rcu_expedited",
    "/sys/kernel/rcu_normal",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "/sys/devices/system/machinecheck/machinecheck0/check_interval",
    "/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us",
    "/sys/kernel/debug/sched/fair_server/cpu3/runtime",
    "/sys/kernel/debug/sched/fair_server/cpu0/runtime",
    "/sys/kernel/debug/sched/ext_server/cpu3/runtime",
];

/// Of `balanced`.
pub const BALANCED: &[Expected] = &[
    of("/sys/devices/virtual/workqueue/cpumask", "7"),
    of("/sys/devices/virtual/workqueue/writeback/cpumask", "7"),
    of("/sys/devices/virtual/workqueue/blkcg_punt_bio/cpumask", "7"),
    of("/sys/block/sda/queue/rq_affinity", "2"),
    of("/sys/class/net/lo/queues/rx-0/rps_cpus", "7"),
    of("/proc/sys/kernel/timer_migration", "1"),
    of("/proc/sys/kernel/watchdog_cpumask", "0-2"),
    of("/proc/sys/kernel/watchdog", "1"),
    of("/proc/sys/vm/compaction_proactiveness", "0"),
    of("/proc/sys/vm/compact_unevictable_allowed", "0"),
    of("/sys/kernel/rcu_expedited", "0"),
    of("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000"),
];

/// Of `strict`, besides those of `balanced`.
pub const STRICT: &[Expected] = &[
    of("/sys/class/net/lo/queues/rx-0/rps_flow_cnt", "0"),
    of("/proc/sys/kernel/numa_balancing", "0"),
    of("/proc/sys/vm/stat_interval", "120"),
    of("/sys/kernel/rcu_normal", "1"),
    of("/sys/kernel/mm/ksm/run", "0"),
    of(
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never",
    ),
    of("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0"),
];

/// Knobs that are explicitly requested.
pub const BY_NAME: &[Expected] = &[
    of("/proc/sys/kernel/watchdog_thresh", "0"),
    of("/proc/sys/kernel/nmi_watchdog", "0"),
    of("/proc/sys/kernel/sched_rt_runtime_us", "-1"),
    of(
        "/sys/devices/system/machinecheck/machinecheck0/check_interval",
        "0",
    ),
    of(
        "/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us",
        "n/a",
    ),
    of(
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "always madvise [never]",
    ),
    of("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "0"),
    of("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000"),
    of("/sys/kernel/debug/sched/ext_server/cpu3/runtime", "0"),
    of("/sys/block/sda/queue/rq_affinity", "1"),
];
