//! The list of breakages, one line each. If the command fails, the breakage does not apply to this guest: it has
//! another cgroup version, its kernel lacks the file or refuses the write.

/// One breakage.
pub struct Breakage {
    /// The name of its records.
    pub name: &'static str,
    /// The command that does the damage.
    pub command: &'static str,
    /// The finding that must report it.
    pub id: &'static str,
    /// A part of the finding's subject.
    pub subject: &'static str,
}

const fn breaks(name: &'static str, command: &'static str, id: &'static str, subject: &'static str) -> Breakage {
    Breakage {
        name,
        command,
        id,
        subject,
    }
}

/// Writes a value to a knob's file that disturbs the partition and differs from the former one.
macro_rules! file {
    ($name:literal, $path:literal, $value:literal) => {
        breaks(
            $name,
            concat!(
                "[ -w ",
                $path,
                " ] && old=$(cat ",
                $path,
                ") && echo ",
                $value,
                " >",
                $path,
                " && [ \"$(cat ",
                $path,
                ")\" != \"$old\" ]"
            ),
            "knob-lost",
            $path,
        )
    };
}

/// Moves an ordinary device interrupt to the isolated CPU, as another program would.
macro_rules! interrupt {
    ($name:literal, $number:literal) => {
        breaks(
            $name,
            concat!(
                "[ -n \"$(find /proc/irq/",
                $number,
                " -mindepth 1 -type d)\" ] && echo 3 >/proc/irq/",
                $number,
                "/smp_affinity_list"
            ),
            "irq-here",
            concat!("/proc/irq/", $number, "/smp_affinity_list"),
        )
    };
}

