//! Partitions, guests, interrupts and tasks that no captured machine has.

use super::{MachineFixture, list};
use machine::{Owner, Version};
use std::path::Path;

#[test]
fn cpuset_partitions_of_v2_are_read() {
    let base = "/sys/fs/cgroup";
    let made = MachineFixture::new(&[
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
    // Without the cpuset controller, v2 has no cpusets.
    made.file(&format!("{base}/cgroup.controllers"), "cpu io memory\n");
    assert_eq!(made.read().cgroups.cpuset, None);
}

#[test]
fn cpuset_partitions_of_v1_are_read() {
    let base = "/sys/fs/cgroup/cpuset";
    let made = MachineFixture::new(&[
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
    // A writable mount is preferred to a read-only one of the whole tree.
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
fn guests_and_their_hypervisors_are_recognized() {
    let guest = |files: &[(&str, &str)]| MachineFixture::new(files).read().topology.hypervisor;
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
    assert_eq!(guest(&[flags, (clock, "kvm-clock tsc\n")]).as_deref(), Some("kvm"));
    assert_eq!(guest(&[("/sys/hypervisor/type", "xen\n")]).as_deref(), Some("xen"));
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
fn managed_interrupts_are_recognized() {
    let made = MachineFixture::new(&[
        ("/proc/sys/kernel/osrelease", "6.12.3\n"),
        (
            "/proc/interrupts",
            "      CPU0  CPU2\n 24:  1  0  PCI-MSI  0-edge      nvme0q1\nNMI:  3  4  Non-maskable\n",
        ),
        ("/proc/irq/24/smp_affinity", "1\n"),
        ("/proc/irq/24/smp_affinity_list", "0\n"),
        ("/proc/irq/24/effective_affinity", "1\n"),
        ("/proc/irq/9/smp_affinity", "5\n"),
        ("/proc/irq/2/smp_affinity", "5\n"),
        ("/proc/irq/default_smp_affinity", "5\n"),
    ]);
    made.mode("/proc/irq/24/smp_affinity", 0o444);
    made.mode("/proc/irq/2/smp_affinity", 0o444);
    let read = || made.read().with_interrupts(&made.root()).interrupts.unwrap();
    let all = read();
    assert_eq!(all.iter().map(|one| one.irq).collect::<Vec<_>>(), [2, 9, 24]);
    assert_eq!(
        (all[0].managed, all[0].immovable()),
        (None, Some(machine::ImmovableReason::Fixed)),
        "the cascade has no queue that the kernel could manage"
    );
    let all = &all[1..];
    assert_eq!(
        (all[0].name.as_str(), all[0].affinity.as_ref(), all[0].managed),
        ("", list("0,2").as_ref(), Some(false))
    );
    assert_eq!(
        (all[1].name.as_str(), all[1].effective.as_ref(), all[1].managed),
        ("nvme0q1", list("0").as_ref(), Some(true))
    );
    made.file("/proc/sys/kernel/osrelease", "6.1.0\n");
    assert_eq!(read()[2].managed, None, "older kernels do not tell by the mode");
    made.file(
        "/sys/kernel/debug/irq/irqs/24",
        "dstate: 0x1\n    IRQD_AFFINITY_MANAGED\n",
    );
    made.file("/sys/kernel/debug/irq/irqs/9", "dstate: 0x1\n");
    assert_eq!(
        read().iter().map(|one| one.managed).collect::<Vec<_>>(),
        [None, Some(false), Some(true)]
    );
}

#[test]
fn tasks_of_a_captured_machine_are_read() {
    let stat = |tid: u32, comm: &str, start: u32| {
        format!(
            "{tid} ({comm}) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 2 0 {start} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n"
        )
    };
    let made = MachineFixture::new(&[
        ("/proc/7/task/7/stat", &stat(7, "a b) (c", 70)),
        ("/proc/7/task/7/status", "Cpus_allowed_list:\t1-2\n"),
        ("/proc/7/task/7/cgroup", "0::/x\n"),
        ("/proc/7/task/9/stat", &stat(9, "second", 90)),
        ("/proc/8/task/8/stat", "torn"),
        ("/proc/fs/nothing", ""),
    ]);
    let machine = made.read().with_task_cgroups(&made.root());
    let tasks = machine.tasks.unwrap();
    let names: Vec<_> = tasks
        .iter()
        .map(|task| (task.pid, task.key.tid, task.comm.as_str()))
        .collect();
    assert_eq!(names, [(7, 7, "a b) (c"), (7, 9, "second")]);
    assert_eq!(
        (tasks[0].allowed.clone(), tasks[0].cgroup.as_deref()),
        (list("1-2"), Some("/x"))
    );
    assert_eq!((tasks[1].allowed.clone(), tasks[1].cgroup.as_deref()), (None, None));
    assert_eq!(machine.unreadable.len(), 1);
    assert!(Path::new(&machine.unreadable[0].path).ends_with("8/stat"));
}

#[test]
fn many_processes_are_read_in_parallel_and_none_is_lost() {
    let made = MachineFixture::new(&[]);
    for pid in 1..=300 {
        made.file(
            &format!("/proc/{pid}/task/{pid}/stat"),
            &format!("{pid} (p) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0\n"),
        );
    }
    let tasks = machine::tasks::read(&made.root()).unwrap();
    assert!(tasks.iter().map(|task| task.key.tid).eq(1..=300));
}
