//! A machine with arbitrary kernel files, one section each: the model, its tasks and interrupts, other owners of CPUs,
//! the settings, and a plan for it. Unlike [`super::snapshots`] it never fails at the archive around the files.

use super::archives::with_file;
use super::packed_files::tar;
use super::{FuzzTarget, owned, sections};
use machine::{CpuSet, Machine, devices, temperatures};
use plan::{Intent, PartitionName, Profile, plan};

/// The file of each section, in order. An empty section means no file.
const PATHS: &[&str] = &[
    "/proc/version",
    "/proc/cmdline",
    "/proc/self/mountinfo",
    "/proc/interrupts",
    "/proc/irq/36/smp_affinity_list",
    "/proc/1/task/1/stat",
    "/proc/1/task/1/status",
    "/proc/1/task/1/cgroup",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/nohz_full",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "/sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_list",
    "/sys/devices/system/cpu/cpu0/cache/index2/size",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/fs/cgroup/cgroup.controllers",
    "/sys/fs/cgroup/cpuset.cpus.effective",
    "/sys/fs/cgroup/rt/cpuset.cpus",
    "/sys/fs/cgroup/rt/cpuset.cpus.partition",
    "/etc/tuned/active_profile",
    "/etc/tuned/a/tuned.conf",
    "/etc/tuned/b/tuned.conf",
    "/etc/tuned/cpu-partitioning-variables.conf",
    "/etc/default/irqbalance",
    "/etc/irqbalance.env",
    "/var/lib/kubelet/cpu_manager_state",
    "/sys/kernel/debug/sched/preempt",
    "/proc/cpuinfo",
    "/var/log/dmesg",
    "/proc/sys/kernel/osrelease",
    "/sys/class/thermal/thermal_zone0/temp",
    "/etc/systemd/system.control/system.slice.d/50-AllowedCPUs.conf",
    "/run/irqbalance.pid",
    "/proc/config.gz",
];

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "machine_files",
    seeds: || {
        owned(&[
            "Linux version 6.12.0 (x) #1 SMP PREEMPT_RT\n\u{1e}ro isolcpus=1-3 nohz_full=1-3\n\u{1e}30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\u{1e}      CPU0 CPU1\n 36: 7 9 PCI-MSI 1-edge eth0-rx\nLOC: 1 2 Local timer interrupts\n\u{1e}0-1\n\u{1e}1 (init) S 0 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 5 1000 10 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n\u{1e}Name:\tinit\nCpus_allowed_list:\t0-3\n\u{1e}0::/rt\n\u{1e}0-3\n\u{1e}0-7\n\u{1e}1-3\n\u{1e}(null)\n\u{1e}0-1\n\u{1e}0-3\n\u{1e}32768K\n\u{1e}0-3\n\u{1e}cpuset cpu\n\u{1e}0-3\n\u{1e}1-3\n\u{1e}isolated invalid (x)\n",
            "\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}0-7\n\u{1e}0-7\n\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}a b\n\u{1e}[main]\ninclude=b\n[variables]\ninclude=/etc/tuned/cpu-partitioning-variables.conf\nisolated_cores=${isolated_cores}\n\u{1e}[variables]\nx=2\nisolated_cores=${x}-3\n\u{1e}isolated_cores=${f:calc_isolated_cores:1}\n\u{1e}IRQBALANCE_BANNED_CPULIST=2-3\n\u{1e}IRQBALANCE_BANNED_CPUS=\"c\"\n\u{1e}{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1\",\"entries\":{\"0a\":{\"web\":\"2-3\"}},\"checksum\":7}\u{1e}none voluntary (full)\n\u{1e}processor\t: 0\nflags\t: hypervisor\n\u{1e}[    0.000000] Linux version 6.12.0\n[    1.0] x86/fpu: y\n\u{1e}6.12.0-rt\n\u{1e}47000\n\u{1e}[Slice]\nAllowedCPUs=0-1\n\u{1e}412\n",
        ])
    },
    run: |bytes| {
        let given = PATHS.iter().copied().zip(sections(bytes));
        let files: Vec<(&str, &[u8])> = given.filter(|(_, content)| !content.is_empty()).collect();
        let archive = tar(&files);
        with_file(&archive, |root| {
            let machine = Machine::read(root).with_tasks(root).with_interrupts(root);
            let _ = (root.kernel_log(), root.inflated("/proc/config.gz"));
            let _ = (temperatures::hottest(root), devices::nodes_with_devices(root));
            let _ = (machine.irqbalance(), devices::locate(root, "eth0"));
            let cpus = CpuSet::range(1, 1);
            let settings = machine::settings::for_cpus(root, &cpus, plan::knobs::planned());
            let intent = Intent::new(PartitionName::default(), cpus, Profile::Strict);
            let _ = plan(&machine, &settings, &intent);
        });
    },
};