/// All breakages.
pub const BREAKAGES: &[Breakage] = &[
    file!("workqueues", "/sys/devices/virtual/workqueue/cpumask", "f"),
    file!(
        "workqueue_writeback",
        "/sys/devices/virtual/workqueue/writeback/cpumask",
        "f"
    ),
    file!(
        "workqueue_blkcg",
        "/sys/devices/virtual/workqueue/blkcg_punt_bio/cpumask",
        "f"
    ),
    file!(
        "workqueue_disk",
        "/sys/devices/virtual/workqueue/scsi_tmf_0/cpumask",
        "f"
    ),
    file!(
        "workqueue_other_disk",
        "/sys/devices/virtual/workqueue/scsi_tmf_1/cpumask",
        "8"
    ),
    file!("rq_affinity", "/sys/block/sda/queue/rq_affinity", "1"),
    file!("rps_cpus", "/sys/class/net/lo/queues/rx-0/rps_cpus", "8"),
    file!("rps_flow_cnt", "/sys/class/net/lo/queues/rx-0/rps_flow_cnt", "64"),
    file!("rps_default", "/proc/sys/net/core/rps_default_mask", "8"),
    file!("timer_migration", "/proc/sys/kernel/timer_migration", "0"),
    file!("watchdog_cpumask", "/proc/sys/kernel/watchdog_cpumask", "0-3"),
    file!("watchdog", "/proc/sys/kernel/watchdog_thresh", "10"),
    file!(
        "fair_server",
        "/sys/kernel/debug/sched/fair_server/cpu3/runtime",
        "50000000"
    ),
    file!(
        "ext_server",
        "/sys/kernel/debug/sched/ext_server/cpu3/runtime",
        "50000000"
    ),
    file!("compaction", "/proc/sys/vm/compaction_proactiveness", "20"),
    file!("unevictable", "/proc/sys/vm/compact_unevictable_allowed", "1"),
    file!("rcu_expedited", "/sys/kernel/rcu_expedited", "1"),
    file!("rcu_normal", "/sys/kernel/rcu_normal", "0"),
    file!("numa_balancing", "/proc/sys/kernel/numa_balancing", "1"),
    file!("stat_interval", "/proc/sys/vm/stat_interval", "1"),
    file!("ksm", "/sys/kernel/mm/ksm/run", "1"),
    file!("huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled", "always"),
    file!(
        "huge_pages_defrag",
        "/sys/kernel/mm/transparent_hugepage/defrag",
        "always"
    ),
    file!(
        "khugepaged",
        "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
        "1"
    ),
    file!(
        "machine_checks",
        "/sys/devices/system/machinecheck/machinecheck0/check_interval",
        "300"
    ),
    file!("rt_throttling", "/proc/sys/kernel/sched_rt_runtime_us", "950000"),
    file!(
        "resume_latency",
        "/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us",
        "0"
    ),
    file!("new_interrupts", "/proc/irq/default_smp_affinity", "f"),
    breaks(
        "irq_pinned",
        "echo 3 >/proc/irq/$irq/smp_affinity_list",
        "irq-here",
        "/smp_affinity_list",
    ),
    breaks(
        "irq_everywhere",
        "echo 0-3 >/proc/irq/$irq/smp_affinity_list",
        "irq-here",
        "/smp_affinity_list",
    ),
    breaks(
        "irq_mask",
        "echo 8 >/proc/irq/4/smp_affinity",
        "irq-here",
        "/proc/irq/4/smp_affinity_list",
    ),
    interrupt!("irq_keyboard", "1"),
    interrupt!("irq_clock", "8"),
    interrupt!("irq_acpi", "9"),
    interrupt!("irq_mouse", "12"),
    breaks(
        "v1_root_balances",
        "echo 1 >/sys/fs/cgroup/cpuset/cpuset.sched_load_balance",
        "partition-differs",
        "/cpuset/cpuset.sched_load_balance",
    ),
    breaks(
        "v1_partition_balances",
        "echo 1 >/sys/fs/cgroup/cpuset/rt/cpuset.sched_load_balance",
        "partition-differs",
        "/rt/cpuset.sched_load_balance",
    ),
    breaks(
        "v1_partition_grows",
        "echo 2-3 >/sys/fs/cgroup/cpuset/rt/cpuset.cpus",
        "partition-differs",
        "/rt/cpuset.cpus",
    ),
    breaks(
        "v1_housekeeping_grows",
        "echo 0-3 >/sys/fs/cgroup/cpuset/housekeeping/cpuset.cpus",
        "partition-differs",
        "/housekeeping/cpuset.cpus",
    ),
    breaks(
        "v1_task_in_root",
        "echo $sleeper >/sys/fs/cgroup/cpuset/tasks",
        "task-here",
        "stranger",
    ),
    breaks(
        "v1_kernel_thread",
        "grep -q cpuset:/housekeeping /proc/2/cgroup && echo 2 >/sys/fs/cgroup/cpuset/tasks",
        "task-here",
        "kthreadd",
    ),
    breaks(
        "v1_housekeeping_unbalanced",
        "echo 0 >/sys/fs/cgroup/cpuset/housekeeping/cpuset.sched_load_balance",
        "partition-differs",
        "/housekeeping/cpuset.sched_load_balance",
    ),
    breaks(
        "v1_container",
        "mkdir /sys/fs/cgroup/cpuset/intruder && echo 2-3 >/sys/fs/cgroup/cpuset/intruder/cpuset.cpus",
        "cpuset-overlaps",
        "/intruder/cpuset.cpus",
    ),
    breaks(
        "v2_partition_dissolved",
        "[ -e /sys/fs/cgroup/quietcore-rt ] && echo member >/sys/fs/cgroup/quietcore-rt/cpuset.cpus.partition",
        "partition-invalid",
        "/cpuset.cpus.partition",
    ),
    breaks(
        "v2_partition_balances",
        "[ -e /sys/fs/cgroup/quietcore-rt ] && echo root >/sys/fs/cgroup/quietcore-rt/cpuset.cpus.partition",
        "partition-invalid",
        "/cpuset.cpus.partition",
    ),
    breaks(
        "v2_partition_grows",
        "[ -e /sys/fs/cgroup/quietcore-rt ] && echo 2-3 >/sys/fs/cgroup/quietcore-rt/cpuset.cpus",
        "partition-differs",
        "/quietcore-rt/cpuset.cpus",
    ),
    breaks(
        "v2_container",
        "[ -e /sys/fs/cgroup/quietcore-rt ] && mkdir /sys/fs/cgroup/intruder && echo 2-3 >/sys/fs/cgroup/intruder/cpuset.cpus; \
         grep -q invalid /sys/fs/cgroup/quietcore-rt/cpuset.cpus.partition",
        "partition-invalid",
        "/cpuset.cpus.partition",
    ),
    breaks(
        "v2_controller_off",
        "[ -e /sys/fs/cgroup/quietcore-rt ] && echo -cpuset >/sys/fs/cgroup/cgroup.subtree_control",
        "partition-differs",
        "/cgroup.subtree_control",
    ),
    breaks(
        "v2_kernel_thread",
        "[ -e /sys/fs/cgroup/quietcore-rt ] && taskset -pc 3 2 && taskset -pc 2 | grep -q 3$",
        "task-here",
        "kthreadd",
    ),
];
