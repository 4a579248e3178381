//! The files that the knobs of the profile `strict` set, with their values after a boot.

#[path = "../../../../../plan/tests/suite/knobs/cases.rs"]
mod cases;

use plan::{KNOBS, Knob, KnobUse};

/// Returns the files of other knobs that are not in [`SETTINGS`], with the values of the first case in which each knob
/// changes something.
pub fn of_other_knobs() -> impl Iterator<Item = (String, &'static str)> {
    let is_here = |knob: &Knob| SETTINGS.iter().any(|(path, _)| knob.has_file(path));
    KNOBS
        .iter()
        .filter(move |knob| matches!(knob.usage, KnobUse::From(_)) && !is_here(knob))
        .filter_map(|knob| {
            let mut own = cases::CASES.iter().filter(|case| case.knob == knob.name);
            own.find(|case| case.with.is_empty() && !case.expected.is_empty())
        })
        .flat_map(|case| case.files.iter())
        // This machine has no directories of frequency policies.
        .map(|(path, value)| {
            (
                cases::spelled(path).replace("/cpufreq/policy3/", "/cpu3/cpufreq/"),
                *value,
            )
        })
}

/// Files that hold one value each. The machine on which released versions wrote their journals has exactly these.
pub const SETTINGS: &[(&str, &str)] = &[
    ("/sys/devices/virtual/workqueue/writeback/cpumask", "f"),
    ("/sys/block/sda/queue/rq_affinity", "1"),
    ("/proc/sys/kernel/timer_migration", "0"),
    ("/proc/sys/kernel/watchdog_cpumask", "0-3"),
    ("/proc/sys/kernel/watchdog_thresh", "10"),
    ("/proc/sys/kernel/nmi_watchdog", "1"),
    ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
    ("/proc/sys/vm/stat_interval", "1"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
    (
        "/sys/kernel/mm/transparent_hugepage/defrag",
        "[always] defer defer+madvise madvise never",
    ),
    ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "schedutil"),
    ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_min_freq", "800000"),
    ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_max_freq", "2999999"),
    ("/sys/devices/system/cpu/cpu3/cpuidle/state1/latency", "2"),
    ("/sys/devices/system/cpu/cpu3/cpuidle/state1/disable", "0"),
    ("/sys/devices/system/cpu/cpu3/cpuidle/state2/latency", "90"),
    ("/sys/devices/system/cpu/cpu3/cpuidle/state2/disable", "0"),
    ("/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "0"),
];
