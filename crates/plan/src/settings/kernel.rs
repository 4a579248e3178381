//! Scheduler, cpusets, timers, watchdogs, RCU, memory, idle states.

use super::{SettingRow, row};
use crate::parameters::ParameterCost;

pub(super) const ROWS: &[SettingRow] = &[
    row(
        "cpuset.cpus.exclusive",
        "/sys/fs/cgroup/NAME/cpuset.cpus.exclusive",
        "reserves CPUs for a partition deeper in the tree",
        "allows a partition below ordinary groups",
    )
    .since("6.7"),
    row(
        "cpuset.cpus.isolated",
        "/sys/fs/cgroup/cpuset.cpus.isolated",
        "lists the CPUs of all isolated partitions",
        "read it to see what is isolated at run time",
    )
    .since("6.7"),
    row(
        "sched_load_balance",
        "/sys/fs/cgroup/cpuset/NAME/cpuset.sched_load_balance",
        "whether the scheduler balances load inside a cpuset v1",
        "0 in the root and in the set of the isolated CPUs removes them from load balancing",
    )
    .stops(&["soft_sched"]),
    row(
        "AllowedCPUs",
        "/etc/systemd/system.control/UNIT.d",
        "the systemd property for cpuset.cpus of a unit (cgroup v2 only)",
        "the housekeeping CPUs on system.slice, user.slice and init.scope move services away",
    ),
    row(
        "isolated",
        "/sys/devices/system/cpu/isolated",
        "the CPUs of isolcpus=domain, as set at boot",
        "read only; it does not contain partitions that are created later",
    ),
    row(
        "housekeeping",
        "/sys/devices/system/cpu/housekeeping",
        "the CPUs that are not in nohz_full=",
        "read only; empty without nohz_full=",
    )
    .since("7.0"),
    row(
        "smt_control",
        "/sys/devices/system/cpu/smt/control",
        "uses one or all threads of every core",
        "off: no task shares a core with an isolated CPU",
    )
    .price(ParameterCost::Speed),
    row(
        "ignore_ce",
        "/sys/devices/system/machinecheck/machinecheck0/ignore_ce",
        "whether corrected machine errors are reported (x86)",
        "1: neither poll nor interrupt; failing memory is not noticed",
    )
    .stops(&["machine_check"])
    .price(ParameterCost::Safety),
    row(
        "current_clocksource",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "the clock source in use",
        "tsc on x86: reading the time needs no system call",
    ),
    row(
        "scaling_max_freq",
        "/sys/devices/system/cpu/cpuN/cpufreq/scaling_max_freq",
        "the highest frequency that a CPU may use, in kHz",
        "as high as cpuinfo_max_freq; scaling_min_freq is set to it",
    )
    .price(ParameterCost::Power),
    row(
        "fair_server_period",
        "/sys/kernel/debug/sched/fair_server/cpuN/period",
        "the period of the fair server of a CPU, in nanoseconds",
        "no effect while fair_server sets the runtime to 0",
    )
    .since("6.12"),
    row(
        "ext_server_period",
        "/sys/kernel/debug/sched/ext_server/cpuN/period",
        "the period of the server for sched_ext tasks, in nanoseconds",
        "no effect while ext_server sets the runtime to 0",
    )
    .since("7.0"),
    row(
        "sched_features",
        "/sys/kernel/debug/sched/features",
        "switches of the scheduler for development",
        "the defaults; RT_PUSH_IPI sends interrupts to CPUs that run real-time tasks",
    ),
    row(
        "cpu_dma_latency",
        "/dev/cpu_dma_latency",
        "how long any CPU may take to wake up",
        "0, while the file is held open; for all CPUs",
    )
    .price(ParameterCost::Power),
    row(
        "preempt_debugfs",
        "/sys/kernel/debug/sched/preempt",
        "the preemption model, where the kernel can change it",
        "full: shortest wake-ups outside PREEMPT_RT",
    )
    .since("5.12"),
    row(
        "printk",
        "/proc/sys/kernel/printk",
        "which messages reach the console",
        "low levels: serial consoles write with interrupts off",
    ),
];
