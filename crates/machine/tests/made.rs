//! Machines that are made here, file by file, for what no captured one shows.
#![allow(clippy::unwrap_used)]

use machine::{CoreKind, CpuId, CpuSet, Machine, Owner, Preemption, Version};
use root::Root;
use std::path::Path;

struct Made {
    dir: tempfile::TempDir,
}

impl Made {
    fn new(files: &[(&str, &str)]) -> Made {
        let made = Made {
            dir: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(made.dir.path().join("proc")).unwrap();
        for (path, content) in files {
            made.file(path, content);
        }
        made
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.dir.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn mode(&self, path: &str, mode: u32) {
        let path = self.dir.path().join(path.trim_start_matches('/'));
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }

    fn root(&self) -> Root {
        Root::open(self.dir.path()).unwrap()
    }

    fn read(&self) -> Machine {
        Machine::read(&self.root())
    }
}

const CPU: &str = "/sys/devices/system/cpu";

fn list(text: &str) -> Option<CpuSet> {
    Some(CpuSet::parse_list(text).unwrap())
}

#[test]
fn an_empty_machine_is_all_unknown() {
    let machine = Made::new(&[]).read();
    assert_eq!(machine.kernel, machine::Kernel::default());
    assert_eq!(machine.topology, machine::Topology::default());
    assert_eq!(machine.isolation, machine::Isolation::default());
    assert_eq!(machine.cgroups, machine::Cgroups::default());
    assert_eq!(machine.unreadable, []);
    let made = Made::new(&[]);
    let machine = made
        .read()
        .with_tasks(&made.root())
        .with_task_cgroups(&made.root())
        .with_interrupts(&made.root());
    assert_eq!((machine.tasks, machine.interrupts), (None, None));
}

#[test]
fn only_cpus_0_and_2() {
    let made = Made::new(&[
        (&format!("{CPU}/online"), "0,2\n"),
        (&format!("{CPU}/present"), "0,2\n"),
        (&format!("{CPU}/possible"), "0-3\n"),
        (&format!("{CPU}/cpu0/topology/thread_siblings"), "1\n"),
        (
            &format!("{CPU}/cpu2/topology/thread_siblings"),
            "00000000,00000004\n",
        ),
    ]);
    let topology = made.read().topology;
    let ids: Vec<_> = topology.cpus.iter().map(|cpu| cpu.id.0).collect();
    assert_eq!(ids, [0, 2]);
    assert_eq!(topology.cpu(CpuId(2)).unwrap().siblings, list("2"));
    assert_eq!(topology.cpu(CpuId(1)), None);
    assert_eq!(topology.width(), 4);
    assert_eq!(
        (topology.cpus[0].package, topology.cpus[0].llc.as_ref()),
        (None, None)
    );
}

#[test]
fn without_topology_files_cpuinfo_tells() {
    let cpuinfo: String = [(0, 0, 0), (1, 1, 0), (2, 0, 0), (3, 1, 0)]
        .map(|(cpu, package, core)| {
            format!("processor\t: {cpu}\nphysical id\t: {package}\ncore id\t: {core}\n\n")
        })
        .concat();
    let topology = Made::new(&[("/proc/cpuinfo", &cpuinfo)]).read().topology;
    assert_eq!(topology.online.to_string(), "0-3");
    assert_eq!(topology.packages().len(), 2);
    assert_eq!(topology.cpus[0].siblings, list("0,2"));
    // The topology of the files wins where there is any.
    let made = Made::new(&[
        ("/proc/cpuinfo", &cpuinfo),
        (&format!("{CPU}/cpu0/topology/core_id"), "7"),
    ]);
    assert_eq!(made.read().topology.cpus[1].package, None);
}

#[test]
fn broken_sets_are_unknown() {
    let made = Made::new(&[
        (&format!("{CPU}/online"), "0-1"),
        (&format!("{CPU}/cpu0/topology/core_cpus_list"), "garbage"),
        (&format!("{CPU}/cpu0/topology/thread_siblings_list"), "0-1"),
        (&format!("{CPU}/cpu1/topology/core_cpus_list"), "0"),
        (&format!("{CPU}/cpu1/topology/physical_package_id"), "-1"),
        (&format!("{CPU}/cpu1/topology/die_id"), "4294967295"),
    ]);
    let machine = made.read();
    assert_eq!(
        machine.topology.cpus[0].siblings,
        list("0-1"),
        "the older name still tells"
    );
    let one = &machine.topology.cpus[1];
    assert_eq!((one.siblings.as_ref(), one.package, one.die), (None, None, None));
    assert_eq!(machine.unreadable.len(), 1, "{:?}", machine.unreadable);
    assert!(
        machine.unreadable[0]
            .path
            .ends_with("cpu0/topology/core_cpus_list")
    );
}

#[test]
fn kinds_of_core() {
    let intel = Made::new(&[
        (&format!("{CPU}/online"), "0-5"),
        ("/sys/devices/cpu_core/cpus", "0-3"),
        ("/sys/devices/cpu_atom/cpus", "4-5"),
    ]);
    let kinds = |made: &Made| {
        made.read()
            .topology
            .cpus
            .iter()
            .map(|cpu| cpu.kind)
            .collect::<Vec<_>>()
    };
    let (big, small) = (Some(CoreKind::Performance), Some(CoreKind::Efficiency));
    assert_eq!(kinds(&intel), [big, big, big, big, small, small]);
    let arm = Made::new(&[(&format!("{CPU}/online"), "0-2")]);
    for (cpu, capacity) in [(0, "446"), (1, "1024"), (2, "762")] {
        arm.file(&format!("{CPU}/cpu{cpu}/cpu_capacity"), capacity);
    }
    assert_eq!(kinds(&arm), [small, big, small]);
    // Equal cores with two base frequencies (Speed Select) are of one kind.
    let xeon = Made::new(&[(&format!("{CPU}/online"), "0-1")]);
    for (cpu, base) in [(0, "2000000"), (1, "2400000")] {
        xeon.file(&format!("{CPU}/cpu{cpu}/cpufreq/base_frequency"), base);
        xeon.file(
            &format!("{CPU}/cpu{cpu}/topology/core_cpus_list"),
            &cpu.to_string(),
        );
    }
    assert_eq!(kinds(&xeon), [None, None]);
}

#[test]
fn nodes_without_memory_or_cpus() {
    let node = "/sys/devices/system/node";
    let made = Made::new(&[
        (&format!("{CPU}/online"), "0-1"),
        (&format!("{node}/node0/cpulist"), "0-1"),
        (&format!("{node}/node0/meminfo"), "Node 0 MemTotal:       0 kB\n"),
        (&format!("{node}/node2/cpulist"), "\n"),
        (
            &format!("{node}/node2/meminfo"),
            "Node 2 MemTotal:    1024 kB\nNode 2 MemFree: 1 kB\n",
        ),
        (&format!("{node}/node2/distance"), "20 10\n"),
    ]);
    let topology = made.read().topology;
    let told: Vec<_> = topology
        .nodes
        .iter()
        .map(|node| (node.id, node.cpus.len(), node.has_memory))
        .collect();
    assert_eq!(told, [(0, 2, Some(false)), (2, 0, Some(true))]);
    assert_eq!(
        topology.memory_nodes().map(|node| node.id).collect::<Vec<_>>(),
        [2]
    );
    made.file(&format!("{node}/has_memory"), "0");
    assert_eq!(
        made.read()
            .topology
            .memory_nodes()
            .map(|node| node.id)
            .collect::<Vec<_>>(),
        [0]
    );
}

#[test]
fn preemption_from_the_surest_source() {
    let version = |words: &str| format!("Linux version 6.18.1 (x@y) #1 SMP {words} Tue\n");
    let check = |files: &[(&str, &str)], expected: Option<Preemption>| {
        assert_eq!(
            Made::new(files).read().kernel.preemption,
            expected,
            "of {files:?}"
        );
    };
    let dynamic = version("PREEMPT_DYNAMIC");
    let config = (
        "/boot/config-6.18.1",
        "CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
    );
    let release = ("/proc/sys/kernel/osrelease", "6.18.1\n");
    let debug = "/sys/kernel/debug/sched/preempt";
    check(&[("/proc/version", &dynamic)], None);
    check(
        &[
            ("/proc/version", &dynamic),
            ("/proc/cmdline", "quiet preempt=full"),
        ],
        Some(Preemption::Full),
    );
    check(
        &[("/proc/version", &dynamic), release, config],
        Some(Preemption::None),
    );
    check(
        &[
            ("/proc/version", &dynamic),
            release,
            config,
            ("/proc/cmdline", "preempt=lazy"),
        ],
        Some(Preemption::Lazy),
    );
    check(
        &[
            ("/proc/version", &dynamic),
            release,
            config,
            ("/proc/cmdline", "preempt=what"),
        ],
        Some(Preemption::None),
    );
    check(
        &[("/proc/version", &dynamic), (debug, "none (voluntary) full\n")],
        Some(Preemption::Voluntary),
    );
    check(
        &[("/proc/version", &version("PREEMPT_RT")), (debug, "none (full)")],
        Some(Preemption::Rt),
    );
    check(&[("/sys/kernel/realtime", "1\n")], Some(Preemption::Rt));
    check(
        &[
            ("/proc/version", &version("")),
            release,
            ("/boot/config-6.18.1", "CONFIG_PREEMPT_VOLUNTARY=y"),
        ],
        Some(Preemption::Voluntary),
    );
}

#[test]
fn isolation_by_boot_line() {
    let made = Made::new(&[
        (&format!("{CPU}/possible"), "0-7"),
        (&format!("{CPU}/online"), "0-7"),
        (&format!("{CPU}/isolated"), "6-7\n"),
        (&format!("{CPU}/nohz_full"), "  (null)\n"),
        ("/proc/cmdline", "isolcpus=6-7 rcu_nocbs=4-N irqaffinity=1-3\n"),
        ("/proc/irq/default_smp_affinity", "0f\n"),
        ("/sys/devices/virtual/workqueue/cpumask", "3f\n"),
    ]);
    let isolation = made.read().isolation;
    assert_eq!(isolation.boot_isolated, list("6-7"));
    assert_eq!(isolation.nohz_full, list(""));
    assert_eq!(isolation.rcu_nocbs, list("4-7"));
    assert_eq!(isolation.irqaffinity, list("0-3"), "the kernel adds the boot CPU");
    assert_eq!(isolation.default_smp_affinity, list("0-3"));
    assert_eq!(isolation.workqueue_cpumask, list("0-5"));
    made.file(&format!("{CPU}/nohz_full"), "2-3\n");
    assert_eq!(
        made.read().isolation.rcu_nocbs,
        list("2-7"),
        "nohz_full implies it"
    );
}

#[test]
fn partitions_of_v2() {
    let base = "/sys/fs/cgroup";
    let made = Made::new(&[
        (
            "/proc/self/mountinfo",
            "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n",
        ),
        (&format!("{base}/cgroup.controllers"), "cpuset cpu io memory\n"),
        (&format!("{base}/cpuset.cpus.effective"), "0-5\n"),
        (&format!("{base}/cpuset.cpus.isolated"), "6-7\n"),
        (&format!("{base}/rt.slice/cpuset.cpus"), "6-7\n"),
        (&format!("{base}/rt.slice/cpuset.cpus.partition"), "isolated\n"),
        (&format!("{base}/rt.slice/deep/cpuset.cpus"), "\n"),
        (&format!("{base}/rt.slice/deep/cpuset.cpus.partition"), "member\n"),
        (&format!("{base}/bad/cpuset.cpus"), "1\n"),
        (
            &format!("{base}/bad/cpuset.cpus.partition"),
            "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n",
        ),
        (&format!("{base}/system.slice/memory.max"), "max\n"),
        (&format!("{base}/system.slice/docker-abc.scope/cpuset.cpus"), "\n"),
        (&format!("{base}/kubepods.slice/memory.max"), "max\n"),
        ("/proc/1/comm", "systemd\n"),
    ]);
    let machine = made.read();
    let tree = machine.cgroups.cpuset.as_ref().unwrap();
    assert_eq!(
        (tree.version, tree.prefix.as_str(), tree.read_only),
        (Version::V2, "cpuset.", false)
    );
    let names: Vec<_> = tree.sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(
        names,
        ["/", "/bad", "/rt.slice", "/rt.slice/deep"],
        "none without the controller"
    );
    assert_eq!(machine.isolation.cpuset_isolated, list("6-7"));
    let taken: Vec<_> = machine
        .isolation
        .partitions
        .iter()
        .map(|set| set.name.as_str())
        .collect();
    assert_eq!(taken, ["/bad", "/rt.slice"]);
    assert_eq!(
        machine.cgroups.owners,
        [Owner::Systemd, Owner::Docker, Owner::Kubernetes]
    );
    // Without the controller in it, v2 has no cpusets.
    made.file(&format!("{base}/cgroup.controllers"), "cpu io memory\n");
    assert_eq!(made.read().cgroups.cpuset, None);
}

#[test]
fn partitions_of_v1() {
    let base = "/sys/fs/cgroup/cpuset";
    let made = Made::new(&[
        (
            "/proc/self/mountinfo",
            "30 1 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
             31 1 0:27 /docker/abc /mnt/part rw - cgroup cgroup rw,cpuset\n\
             32 1 0:27 / /sys/fs/cgroup/cpuset ro,nosuid - cgroup cgroup rw,cpuset,noprefix,cpuset_v2_mode\n",
        ),
        (&format!("{base}/cpus"), "0-3\n"),
        (&format!("{base}/sched_load_balance"), "0\n"),
        (&format!("{base}/system/cpus"), "0-2\n"),
        (&format!("{base}/system/sched_load_balance"), "1\n"),
        (&format!("{base}/user/cpus"), "3\n"),
        (&format!("{base}/user/sched_load_balance"), "0\n"),
        (&format!("{base}/user/cpu_exclusive"), "1\n"),
    ]);
    let machine = made.read();
    let tree = machine.cgroups.cpuset.as_ref().unwrap();
    // A mount that can be written is better than one of the whole tree that cannot.
    assert_eq!((tree.mount.as_str(), tree.read_only), ("/mnt/part", false));
    made.file(
        "/proc/self/mountinfo",
        "32 1 0:27 / /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset,noprefix,cpuset_v2_mode\n",
    );
    let machine = made.read();
    let tree = machine.cgroups.cpuset.as_ref().unwrap();
    assert!(tree.read_only && tree.v2_mode && tree.prefix.is_empty());
    assert_eq!(tree.file("/user", "cpus"), "/sys/fs/cgroup/cpuset/user/cpus");
    let taken: Vec<_> = machine
        .isolation
        .partitions
        .iter()
        .map(|set| set.name.as_str())
        .collect();
    assert_eq!(taken, ["/user"]);
    assert_eq!(machine.cgroups.owners, [Owner::Cset]);
}

#[test]
fn guests_and_their_hosts() {
    let guest = |files: &[(&str, &str)]| Made::new(files).read().topology.hypervisor;
    let flags = (
        "/proc/cpuinfo",
        "processor : 0\nmodel name : Some CPU\nflags : fpu hypervisor\n",
    );
    let clock = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    assert_eq!(guest(&[]), None);
    assert_eq!(guest(&[flags]).as_deref(), Some("unknown"));
    assert_eq!(
        guest(&[flags, ("/sys/class/dmi/id/sys_vendor", "QEMU\n")]).as_deref(),
        Some("qemu")
    );
    assert_eq!(
        guest(&[flags, (clock, "kvm-clock tsc\n")]).as_deref(),
        Some("kvm")
    );
    assert_eq!(
        guest(&[("/sys/hypervisor/type", "xen\n")]).as_deref(),
        Some("xen")
    );
    let tcg = (
        "/proc/cpuinfo",
        "processor : 0\nmodel name : QEMU TCG CPU version 2.5+\nflags : hypervisor\n",
    );
    assert_eq!(
        guest(&[tcg, ("/sys/class/dmi/id/sys_vendor", "QEMU\n")]).as_deref(),
        Some("tcg")
    );
    let dummy = ("/proc/device-tree/compatible", "linux,dummy-virt\0");
    assert_eq!(guest(&[dummy]).as_deref(), Some("qemu"));
    let emulated = ("/proc/cpuinfo", "processor : 0\nCPU implementer : 0x00\n");
    assert_eq!(guest(&[dummy, emulated]).as_deref(), Some("tcg"));
}

#[test]
fn interrupts_that_the_kernel_manages() {
    let made = Made::new(&[
        ("/proc/sys/kernel/osrelease", "6.12.3\n"),
        (
            "/proc/interrupts",
            "      CPU0  CPU2\n 24:  1  0  PCI-MSI  0-edge      nvme0q1\nNMI:  3  4  Non-maskable\n",
        ),
        ("/proc/irq/24/smp_affinity", "1\n"),
        ("/proc/irq/24/smp_affinity_list", "0\n"),
        ("/proc/irq/24/effective_affinity", "1\n"),
        ("/proc/irq/9/smp_affinity", "5\n"),
        ("/proc/irq/default_smp_affinity", "5\n"),
    ]);
    made.mode("/proc/irq/24/smp_affinity", 0o444);
    let read = || made.read().with_interrupts(&made.root()).interrupts.unwrap();
    let all = read();
    assert_eq!(all.iter().map(|one| one.irq).collect::<Vec<_>>(), [9, 24]);
    assert_eq!(
        (all[0].name.as_str(), all[0].affinity.as_ref(), all[0].managed),
        ("", list("0,2").as_ref(), Some(false))
    );
    assert_eq!(
        (all[1].name.as_str(), all[1].effective.as_ref(), all[1].managed),
        ("nvme0q1", list("0").as_ref(), Some(true))
    );
    made.file("/proc/sys/kernel/osrelease", "6.1.0\n");
    assert_eq!(read()[1].managed, None, "older kernels do not tell by the mode");
    made.file(
        "/sys/kernel/debug/irq/irqs/24",
        "dstate: 0x1\n    IRQD_AFFINITY_MANAGED\n",
    );
    made.file("/sys/kernel/debug/irq/irqs/9", "dstate: 0x1\n");
    assert_eq!(
        read().iter().map(|one| one.managed).collect::<Vec<_>>(),
        [Some(false), Some(true)]
    );
}

#[test]
fn tasks_of_a_captured_machine() {
    let stat = |tid: u32, comm: &str, start: u32| {
        format!(
            "{tid} ({comm}) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n"
        )
    };
    let made = Made::new(&[
        ("/proc/7/task/7/stat", &stat(7, "a b) (c", 70)),
        ("/proc/7/task/7/status", "Cpus_allowed_list:\t1-2\n"),
        ("/proc/7/task/7/cgroup", "0::/x\n"),
        ("/proc/7/task/9/stat", &stat(9, "second", 90)),
        ("/proc/8/task/8/stat", "torn"),
        ("/proc/fs/nothing", ""),
    ]);
    let machine = made.read().with_task_cgroups(&made.root());
    let tasks = machine.tasks.unwrap();
    let told: Vec<_> = tasks
        .iter()
        .map(|task| (task.pid, task.key.tid, task.comm.as_str()))
        .collect();
    assert_eq!(told, [(7, 7, "a b) (c"), (7, 9, "second")]);
    assert_eq!(
        (tasks[0].allowed.clone(), tasks[0].cgroup.as_deref()),
        (list("1-2"), Some("/x"))
    );
    assert_eq!(
        (tasks[1].allowed.clone(), tasks[1].cgroup.as_deref()),
        (None, None)
    );
    assert_eq!(machine.unreadable.len(), 1);
    assert!(Path::new(&machine.unreadable[0].path).ends_with("8/stat"));
}

#[test]
fn many_processes_are_shared_and_none_is_lost() {
    let made = Made::new(&[]);
    for pid in 1..=300 {
        made.file(
            &format!("/proc/{pid}/task/{pid}/stat"),
            &format!("{pid} (p) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n"),
        );
    }
    let tasks = machine::tasks::read(&made.root()).unwrap();
    assert!(tasks.iter().map(|task| task.key.tid).eq(1..=300));
}
