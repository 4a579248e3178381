//! What knobs of the profile `strict` turn, as it is after a boot.

/// Files that hold one value each.
pub const SETTINGS: &[(&str, &str)] = &[
    ("/sys/devices/virtual/workqueue/writeback/cpumask", "f"),
    ("/sys/block/sda/queue/rq_affinity", "1"),
    ("/proc/sys/kernel/timer_migration", "0"),
    ("/proc/sys/kernel/watchdog_cpumask", "0-3"),
    ("/proc/sys/kernel/watchdog_thresh", "10"),
    ("/proc/sys/kernel/nmi_watchdog", "1"),
    ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
    ("/proc/sys/vm/stat_interval", "1"),
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "[always] madvise never",
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/defrag",
        "[always] defer defer+madvise madvise never",
    ),
    (
        "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
        "schedutil",
    ),
    ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_min_freq", "800000"),
    ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_max_freq", "2999999"),
    ("/sys/devices/system/cpu/cpu3/cpuidle/state1/latency", "2"),
    ("/sys/devices/system/cpu/cpu3/cpuidle/state1/disable", "0"),
    ("/sys/devices/system/cpu/cpu3/cpuidle/state2/latency", "90"),
    ("/sys/devices/system/cpu/cpu3/cpuidle/state2/disable", "0"),
    ("/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "0"),
];
