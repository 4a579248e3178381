//! Topologies and kernels that no captured machine has.

use super::{CPU, MachineFixture, list};
use machine::{CoreKind, CpuId, Preemption};

#[test]
fn everything_is_unknown_on_an_empty_machine() {
    let machine = MachineFixture::new(&[]).read();
    assert_eq!(machine.kernel, machine::Kernel::default());
    assert_eq!(machine.topology, machine::Topology::default());
    assert_eq!(machine.isolation, machine::Isolation::default());
    assert_eq!(machine.cgroups, machine::Cgroups::default());
    assert_eq!(machine.unreadable, []);
    let made = MachineFixture::new(&[]);
    let machine = made
        .read()
        .with_tasks(&made.root())
        .with_task_cgroups(&made.root())
        .with_interrupts(&made.root());
    assert_eq!((machine.tasks, machine.interrupts), (None, None));
}

#[test]
fn gaps_in_cpu_numbers_are_handled() {
    let made = MachineFixture::new(&[
        (&format!("{CPU}/online"), "0,2\n"),
        (&format!("{CPU}/present"), "0,2\n"),
        (&format!("{CPU}/possible"), "0-3\n"),
        (&format!("{CPU}/cpu0/topology/thread_siblings"), "1\n"),
        (&format!("{CPU}/cpu2/topology/thread_siblings"), "00000000,00000004\n"),
    ]);
    let topology = made.read().topology;
    let ids: Vec<_> = topology.cpus.iter().map(|cpu| cpu.id.0).collect();
    assert_eq!(ids, [0, 2]);
    assert_eq!(topology.cpu(CpuId(2)).unwrap().siblings, list("2"));
    assert_eq!(topology.cpu(CpuId(1)), None);
    assert_eq!(topology.width(), 4);
    assert_eq!((topology.cpus[0].package, topology.cpus[0].llc.as_ref()), (None, None));
}

#[test]
fn without_topology_files_cpuinfo_is_used() {
    let cpuinfo: String = [(0, 0, 0), (1, 1, 0), (2, 0, 0), (3, 1, 0)]
        .map(|(cpu, package, core)| format!("processor\t: {cpu}\nphysical id\t: {package}\ncore id\t: {core}\n\n"))
        .concat();
    let topology = MachineFixture::new(&[("/proc/cpuinfo", &cpuinfo)]).read().topology;
    assert_eq!(topology.online.to_string(), "0-3");
    assert_eq!(topology.packages().len(), 2);
    assert_eq!(topology.cpus[0].siblings, list("0,2"));
    // Topology files take precedence if there are any.
    let made = MachineFixture::new(&[
        ("/proc/cpuinfo", &cpuinfo),
        (&format!("{CPU}/cpu0/topology/core_id"), "7"),
    ]);
    assert_eq!(made.read().topology.cpus[1].package, None);
}

#[test]
fn malformed_topology_files_are_unknown() {
    let made = MachineFixture::new(&[
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
    assert!(machine.unreadable[0].path.ends_with("cpu0/topology/core_cpus_list"));
}

#[test]
fn kinds_of_cores_are_recognized() {
    let intel = MachineFixture::new(&[
        (&format!("{CPU}/online"), "0-5"),
        ("/sys/devices/cpu_core/cpus", "0-3"),
        ("/sys/devices/cpu_atom/cpus", "4-5"),
    ]);
    let kinds = |made: &MachineFixture| made.read().topology.cpus.iter().map(|cpu| cpu.kind).collect::<Vec<_>>();
    let (big, small) = (Some(CoreKind::Performance), Some(CoreKind::Efficiency));
    assert_eq!(kinds(&intel), [big, big, big, big, small, small]);
    let arm = MachineFixture::new(&[(&format!("{CPU}/online"), "0-2")]);
    for (cpu, capacity) in [(0, "446"), (1, "1024"), (2, "762")] {
        arm.file(&format!("{CPU}/cpu{cpu}/cpu_capacity"), capacity);
    }
    assert_eq!(kinds(&arm), [small, big, small]);
    // Equal cores with two base frequencies (Speed Select) are of one kind.
    let xeon = MachineFixture::new(&[(&format!("{CPU}/online"), "0-1")]);
    for (cpu, base) in [(0, "2000000"), (1, "2400000")] {
        xeon.file(&format!("{CPU}/cpu{cpu}/cpufreq/base_frequency"), base);
        xeon.file(&format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), &cpu.to_string());
    }
    assert_eq!(kinds(&xeon), [None, None]);
}

#[test]
fn nodes_without_memory_or_cpus_are_read() {
    let node = "/sys/devices/system/node";
    let made = MachineFixture::new(&[
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
    let clusters: Vec<_> = topology
        .nodes
        .iter()
        .map(|node| (node.id, node.cpus.len(), node.has_memory))
        .collect();
    assert_eq!(clusters, [(0, 2, Some(false)), (2, 0, Some(true))]);
    assert_eq!(topology.memory_nodes().map(|node| node.id).collect::<Vec<_>>(), [2]);
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
fn preemption_comes_from_the_most_reliable_source() {
    let version = |words: &str| format!("Linux version 6.18.1 (x@y) #1 SMP {words} Tue\n");
    let check = |files: &[(&str, &str)], expected: Option<Preemption>| {
        assert_eq!(
            MachineFixture::new(files).read().kernel.preemption,
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
        &[("/proc/version", &dynamic), ("/proc/cmdline", "quiet preempt=full")],
        Some(Preemption::Full),
    );
    check(&[("/proc/version", &dynamic), release, config], Some(Preemption::None));
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
fn isolation_by_the_boot_line_is_recognized() {
    let made = MachineFixture::new(&[
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
    assert_eq!(made.read().isolation.rcu_nocbs, list("2-7"), "nohz_full implies it");
}
