//! `diff` of captured machines that differ in one thing: the meaning of each change and its report.

use machine::{CpuSet, Machine};
use plan::Level;
use plan::diff::{Diff, MachineReading, diff};
use root::Root;
use std::collections::BTreeMap;

/// The files of a machine.
#[derive(Clone)]
struct DiffMachine(BTreeMap<String, String>);

const CPU: &str = "/sys/devices/system/cpu";
const SETS: &str = "/sys/fs/cgroup/cpuset";

impl DiffMachine {
    /// Four CPUs, of which 2-3 are isolated by the command line and by a v1 partition, one disk, two interrupts, some
    /// tasks.
    fn base() -> DiffMachine {
        let mut files = DiffMachine(BTreeMap::new());
        let plain = [
            ("/proc/version", "Linux version 6.12.0-rt (x) #1 SMP PREEMPT_RT"),
            ("/proc/sys/kernel/osrelease", "6.12.0-rt"),
            ("/proc/sys/kernel/random/boot_id", "one"),
            ("/proc/cmdline", "root=/dev/sda isolcpus=2-3 irqaffinity=0 quiet"),
            ("/proc/cpuinfo", "model name\t: Machine A\n"),
            (
                "/proc/interrupts",
                "      CPU0 CPU1 CPU2 CPU3\n 47: 1 0 0 0 PCI-MSI 1-edge      ahci\n 48: 1 0 0 0 PCI-MSI 2-edge      eth0\n",
            ),
            ("/proc/irq/47/smp_affinity_list", "0"),
            ("/proc/irq/47/effective_affinity_list", "0"),
            ("/proc/irq/48/smp_affinity_list", "0-3"),
            ("/proc/irq/48/effective_affinity_list", "0"),
            ("/proc/irq/default_smp_affinity", "3"),
            (
                "/proc/self/mountinfo",
                "1 2 0:3 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
            ),
            ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
            ("/proc/sys/kernel/watchdog_cpumask", "0-1"),
            ("/sys/devices/virtual/workqueue/cpumask", "3"),
            ("/sys/block/sda/queue/rq_affinity", "2"),
            ("/sys/block/sda/queue/scheduler", "[none] mq-deadline"),
            ("/sys/class/net/eth0/queues/rx-0/rps_cpus", "1"),
        ];
        plain.iter().for_each(|(path, text)| files.set(path, text));
        for name in ["online", "present", "possible"] {
            files.set(&format!("{CPU}/{name}"), "0-3");
        }
        files.set(&format!("{CPU}/isolated"), "2-3");
        for cpu in 0..4 {
            files.set(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor"), "performance");
        }
        for (set, cpus, balance) in [("", "0-3", "0"), ("/rt", "2-3", "0"), ("/docker", "0-1", "1")] {
            files.set(&format!("{SETS}{set}/cpuset.cpus"), cpus);
            files.set(&format!("{SETS}{set}/cpuset.sched_load_balance"), balance);
        }
        files.task(1, "init", "0-1", 0);
        files.task(90, "rtapi", "2-3", 0);
        files.task(31, "kworker/2:0", "2", 0x0420_0000);
        files
    }

    fn set(&mut self, path: &str, text: &str) {
        self.0.insert(path.to_owned(), text.to_owned());
    }

    fn with(&self, path: &str, text: &str) -> DiffMachine {
        let mut changed = self.clone();
        changed.set(path, text);
        changed
    }

    fn with_task(&self, tid: u32, comm: &str, allowed: &str) -> DiffMachine {
        let mut changed = self.clone();
        changed.task(tid, comm, allowed, 0);
        changed
    }

    fn without(&self, part: &str) -> DiffMachine {
        let kept = self.0.iter().filter(|(path, _)| !path.contains(part));
        DiffMachine(kept.map(|(path, text)| (path.clone(), text.clone())).collect())
    }

    fn task(&mut self, tid: u32, comm: &str, allowed: &str, flags: u32) {
        let dir = format!("/proc/{tid}/task/{tid}");
        let stat = format!(
            "{tid} ({comm}) S 1 {tid} {tid} 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
            start = 100 + tid
        );
        self.set(&format!("{dir}/stat"), &stat);
        self.set(
            &format!("{dir}/status"),
            &format!("Name:\t{comm}\nCpus_allowed_list:\t{allowed}"),
        );
    }

    fn read(&self) -> MachineReading {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in &self.0 {
            let path = dir.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        let root = Root::open(dir.path()).unwrap();
        MachineReading {
            machine: Machine::read(&root).with_tasks(&root).with_interrupts(&root),
            settings: machine::settings::read(&root, plan::knobs::compared()),
            own_pid: None,
        }
    }
}

fn levels_and_subjects(diff: &Diff) -> Vec<(Level, &str)> {
    diff.changes
        .iter()
        .map(|change| (change.level, change.message.as_str()))
        .collect()
}

#[test]
fn each_single_change_is_reported_with_its_level() {
    let base = DiffMachine::base();
    let before = base.read();
    let check = |after: &DiffMachine, level: Level, message: &str| {
        let found = diff(&before, &after.read(), None);
        assert_eq!(levels_and_subjects(&found), [(level, message)]);
        assert_eq!(found.isolated.to_string(), "2-3");
        assert_eq!(found.different_machines, [] as [String; 0]);
    };
    let line = |text: &str| base.with("/proc/cmdline", text);
    use Level::{Error, Info, Warning};
    check(
        &base.with("/proc/irq/47/smp_affinity_list", "2"),
        Error,
        "IRQ 47 ahci: CPU 0 -> 2",
    );
    check(
        &base.with("/proc/irq/47/smp_affinity_list", "1"),
        Info,
        "IRQ 47 ahci: CPU 0 -> 1",
    );
    check(
        &base.with("/proc/irq/48/effective_affinity_list", "3"),
        Error,
        "IRQ 48 eth0 fires on CPU 0 -> 3",
    );
    check(
        &base.with("/proc/irq/48/smp_affinity_list", "0-1"),
        Info,
        "IRQ 48 eth0: CPU 0-3 -> 0-1",
    );
    check(
        &base.with("/proc/irq/default_smp_affinity", "f"),
        Error,
        "new interrupts may use CPU 0-1 -> 0-3",
    );
    let queues = base.with("/sys/devices/virtual/workqueue/cpumask", "7");
    check(&queues, Error, "unbound workqueues may use CPU 0-1 -> 0-2");
    check(
        &line("root=/dev/sda isolcpus=2-3 quiet"),
        Error,
        "boot line lost irqaffinity=0",
    );
    check(
        &line("root=/dev/sda isolcpus=2-3 irqaffinity=0"),
        Info,
        "boot line lost quiet",
    );
    let three = line("root=/dev/sda isolcpus=3 irqaffinity=0 quiet");
    check(&three, Error, "boot line: isolcpus=2-3 -> isolcpus=3");
    check(&base.with(&format!("{CPU}/online"), "0-2"), Error, "CPU 3 went offline");
    check(
        &base.with(&format!("{CPU}/isolated"), "2"),
        Error,
        "CPUs isolated at boot: 2-3 -> 2",
    );
    check(
        &base.with("/proc/sys/kernel/osrelease", "6.13.0"),
        Warning,
        "kernel: 6.12.0-rt -> 6.13.0",
    );
    check(
        &base.with("/sys/block/sda/queue/rq_affinity", "1"),
        Warning,
        "rq_affinity of sda: 2 -> 1",
    );
    let other = base.with("/sys/block/sda/queue/scheduler", "none [mq-deadline]");
    check(&other, Info, "scheduler of sda: none -> mq-deadline");
    let rps = base.with("/sys/class/net/eth0/queues/rx-0/rps_cpus", "f");
    check(&rps, Error, "rps_cpus of eth0 rx-0: CPU 0 -> 0-3");
    let governor = |cpu: u32| format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor");
    let both = base.with(&governor(2), "powersave").with(&governor(3), "powersave");
    check(&both, Error, "scaling_governor of CPU 2-3: performance -> powersave");
    check(
        &base.with(&governor(0), "powersave"),
        Info,
        "scaling_governor of CPU 0: performance -> powersave",
    );
    let sysctl = base.with("/proc/sys/kernel/sched_rt_runtime_us", "-1");
    check(&sysctl, Warning, "kernel.sched_rt_runtime_us: 950000 -> -1");
    check(
        &base.with("/proc/sys/kernel/watchdog_cpumask", "0-3"),
        Error,
        "kernel.watchdog_cpumask: CPU 0-1 -> 0-3",
    );
    check(
        &base.without("cpuset/rt/"),
        Error,
        "partition /rt with CPU 2-3 no longer exists",
    );
    let balanced = base.with(&format!("{SETS}/rt/cpuset.sched_load_balance"), "1");
    check(&balanced, Error, "sched_load_balance of cpuset /rt: 0 -> 1");
    check(
        &base.with(&format!("{SETS}/docker/cpuset.cpus"), "0-2"),
        Error,
        "cpuset /docker: CPU 0-1 -> 0-2",
    );
    check(
        &base.with_task(31594, "fio", "3"),
        Warning,
        "new thread fio/31594 may run on 3",
    );
    check(&base.with_task(31594, "fio", "0-1"), Info, "other new threads: 1");
    check(
        &base.with_task(1, "init", "0-2"),
        Error,
        "thread init/1 may run on 0-1 -> 0-2",
    );
    check(
        &base.without("/proc/90/"),
        Info,
        "thread rtapi/90, which was allowed on 2-3, has ended",
    );
}

#[test]
fn programs_that_change_settings_are_reported_first() {
    let base = DiffMachine::base();
    let found = diff(&base.read(), &base.with_task(400, "irqbalance", "0-1").read(), None);
    let appeared = (Level::Warning, "irqbalance was started: it changes settings by itself");
    assert_eq!(levels_and_subjects(&found).first(), Some(&appeared));
}

#[test]
fn equal_or_unknown_facts_are_no_changes() {
    let base = DiffMachine::base();
    assert_eq!(levels_and_subjects(&diff(&base.read(), &base.read(), None)), []);
    // Files that are missing on one side are not reported as changed.
    let nothing = DiffMachine(BTreeMap::from([("/proc/version".to_owned(), "x".to_owned())]));
    assert_eq!(levels_and_subjects(&diff(&base.read(), &nothing.read(), None)), []);
    assert_eq!(levels_and_subjects(&diff(&nothing.read(), &base.read(), None)), []);
}

#[test]
fn after_a_reboot_tasks_and_interrupts_are_compared_by_name() {
    let base = DiffMachine::base();
    let mut after = base
        .with("/proc/sys/kernel/random/boot_id", "two")
        .without("/proc/90/")
        .without("/irq/47/");
    after.task(191, "rtapi", "2-3", 0);
    let table = base.0.get("/proc/interrupts").unwrap().replace(" 47:", " 60:");
    after.set("/proc/interrupts", &table);
    after.set("/proc/irq/60/smp_affinity_list", "2");
    let found = diff(&base.read(), &after.read(), None);
    let expected = [
        (Level::Error, "IRQ 60 ahci: CPU 0 -> 2"),
        (Level::Info, "the machine was restarted between the two readings"),
    ];
    assert_eq!(levels_and_subjects(&found), expected);
}

#[test]
fn the_compared_cpus_can_be_given() {
    let base = DiffMachine::base();
    let moved = base.with("/proc/irq/47/smp_affinity_list", "1");
    let one = CpuSet::parse_list("1").unwrap();
    let found = diff(&base.read(), &moved.read(), Some(&one));
    assert_eq!(levels_and_subjects(&found), [(Level::Error, "IRQ 47 ahci: CPU 0 -> 1")]);
    let change = found.changes.first().unwrap();
    assert_eq!(
        (change.id.as_str(), change.subject.as_str()),
        ("irq-affinity", "irq/47")
    );
    assert_eq!(
        (change.before.as_deref(), change.after.as_deref()),
        (Some("0"), Some("1"))
    );
}

#[test]
fn different_machines_are_recognized() {
    let base = DiffMachine::base();
    let other = base
        .with("/proc/cpuinfo", "model name\t: Machine B\n")
        .with(&format!("{CPU}/present"), "0-7");
    let found = diff(&base.read(), &other.read(), None);
    assert_eq!(
        found.different_machines,
        ["processor: Machine A -> Machine B", "CPUs plugged in: 0-3 -> 0-7"]
    );
}
