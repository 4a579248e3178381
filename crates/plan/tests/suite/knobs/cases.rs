//! The table of cases of all knobs that are files: what each changes and what it leaves alone.
//!
//! Level 3 (`crates/apply`) applies and undoes every knob of the profiles with the first of its cases.

/// A test case of one knob.
pub struct KnobCase {
    pub knob: &'static str,
    /// The value of `--with`; if empty, the profile `strict` takes the knob.
    pub with: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    /// The expected changes of this knob: the part of the id after its name, and the value.
    pub expected: &'static [(&'static str, &'static str)],
}

const fn case(
    knob: &'static str,
    with: &'static str,
    files: &'static [(&'static str, &'static str)],
    wanted: &'static [(&'static str, &'static str)],
) -> KnobCase {
    KnobCase {
        knob,
        with,
        files,
        expected: wanted,
    }
}

const WQ: &str = "/sys/devices/virtual/workqueue";
const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const POLICY: &str = "/sys/devices/system/cpu/cpufreq/policy3";
const IDLE: &str = "/sys/devices/system/cpu/cpu3/cpuidle";
const QOS: &str = "/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us";
const RX: &str = "/sys/class/net/eth0/queues";

/// CPU 3 of four is isolated. Its sibling is CPU 1.
#[rustfmt::skip]
pub const CASES: &[KnobCase] = &[
    case("wq_sysfs_cpumask", "", &[("WQ/writeback/cpumask", "f"), ("WQ/scsi_tmf_0/cpumask", "8"), ("WQ/cpumask", "f")],
        &[("scsi_tmf_0", "7"), ("writeback", "7")]),
    case("wq_sysfs_cpumask", "", &[("WQ/writeback/cpumask", "7")], &[]),
    case("writeback_numa", "+", &[("WQ/writeback/numa", "1")], &[("", "0")]),
    case("writeback_numa", "+", &[("WQ/writeback/numa", "0")], &[]),
    case("rq_affinity", "", &[("/sys/block/sda/queue/rq_affinity", "1"), ("/sys/block/sdb/queue/rq_affinity", "2")], &[("sda", "2")]),
    case("rq_affinity", "", &[("/sys/block/sda/queue/rq_affinity", "0")], &[]),
    case("rq_affinity", "=0", &[("/sys/block/sda/queue/rq_affinity", "1")], &[("sda", "0")]),
    case("rps_cpus", "", &[("RX/rx-0/rps_cpus", "f"), ("RX/rx-1/rps_cpus", "0"), ("RX/rx-2/rps_cpus", "8")],
        &[("eth0/rx-0", "7"), ("eth0/rx-2", "7")]),
    case("rps_default_mask", "", &[("/proc/sys/net/core/rps_default_mask", "c")], &[("", "4")]),
    case("rps_default_mask", "", &[("/proc/sys/net/core/rps_default_mask", "0")], &[]),
    case("rps_flow_cnt", "", &[("RX/rx-0/rps_flow_cnt", "4096"), ("RX/rx-1/rps_flow_cnt", "0")], &[("eth0/rx-0", "0")]),
    case("xps_cpus", "+", &[("RX/tx-0/xps_cpus", "c"), ("RX/tx-1/xps_cpus", "8"), ("RX/tx-2/xps_cpus", "3")], &[("eth0/tx-0", "4")]),
    case("timer_migration", "", &[("/proc/sys/kernel/timer_migration", "0")], &[("", "1")]),
    case("timer_migration", "", &[("/proc/sys/kernel/timer_migration", "1")], &[]),
    case("watchdog_cpumask", "", &[("/proc/sys/kernel/watchdog_cpumask", "0-3")], &[("", "0-2")]),
    case("watchdog_cpumask", "", &[("/proc/sys/kernel/watchdog_cpumask", "0-1")], &[]),
    case("watchdog", "+", &[("/proc/sys/kernel/watchdog_thresh", "10")], &[("", "0")]),
    case("watchdog", "=60", &[("/proc/sys/kernel/watchdog_thresh", "10")], &[("", "60")]),
    case("nmi_watchdog", "+", &[("/proc/sys/kernel/nmi_watchdog", "1")], &[("", "0")]),
    case("check_interval", "+", &[("/sys/devices/system/machinecheck/machinecheck0/check_interval", "300")], &[("", "0")]),
    case("check_interval", "=900", &[("/sys/devices/system/machinecheck/machinecheck0/check_interval", "300")], &[("", "900")]),
    case("stat_interval", "", &[("/proc/sys/vm/stat_interval", "1")], &[("", "120")]),
    case("stat_interval", "", &[("/proc/sys/vm/stat_interval", "300")], &[]),
    case("stat_interval", "=60", &[("/proc/sys/vm/stat_interval", "300")], &[("", "60")]),
    case("numa_balancing", "", &[("/proc/sys/kernel/numa_balancing", "1")], &[("", "0")]),
    case("transparent_hugepage", "", &[("THP/enabled", "[always] madvise never")], &[("", "madvise")]),
    case("transparent_hugepage", "", &[("THP/enabled", "always madvise [never]")], &[]),
    case("transparent_hugepage", "", &[("THP/enabled", "always [madvise] never")], &[]),
    case("transparent_hugepage", "=never", &[("THP/enabled", "always [madvise] never")], &[("", "never")]),
    case("transparent_hugepage_defrag", "", &[("THP/defrag", "always [defer] defer+madvise madvise never")], &[("", "madvise")]),
    case("khugepaged_defrag", "", &[("THP/khugepaged/defrag", "1")], &[("", "0")]),
    case("ksm_run", "", &[("/sys/kernel/mm/ksm/run", "1")], &[("", "0")]),
    case("ksm_run", "", &[("/sys/kernel/mm/ksm/run", "2")], &[]),
    case("compaction_proactiveness", "", &[("/proc/sys/vm/compaction_proactiveness", "20")], &[("", "0")]),
    case("compact_unevictable_allowed", "", &[("/proc/sys/vm/compact_unevictable_allowed", "1")], &[("", "0")]),
    case("rcu_expedited", "", &[("/sys/kernel/rcu_expedited", "1")], &[("", "0")]),
    case("rcu_normal", "", &[("/sys/kernel/rcu_normal", "0")], &[("", "1")]),
    case("sched_rt_runtime_us", "+", &[("/proc/sys/kernel/sched_rt_runtime_us", "950000")], &[("", "-1")]),
    case("sched_rt_runtime_us", "=990000", &[("/proc/sys/kernel/sched_rt_runtime_us", "950000")], &[("", "990000")]),
    case("energy_performance_preference", "", &[("POLICY/affected_cpus", "3"), ("POLICY/energy_performance_preference", "balance_power")],
        &[("policy3", "performance")]),
    case("scaling_governor", "", &[("POLICY/affected_cpus", "3"), ("POLICY/scaling_governor", "schedutil")], &[("policy3", "performance")]),
    case("scaling_governor", "=powersave", &[("POLICY/affected_cpus", "2 3"), ("POLICY/scaling_governor", "schedutil")], &[("policy3", "powersave")]),
    case("scaling_governor", "", &[("POLICY/affected_cpus", "3"), ("POLICY/scaling_governor", "schedutil"),
        ("POLICY/scaling_available_governors", "schedutil powersave")], &[]),
    case("scaling_min_freq", "", &[("POLICY/affected_cpus", "3"), ("POLICY/scaling_min_freq", "800000"), ("POLICY/scaling_max_freq", "3000000")],
        &[("policy3", "3000000")]),
    case("no_turbo", "+", &[("/sys/devices/system/cpu/intel_pstate/no_turbo", "0")], &[("", "1")]),
    case("no_turbo", "+", &[("/sys/devices/system/cpu/cpufreq/boost", "1")], &[("boost", "0")]),
    case("cpuidle_disable", "", &[("IDLE/state0/latency", "0"), ("IDLE/state0/disable", "0"), ("IDLE/state1/latency", "2"), ("IDLE/state1/disable", "0"),
        ("IDLE/state2/latency", "133"), ("IDLE/state2/disable", "0"), ("IDLE/state3/latency", "200"), ("IDLE/state3/disable", "1")], &[("cpu3/state2", "1")]),
    case("cpuidle_disable", "=all", &[("IDLE/state0/latency", "0"), ("IDLE/state0/disable", "0"), ("IDLE/state1/latency", "2"), ("IDLE/state1/disable", "0")],
        &[("cpu3/state1", "1")]),
    case("pm_qos_resume_latency_us", "", &[("QOS", "0"), ("IDLE/state0/latency", "0"), ("IDLE/state1/latency", "2"), ("IDLE/state2/latency", "90")],
        &[("cpu3", "2")]),
    case("pm_qos_resume_latency_us", "", &[("QOS", "n/a"), ("IDLE/state1/latency", "2")], &[]),
    case("pm_qos_resume_latency_us", "", &[("QOS", "0")], &[]),
    case("pm_qos_resume_latency_us", "=n/a", &[("QOS", "0")], &[("cpu3", "n/a")]),
    case("fair_server", "+", &[("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000")], &[("cpu3", "0")]),
    case("ext_server", "=1000", &[("/sys/kernel/debug/sched/ext_server/cpu3/runtime", "50000000")], &[("cpu3", "1000")]),
    case("cpu_offline", "+", &[("/sys/devices/system/cpu/cpu1/online", "1")], &[("cpu1", "0")]),
    case("cpu_offline", "+", &[], &[]),
];

/// Expands the abbreviations of [`CASES`] in a path.
pub fn spelled(path: &str) -> String {
    [
        ("WQ/", WQ),
        ("THP/", THP),
        ("POLICY/", POLICY),
        ("IDLE/", IDLE),
        ("RX/", RX),
    ]
    .iter()
    .find_map(|(short, long)| Some(format!("{long}/{}", path.strip_prefix(short)?)))
    .unwrap_or_else(|| if path == "QOS" { QOS.to_owned() } else { path.to_owned() })
}
