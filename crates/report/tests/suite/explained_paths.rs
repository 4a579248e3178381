//! `explain PATH`: the file of one CPU, interrupt, disk, queue or cgroup is matched with its knob or setting; so is a title
//! of `plan`.

use machine::{CpuSet, Interrupt};
use report::explain::{Surroundings, explain};

/// No machine: the path is explained without reading it.
struct NoMachine;

impl Surroundings for NoMachine {
    fn interrupt(&self, _: u32) -> Option<Interrupt> {
        None
    }

    fn cpus(&self) -> Option<(CpuSet, CpuSet)> {
        None
    }

    fn has_thread(&self, _: &str) -> Option<bool> {
        None
    }

    fn lacks_managed_irq(&self) -> bool {
        false
    }
}

/// `plan` and `apply` show the names of knobs with blanks.
#[test]
fn a_knob_as_plan_shows_it_is_explained() {
    for knob in plan::KNOBS {
        let shown = knob.name.replace('_', " ");
        let entries = explain(&shown, &NoMachine).unwrap_or_else(|near| panic!("{shown}: {near:?}"));
        assert!(entries.iter().any(|entry| entry.name == knob.name), "{shown}");
    }
}

#[test]
fn a_path_of_one_cpu_or_device_finds_its_knob() {
    let cpu = "/sys/devices/system/cpu";
    let check = |path: &str, kind: &str, names: &[&str]| {
        let entries = explain(path, &NoMachine).unwrap_or_else(|near| panic!("{path}: {near:?}"));
        let found: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(found, names, "{path}");
        assert!(entries.iter().all(|entry| entry.kind == kind), "{path}");
    };
    for (path, knob) in [
        (
            &*format!("{cpu}/cpu3/power/pm_qos_resume_latency_us"),
            "pm_qos_resume_latency_us",
        ),
        (&*format!("{cpu}/cpu3/cpuidle/state2/disable"), "cpuidle_disable"),
        (&*format!("{cpu}/cpu3/cpufreq/scaling_governor"), "scaling_governor"),
        (&*format!("{cpu}/cpufreq/policy3/scaling_min_freq"), "scaling_min_freq"),
        (&*format!("{cpu}/cpu3/online"), "cpu_offline"),
        ("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "fair_server"),
        ("/proc/irq/47/smp_affinity_list", "irq_affinity"),
        ("/proc/irq/47/smp_affinity", "irq_affinity"),
        ("/sys/block/nvme0n1/queue/rq_affinity", "rq_affinity"),
        (
            "/sys/devices/pci0000:00/0000:00:05.0/ata1/block/sda/queue/rq_affinity",
            "rq_affinity",
        ),
        ("/sys/class/net/eth0/queues/rx-11/rps_cpus", "rps_cpus"),
        ("/sys/devices/virtual/net/lo/queues/tx-0/xps_cpus", "xps_cpus"),
        ("/sys/devices/virtual/workqueue/scsi_tmf_0/cpumask", "wq_sysfs_cpumask"),
        ("/sys/bus/workqueue/devices/writeback/numa", "writeback_numa"),
        ("/sys/fs/cgroup/rt/cpuset.cpus.partition", "cpuset_partition"),
        ("/run/irqbalance/irqbalance812.sock", "irqbalance"),
        ("/proc/sys/kernel/soft_watchdog", "watchdog"),
    ] {
        check(path, "knob", &[knob]);
    }
    check("/sys/class/net/eth0/threaded", "setting", &["napi_threaded"]);
    check(
        "/sys/fs/cgroup/a.slice/b/cpuset.cpus.exclusive",
        "setting",
        &["cpuset.cpus.exclusive"],
    );
    for unknown in [
        "/sys/devices/system/cpu/cpu3/power/async",
        "/sys/devices/system/cpu/cpu3",
        "/proc/irq//smp_affinity_list",
        "/sys/block/a/b/queue/rq_affinity",
    ] {
        assert!(explain(unknown, &NoMachine).is_err(), "{unknown}");
    }
}
