//! Settings of one value each that somebody may turn: sysctls, device queues, frequency governors. Nobody
//! plans from them, but two captures are compared by them. All of them are in a snapshot too.

use crate::capture::walk::{Found, Walk};
use root::Root;
use std::collections::BTreeMap;

/// Values by path; what cannot be read is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Path inside the root, links resolved, and the trimmed content.
    pub values: BTreeMap<String, String>,
}

/// A value that is longer is no setting.
const MAX_VALUE: u64 = 4096;

/// What is read. See `Walk::each` for the notation.
const PATTERNS: &[&str] = &[
    "/proc/sys/kernel/{sched_*,watchdog*,nmi_watchdog,soft_watchdog,softlockup_*,hardlockup_*,hung_task_*}",
    "/proc/sys/kernel/{timer_migration,numa_balancing,perf_cpu_*,stack_tracer_enabled,printk}",
    "/proc/sys/vm/{stat_interval,compaction_proactiveness,compact_unevictable_allowed,swappiness}",
    "/proc/sys/vm/{dirty_*,nr_hugepages,zone_reclaim_mode}",
    "/sys/kernel/{rcu_expedited,rcu_normal,profiling}",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/{enabled,defrag}",
    "/sys/kernel/debug/sched/features",
    "/sys/kernel/debug/sched/{fair_server,ext_server}/cpu*/{runtime,period}",
    "/sys/module/{workqueue,rcutree,rcupdate,intel_idle,haltpoll}/parameters/*",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/{intel_pstate,amd_pstate}/{status,no_turbo,prefcore}",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/cpu*/cpufreq/{scaling_governor,scaling_driver,scaling_min_freq,scaling_max_freq}",
    "/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
    "/sys/devices/system/machinecheck/machinecheck0/{check_interval,ignore_ce,cmci_disabled}",
    "/sys/devices/virtual/workqueue/*/{cpumask,affinity_scope,affinity_strict}",
    "/sys/block/*/queue/{rq_affinity,scheduler,nomerges,io_poll,wbt_lat_usec}",
    "/sys/class/net/*/{napi_defer_hard_irqs,gro_flush_timeout,threaded}",
    "/sys/class/net/*/queues/*/{rps_cpus,rps_flow_cnt,xps_cpus,xps_rxqs}",
    "/sys/class/dmi/id/{sys_vendor,product_name,bios_version}",
];

/// Reads all of them.
#[must_use]
pub fn read(root: &Root) -> Settings {
    let mut values = BTreeMap::new();
    let mut walk = Walk::new(root);
    let mut content = Vec::new();
    for pattern in PATTERNS {
        let mut take = |found: Found<'_>| {
            if let Found::File(path) = found
                && root.bytes_at_most(path, MAX_VALUE, &mut content).unwrap_or(false)
            {
                let text = String::from_utf8_lossy(&content);
                let blank = |letter: char| letter.is_whitespace() || letter == '\0';
                values.insert(path.to_owned(), text.trim_matches(blank).to_owned());
            }
            Ok(())
        };
        // Only `take` can fail, and it does not.
        let _ = walk.each(pattern, &mut take);
    }
    Settings { values }
}
