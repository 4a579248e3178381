//! Scheduler, cpusets, timers, watchdogs, RCU, memory, idle states.

use super::{SettingRow, row};
use crate::parameters::Price;

pub(super) const ROWS: &[SettingRow] = &[
    row("cpuset.cpus.partition", "/sys/fs/cgroup/NAME/cpuset.cpus.partition", "makes a cgroup v2 a partition that owns its CPUs", "isolated: no other task, no load balancing; always read it back, because an invalid partition is no error")
        .since("5.0, isolated 6.1").stops(&["task", "soft_sched"]),
    row("cpuset.cpus.exclusive", "/sys/fs/cgroup/NAME/cpuset.cpus.exclusive", "reserves CPUs for a partition deeper in the tree", "lets a partition stand below ordinary groups").since("6.7"),
    row("cpuset.cpus.isolated", "/sys/fs/cgroup/cpuset.cpus.isolated", "lists the CPUs of all isolated partitions", "read it to see what is isolated at run time").since("6.7"),
    row("sched_load_balance", "/sys/fs/cgroup/cpuset/NAME/cpuset.sched_load_balance", "whether the scheduler balances load inside a cpuset v1", "0 at the root and in the set of the isolated CPUs takes them out of balancing")
        .stops(&["soft_sched"]),
    row("AllowedCPUs", "/etc/systemd/system.control/UNIT.d", "systemd's name for cpuset.cpus of a unit (cgroup v2 only)", "the housekeeping CPUs on system.slice, user.slice and init.scope keep services away"),
    row("isolated", "/sys/devices/system/cpu/isolated", "the CPUs of isolcpus=domain, as of the boot", "read only; partitions made later are not in it"),
    row("housekeeping", "/sys/devices/system/cpu/housekeeping", "the CPUs that are not in nohz_full=", "read only; empty without nohz_full=").since("7.0"),
    row("online", "/sys/devices/system/cpu/cpuN/online", "takes a CPU down and up", "moves timers and interrupts away that nothing else moves; stops all CPUs for a moment, empties v1 cpusets and drops pins")
        .price(Price::Safety),
    row("smt_control", "/sys/devices/system/cpu/smt/control", "uses one or all threads of every core", "off: nobody shares a core with an isolated CPU").price(Price::Speed),
    row("sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us", "how much of each period real-time tasks may take", "-1 ends the throttling of busy real-time loops up to 6.11; later the fair server does it")
        .price(Price::Safety),
    row("fair_server", "/sys/kernel/debug/sched/fair_server/cpuN/runtime", "gives ordinary tasks 5 % of a CPU that real-time tasks fill", "0 ends it for one CPU, and its timer interrupts too; then nothing else ever runs there")
        .since("6.12").stops(&["tick"]).price(Price::Safety),
    row("ext_server", "/sys/kernel/debug/sched/ext_server/cpuN/runtime", "as fair_server, for tasks of a sched_ext scheduler", "as fair_server").since("7.0").price(Price::Safety),
    row("timer_migration", "/proc/sys/kernel/timer_migration", "lets timers go to busy CPUs instead of the one that set them", "1, the default, keeps timers off idle isolated CPUs").stops(&["soft_timer"]),
    row("watchdog_cpumask", "/proc/sys/kernel/watchdog_cpumask", "which CPUs the lockup detectors watch", "the housekeeping CPUs: no watchdog timer and no NMI on the others; nohz_full CPUs are out by default")
        .stops(&["nmi", "performance"]),
    row("watchdog", "/proc/sys/kernel/watchdog", "both lockup detectors", "0 ends them everywhere; prefer watchdog_cpumask").stops(&["nmi"]).price(Price::Safety),
    row("nmi_watchdog", "/proc/sys/kernel/nmi_watchdog", "the hard lockup detector", "0 frees a performance counter and ends its NMIs; prefer watchdog_cpumask")
        .stops(&["nmi", "performance"]).price(Price::Safety),
    row("watchdog_thresh", "/proc/sys/kernel/watchdog_thresh", "seconds until a CPU counts as hung", "a larger value thins the watchdog out").price(Price::Safety),
    row("rcu_normal", "/sys/kernel/rcu_normal", "makes expedited RCU grace periods ordinary ones", "1: fewer IPIs to busy CPUs").stops(&["function_call"]).price(Price::Speed),
    row("rcu_expedited", "/sys/kernel/rcu_expedited", "makes every RCU grace period an expedited one", "0: 1 would interrupt CPUs that are in the kernel"),
    row("stat_interval", "/proc/sys/vm/stat_interval", "seconds between folds of memory statistics (vmstat_update)", "60 or more thins them out on kernels before 6.5; later ones leave isolated CPUs alone"),
    row("numa_balancing_sysctl", "/proc/sys/kernel/numa_balancing", "moves memory to the node that uses it", "0: no page faults to see who uses a page").stops(&["tlb_shootdown"]).price(Price::Speed),
    row("compaction_proactiveness", "/proc/sys/vm/compaction_proactiveness", "how eagerly memory is moved together", "0: no page moves without need").since("5.9").stops(&["tlb_shootdown"]),
    row("compact_unevictable_allowed", "/proc/sys/vm/compact_unevictable_allowed", "whether locked memory may be moved too", "0: locked pages of a real-time program stay; PREEMPT_RT sets it").stops(&["tlb_shootdown"]),
    row("transparent_hugepage_enabled", "/sys/kernel/mm/transparent_hugepage/enabled", "whether pages are joined to huge ones", "never or madvise: no khugepaged, no splits and shootdowns").stops(&["tlb_shootdown"]).price(Price::Speed),
    row("ksm_run", "/sys/kernel/mm/ksm/run", "merging of equal pages", "0: no ksmd and no write faults on merged pages").stops(&["tlb_shootdown"]),
    row("check_interval", "/sys/devices/system/machinecheck/machinecheck0/check_interval", "seconds between looks for corrected machine errors (x86)", "0 stops the poll timer on all CPUs").stops(&["machine_check"]).price(Price::Safety),
    row("ignore_ce", "/sys/devices/system/machinecheck/machinecheck0/ignore_ce", "whether corrected machine errors are reported (x86)", "1: neither poll nor interrupt; failing memory stays unseen").stops(&["machine_check"]).price(Price::Safety),
    row("current_clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "the clock in use", "tsc on x86: looking at the clock stays in user space"),
    row("scaling_governor", "/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor", "who chooses the frequency of a CPU", "performance: no change of frequency in the middle of work").price(Price::Power),
    row("no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", "whether turbo frequencies are used (Intel)", "1: steadier, slower").price(Price::Speed),
    row("pm_qos_resume_latency_us", "/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us", "how long a CPU may take to wake", "n/a forbids all idle states of this one CPU; 0 means no limit").price(Price::Power),
    row("cpu_dma_latency", "/dev/cpu_dma_latency", "how long any CPU may take to wake", "0, for as long as the file is held open; for all CPUs").price(Price::Power),
    row("cpuidle_disable", "/sys/devices/system/cpu/cpuN/cpuidle/stateM/disable", "forbids one idle state of one CPU", "1 for the deep states: quick to wake").stops(&["timer_broadcast"]).price(Price::Power),
    row("preempt_debugfs", "/sys/kernel/debug/sched/preempt", "the preemption model, where the kernel can change it", "full: shortest wake-ups outside PREEMPT_RT").since("5.12"),
    row("printk", "/proc/sys/kernel/printk", "which messages reach the console", "low levels: serial consoles write with interrupts off"),
];
