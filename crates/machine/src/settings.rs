//! Reads one-value settings: sysctls, device queues, frequency governors. Comparisons of two captures use all of them
//! ([`read`]); knobs plan from those of the CPUs in question ([`for_cpus`]). All of them are in a snapshot too.

use crate::CpuSet;
use crate::links::real;
use crate::walk::{Found, Walk, matches};
use root::Root;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Values by path; unreadable ones are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Path inside the root, links resolved, and the trimmed content.
    pub values: BTreeMap<String, String>,
}

impl Settings {
    /// The value of a file.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&str> {
        self.values.get(path).map(String::as_str)
    }

    /// Files whose paths have this start and end, with the part between: queues, disks, CPUs.
    pub fn family<'a>(
        &'a self,
        begin: &'a str,
        end: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> + 'a {
        self.values
            .range::<str, _>((Bound::Included(begin), Bound::Unbounded))
            .take_while(move |(path, _)| path.starts_with(begin))
            .filter_map(move |(path, value)| {
                let between = path.strip_prefix(begin)?.strip_suffix(end)?;
                Some((between, path.as_str(), value.as_str()))
            })
    }
}

/// A longer value is not a setting.
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
    "/sys/devices/virtual/workqueue/*/{cpumask,numa,affinity_scope,affinity_strict}",
    "/sys/block/*/queue/{rq_affinity,scheduler,nomerges,io_poll,wbt_lat_usec}",
    "/sys/class/net/*/{napi_defer_hard_irqs,gro_flush_timeout,threaded}",
    "/sys/class/net/*/queues/*/{rps_cpus,rps_flow_cnt,xps_cpus,xps_rxqs}",
    "/sys/class/dmi/id/{sys_vendor,product_name,bios_version}",
];

/// Settings that knobs plan from and that belong to no CPU.
const SHARED: &[&str] = &[
    "/proc/sys/kernel/{timer_migration,watchdog_cpumask,watchdog_thresh,nmi_watchdog,numa_balancing}",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/vm/{stat_interval,compaction_proactiveness,compact_unevictable_allowed}",
    "/proc/sys/net/core/rps_default_mask",
    "/sys/kernel/{rcu_expedited,rcu_normal}",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/{enabled,defrag}",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    // Whether debugfs is accessible at all.
    "/sys/kernel/debug/sched/features",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/machinecheck/machinecheck0/check_interval",
    "/sys/devices/virtual/workqueue/*/cpumask",
    "/sys/devices/virtual/workqueue/writeback/numa",
    "/sys/block/*/queue/rq_affinity",
    "/sys/class/net/*/queues/rx-*/{rps_cpus,rps_flow_cnt}",
    "/sys/class/net/*/queues/tx-*/xps_cpus",
];

/// Settings of each CPU; `#` is its number.
const OF_A_CPU: &[&str] = &[
    "/sys/devices/system/cpu/cpu#/online",
    "/sys/devices/system/cpu/cpu#/power/pm_qos_resume_latency_us",
    "/sys/devices/system/cpu/cpu#/cpuidle/state*/{latency,disable}",
    "/sys/devices/system/cpu/cpu#/cpufreq/{scaling_governor,scaling_available_governors,affected_cpus}",
    "/sys/devices/system/cpu/cpu#/cpufreq/{scaling_min_freq,scaling_max_freq}",
    "/sys/devices/system/cpu/cpu#/cpufreq/{energy_performance_preference,energy_performance_available_preferences}",
    "/sys/kernel/debug/sched/{fair_server,ext_server}/cpu#/runtime",
];

/// Patterns of all files that [`read`] and [`for_cpus`] read, for a snapshot. See `Walk::each` for the notation.
pub(crate) fn patterns() -> impl Iterator<Item = String> {
    let fixed = PATTERNS.iter().chain(SHARED).map(|pattern| (*pattern).to_owned());
    fixed.chain(OF_A_CPU.iter().map(|pattern| pattern.replace('#', "*")))
}

/// Reads what knobs plan from: the shared settings, and those of the given CPUs, because reading them for all CPUs of a
/// large machine takes longer than everything else. Paths are the familiar ones (`/sys/block/sda/...`); only frequency
/// policies, which several CPUs may share, have their real paths. Disks without a device below them (loop, dm, zram)
/// are left out: a worker or another disk decides where their requests complete.
#[must_use]
pub fn for_cpus(root: &Root, cpus: &CpuSet) -> Settings {
    let mut settings = Settings::default();
    for pattern in SHARED {
        take_all(root, pattern, &mut settings);
    }
    for cpu in cpus.iter() {
        for pattern in OF_A_CPU {
            take_all(root, &pattern.replace('#', &cpu.0.to_string()), &mut settings);
        }
    }
    settings
}

fn take_all(root: &Root, pattern: &str, settings: &mut Settings) {
    for path in paths(root, pattern) {
        let path = match path.contains("/cpufreq/") {
            true => real(root, path.clone()).unwrap_or(path),
            false => path,
        };
        if settings.values.contains_key(&path) {
            continue;
        }
        if let Ok(Some(value)) = root.value(&path)
            && value.len() as u64 <= MAX_VALUE
        {
            settings.values.insert(path, value);
        }
    }
}

/// Paths that a pattern may expand to, whether they exist or not. Names with `*` are searched for; alternatives in
/// braces without `*` are only written out.
fn paths(root: &Root, pattern: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for name in pattern.split('/').skip(1) {
        let inner = name.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
        found = match (inner, name.contains('*')) {
            (Some(words), false) => found
                .iter()
                .flat_map(|dir| words.split(',').map(move |word| format!("{dir}/{word}")))
                .collect(),
            (_, true) => found
                .iter()
                .flat_map(|dir| {
                    let names = root.names(dir).ok().flatten().unwrap_or_default();
                    let fits = names.into_iter().filter(|one| matches(name, one));
                    fits.map(|one| format!("{dir}/{one}")).collect::<Vec<String>>()
                })
                .filter(|path| !is_virtual_disk(root, path))
                .collect(),
            (None, false) => found.iter().map(|dir| format!("{dir}/{name}")).collect(),
        };
    }
    found
}

fn is_virtual_disk(root: &Root, path: &str) -> bool {
    let disk = path
        .strip_prefix("/sys/block/")
        .is_some_and(|name| !name.contains('/'));
    disk && root
        .link(path)
        .ok()
        .flatten()
        .is_some_and(|target| target.contains("/virtual/"))
}

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
