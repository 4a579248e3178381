//! A captured machine with arbitrary file contents: reads and shows the whole model.

use super::FuzzTarget;
use super::archives::{packed, with_file};
use machine::Machine;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "snapshots",
    seeds: || {
        let files = [
            ("/proc/version", "Linux version 6.12.0 (x) #1 SMP PREEMPT_RT\n"),
            ("/proc/cmdline", "ro isolcpus=1-3 nohz_full=1-3\n"),
            ("/proc/sys/kernel/osrelease", "6.12.0\n"),
            ("/proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            (
                "/proc/self/mountinfo",
                "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            (
                "/proc/interrupts",
                "      CPU0 CPU1\n 36: 7 9 PCI-MSI 1-edge eth0-rx\nLOC: 1 2 Local timer interrupts\n",
            ),
            ("/proc/irq/36/smp_affinity_list", "0-1\n"),
            (
                "/proc/1/task/1/stat",
                "1 (init) S 0 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 5 1000 10 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n",
            ),
            ("/proc/1/task/1/status", "Name:\tinit\nCpus_allowed_list:\t0-3\n"),
            ("/proc/1/task/1/cgroup", "0::/rt\n"),
            ("/sys/devices/system/cpu/online", "0-3\n"),
            ("/sys/devices/system/cpu/possible", "0-7\n"),
            ("/sys/devices/system/cpu/present", "0-3\n"),
            ("/sys/devices/system/cpu/isolated", "1-3\n"),
            ("/sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
            ("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
            ("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index2/level", "2\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_list", "0-3\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index2/size", "32768K\n"),
            ("/sys/devices/system/node/node0/cpulist", "0-3\n"),
            ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n"),
            ("/sys/fs/cgroup/cpuset.cpus.effective", "0-3\n"),
            ("/sys/fs/cgroup/rt/cpuset.cpus", "1-3\n"),
            ("/sys/fs/cgroup/rt/cpuset.cpus.partition", "isolated invalid (x)\n"),
        ];
        vec![packed(".tar", &files)]
    },
    run: |bytes| {
        with_file(bytes, |root| {
            let machine = Machine::read(root).with_tasks(root).with_interrupts(root);
            for part in [report::PartDetail::Left, report::PartDetail::Shortened] {
                let view = report::InspectView {
                    tasks: part,
                    interrupts: part,
                    ..report::InspectView::default()
                };
                let _ = report::inspect_text(&machine, &view, report::Style::Plain);
            }
        });
    },
};
