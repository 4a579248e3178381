//! Reads one-value settings: sysctls, device queues, frequency governors. Which files knobs use, the crate that declares
//! knobs says: they plan from those of the CPUs in question ([`for_cpus`]), and comparisons use all of them ([`read`]).

use crate::CpuSet;
use crate::links::real;
use crate::walk::{Walk, WalkEntry, matches};
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

/// What comparisons use beside the settings that knobs set. See `Walk::each` for the notation.
///
/// `kernel.watchdog` and `kernel.soft_watchdog` are missing on purpose: while both detectors are off, reading one of them makes
/// the kernel forget that the other was on (`kernel/watchdog.c`, `proc_watchdog_common`). `kernel.nmi_watchdog` behaves alike, but a
/// knob sets it.
pub(crate) const OTHERS: &[&str] = &[
    "/proc/sys/kernel/{sched_*,watchdog_*,softlockup_*,hardlockup_*,hung_task_*}",
    "/proc/sys/kernel/{perf_cpu_*,stack_tracer_enabled,printk}",
    "/proc/sys/vm/{swappiness,dirty_*,nr_hugepages,zone_reclaim_mode}",
    "/sys/kernel/profiling",
    "/sys/kernel/debug/sched/features",
    "/sys/kernel/debug/sched/{fair_server,ext_server}/cpu*/period",
    "/sys/module/{workqueue,rcutree,rcupdate,intel_idle,haltpoll}/parameters/*",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/{intel_pstate,amd_pstate}/{status,prefcore}",
    "/sys/devices/system/cpu/cpu*/cpufreq/{scaling_driver,scaling_max_freq}",
    "/sys/devices/system/machinecheck/machinecheck0/{ignore_ce,cmci_disabled}",
    "/sys/devices/virtual/workqueue/*/{affinity_scope,affinity_strict}",
    "/sys/block/*/queue/{scheduler,nomerges,io_poll,wbt_lat_usec}",
    "/sys/class/net/*/{napi_defer_hard_irqs,gro_flush_timeout,threaded}",
    "/sys/class/net/*/queues/*/xps_rxqs",
    "/sys/class/dmi/id/{sys_vendor,product_name,bios_version}",
];

/// Reads what knobs plan from. A pattern with `#`, the number of a CPU, is read for the given CPUs only, because reading
/// it for all CPUs of a large machine takes longer than everything else. Paths are the familiar ones
/// (`/sys/block/sda/...`); only frequency policies, which several CPUs may share, have their real paths. Disks without a
/// device below them (loop, dm, zram) are left out: a worker or another disk decides where their requests complete.
#[must_use]
pub fn for_cpus(root: &Root, cpus: &CpuSet, patterns: impl Iterator<Item = String>) -> Settings {
    let mut settings = Settings::default();
    for pattern in patterns {
        if !pattern.contains('#') {
            take_all(root, &pattern, &mut settings);
            continue;
        }
        for cpu in cpus.iter() {
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

/// Paths that a pattern may expand to, whether they exist or not. Only names with `*` are searched for.
fn paths(root: &Root, pattern: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for name in pattern.split('/').skip(1) {
        found = match name.contains('*') {
            false => found.iter().map(|dir| format!("{dir}/{name}")).collect(),
            true => found
                .iter()
                .flat_map(|dir| {
                    let names = root.readable_names(dir).unwrap_or_default();
                    let fits = names.into_iter().filter(|one| matches(name, one));
                    fits.map(|one| format!("{dir}/{one}")).collect::<Vec<String>>()
                })
                .filter(|path| !is_virtual_disk(root, path))
                .collect(),
        };
    }
    found
}

fn is_virtual_disk(root: &Root, path: &str) -> bool {
    let disk = path.strip_prefix("/sys/block/").is_some_and(|name| !name.contains('/'));
    disk && root
        .link(path)
        .ok()
        .flatten()
        .is_some_and(|target| target.contains("/virtual/"))
}

/// Reads the settings of all CPUs and devices that match a pattern, and others that matter to a comparison.
#[must_use]
pub fn read(root: &Root, patterns: impl Iterator<Item = String>) -> Settings {
    let mut values = BTreeMap::new();
    let mut walk = Walk::new(root);
    let mut content = Vec::new();
    let others = OTHERS.iter().map(|pattern| (*pattern).to_owned());
    for pattern in patterns.map(|pattern| pattern.replace('#', "*")).chain(others) {
        let mut take = |found: WalkEntry<'_>| {
            if let WalkEntry::File(path) = found
                && root.bytes_at_most(path, MAX_VALUE, &mut content).unwrap_or(false)
            {
                let text = String::from_utf8_lossy(&content);
                let blank = |letter: char| letter.is_whitespace() || letter == '\0';
                values.insert(path.to_owned(), text.trim_matches(blank).to_owned());
            }
            Ok(())
        };
        // Only `take` can fail, and it does not.
        let _ = walk.each(&pattern, &mut take);
    }
    Settings { values }
}
