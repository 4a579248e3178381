//! The expected value of each file, by profile. The guest has four CPUs, of which 3 is isolated.

/// A file and its value, if the guest has the file.
pub struct ExpectedFile {
    /// The file.
    pub path: &'static str,
    /// Its value, as read from the file.
    pub value: &'static str,
}

const fn of(path: &'static str, value: &'static str) -> ExpectedFile {
    ExpectedFile { path, value }
}

/// Every file of this module, and one that must not change.
pub fn files() -> Vec<&'static str> {
    let tables = [BALANCED, STRICT, BY_NAME].into_iter().flatten();
    let mut files: Vec<&str> = tables.map(|one| one.path).collect();
    files.push("/proc/sys/kernel/soft_watchdog");
    files.sort_unstable();
    files.dedup();
    files
}

/// Files of `balanced`.
pub const BALANCED: &[ExpectedFile] = &[
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

/// Files that `strict` changes in addition to those of `balanced`.
pub const STRICT: &[ExpectedFile] = &[
    of("/sys/class/net/lo/queues/rx-0/rps_flow_cnt", "0"),
    of("/proc/sys/kernel/numa_balancing", "0"),
    of("/proc/sys/vm/stat_interval", "120"),
    of("/sys/kernel/rcu_normal", "1"),
    of("/sys/kernel/mm/ksm/run", "0"),
    of("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
    of("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0"),
];

/// Files of knobs that are explicitly requested.
pub const BY_NAME: &[ExpectedFile] = &[
    of("/proc/sys/kernel/watchdog_thresh", "0"),
    of("/proc/sys/kernel/nmi_watchdog", "0"),
    of("/proc/sys/kernel/sched_rt_runtime_us", "-1"),
    of("/sys/devices/system/machinecheck/machinecheck0/check_interval", "0"),
    of("/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "n/a"),
    of("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
    of("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "0"),
    of("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000"),
    of("/sys/kernel/debug/sched/ext_server/cpu3/runtime", "0"),
    of("/sys/block/sda/queue/rq_affinity", "1"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Knobs that are not tested here. The guests have no file for most of them (frequency, idle states, several
    /// queues) or need no change. The scenario checks the effect of `cpu_offline` instead.
    const WITHOUT: &[&str] = &[
        "writeback_numa",
        "rps_default_mask",
        "xps_cpus",
        "transparent_hugepage_defrag",
        "energy_performance_preference",
        "scaling_governor",
        "scaling_min_freq",
        "no_turbo",
        "cpuidle_disable",
        "cpu_offline",
    ];

    #[test]
    fn every_knob_that_is_a_file_has_an_expected_value() {
        let missing = plan::KNOBS.iter().filter(|knob| {
            let is_setting = |file: &&&str| {
                !file.starts_with("/sys/fs/cgroup/") && (file.starts_with("/proc/sys/") || file.starts_with("/sys/"))
            };
            knob.files.iter().any(|file| is_setting(&file)) && !files().iter().any(|file| knob.has_file(file))
        });
        let missing: Vec<&str> = missing.map(|knob| knob.name).collect();
        let unlisted: Vec<_> = missing.iter().filter(|name| !WITHOUT.contains(name)).collect();
        let needless: Vec<_> = WITHOUT.iter().filter(|name| !missing.contains(name)).collect();
        assert!(
            unlisted.is_empty() && needless.is_empty(),
            "a knob needs a value in BALANCED, STRICT or BY_NAME, or a place in WITHOUT: {unlisted:?}; needless in WITHOUT: {needless:?}"
        );
    }
}
