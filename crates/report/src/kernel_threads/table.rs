//! Lists the kernel threads of 5.10 to 7.x.

use super::Moving::{Bound, Follows, Free};
use super::{KEEP, KernelThread, Moving};

/// The cure of a rescuer, a thread of every workqueue with WQ_MEM_RECLAIM (`kworker/R-NAME` since 6.9).
const RESCUER: &str = "its workqueue; quiet while memory is enough";

const fn row(pattern: &'static str, moving: Moving, what: &'static str, cure: &'static str) -> KernelThread {
    KernelThread {
        pattern,
        what,
        moving,
        cure,
        only: "",
    }
}

impl KernelThread {
    const fn only(self, only: &'static str) -> KernelThread {
        KernelThread { only, ..self }
    }
}

/// The table. Special names precede general ones, because the first match wins.
pub const KERNEL_THREADS: &[KernelThread] = &[
    row(
        "migration/#",
        Bound,
        "moves tasks off its CPU and stops it when asked (stop_machine)",
        "quiet unless tasks are moved or kernel code is patched",
    ),
    row(
        "cpuhp/#",
        Bound,
        "brings its CPU up and down",
        "sleeps until CPU hotplug",
    ),
    row(
        "ksoftirqd/#",
        Bound,
        "runs softirqs that are too many for the interrupt",
        "move the interrupts and timers that raise them",
    ),
    row(
        "ktimers/#",
        Bound,
        "runs timer softirqs (PREEMPT_RT)",
        "set no timers on this CPU; nohz_full",
    )
    .only("PREEMPT_RT, 6.1 and later"),
    row(
        "ktimersoftd/#",
        Bound,
        "runs timer softirqs (old -rt kernels)",
        "set no timers on this CPU; nohz_full",
    )
    .only("old PREEMPT_RT kernels"),
    row(
        "posixcputmr/#",
        Bound,
        "runs POSIX CPU timers (old -rt kernels)",
        "use no CPU-time timers here",
    )
    .only("old PREEMPT_RT kernels"),
    row(
        "irq_work/#",
        Bound,
        "runs work that the kernel put off (PREEMPT_RT)",
        "no perf and BPF users on this CPU",
    )
    .only("PREEMPT_RT"),
    row(
        "backlog_napi/#",
        Bound,
        "takes packets that arrive on or are steered to its CPU",
        "move network interrupts and steering",
    )
    .only("PREEMPT_RT or thread_backlog_napi, 6.10 and later"),
    row(
        "idle_inject/#",
        Bound,
        "forces idle time when the machine is too hot",
        "better cooling",
    )
    .only("CONFIG_IDLE_INJECT"),
    row(
        "rcuc/#",
        Bound,
        "runs RCU callbacks of its CPU",
        "boot with rcu_nocbs=CPUS",
    )
    .only("threaded RCU callbacks: PREEMPT_RT, rcutree.use_softirq=0, or CONFIG_RCU_BOOST on some kernels"),
    row(
        "rcub/#",
        Free,
        "boosts tasks that hold back RCU on the CPUs of one RCU node, whose number it has",
        "quiet unless readers are preempted for long",
    )
    .only("CONFIG_RCU_BOOST, as PREEMPT_RT kernels have it"),
    row(
        "rcuop/#",
        Free,
        "runs RCU callbacks for a CPU that has offloaded them",
        KEEP,
    )
    .only("offloaded RCU callbacks: rcu_nocbs= or nohz_full="),
    row(
        "rcuos/#",
        Free,
        "runs RCU callbacks for a CPU that has offloaded them (before 4.20)",
        KEEP,
    )
    .only("offloaded RCU callbacks: rcu_nocbs= or nohz_full="),
    row(
        "rcuob/#",
        Free,
        "runs RCU callbacks for a CPU that has offloaded them (before 4.20)",
        KEEP,
    )
    .only("offloaded RCU callbacks: rcu_nocbs= or nohz_full="),
    row(
        "rcuog/#",
        Free,
        "waits for RCU for a group of offloaded CPUs",
        KEEP,
    )
    .only("offloaded RCU callbacks: rcu_nocbs= or nohz_full="),
    row(
        "rcu_exp_par_gp_kthread_worker/#",
        Free,
        "expedites RCU for a group of CPUs",
        KEEP,
    ),
    row(
        "rcu_*",
        Free,
        "waits for RCU grace periods and cleans up after them",
        KEEP,
    ),
    row(
        "kworker/u*",
        Follows,
        "runs work that may run anywhere",
        "/sys/devices/virtual/workqueue/cpumask",
    ),
    row(
        "kworker/R-*",
        Follows,
        "helps a workqueue out when memory is short",
        "its workqueue; quiet while memory is enough",
    ),
    row(
        "kworker/#:#H*",
        Bound,
        "runs urgent work that was queued on its CPU",
        "find who queues it; no disk I/O from this CPU",
    ),
    row(
        "kworker/#:*",
        Bound,
        "runs work that was queued on its CPU",
        "find who queues it: vm.stat_interval, no file I/O from this CPU",
    ),
    row(
        "kworker/*",
        Follows,
        "runs work of the kernel",
        "/sys/devices/virtual/workqueue/cpumask",
    ),
    row(
        "irq/#-*",
        Follows,
        "handles an interrupt in a thread",
        "the interrupt: /proc/irq/N/smp_affinity_list",
    ),
    row(
        "kthreadd",
        Free,
        "starts every other kernel thread, which inherit where it may run",
        KEEP,
    ),
    row(
        "kswapd*",
        Free,
        "frees memory of its node when it gets scarce",
        "keep enough memory free",
    ),
    row(
        "kcompactd*",
        Free,
        "moves memory of its node together",
        "vm.compaction_proactiveness=0",
    ),
    row(
        "khugepaged",
        Free,
        "merges small pages into huge ones",
        "/sys/kernel/mm/transparent_hugepage/enabled madvise or never",
    ),
    row("ksmd", Free, "merges equal pages", "/sys/kernel/mm/ksm/run 0"),
    row(
        "kdamon*",
        Free,
        "watches how memory is used",
        "end the DAMON user",
    ),
    row("kauditd", Free, "hands audit records out", "fewer audit rules"),
    row("khungtaskd", Free, "looks for tasks that hang", KEEP),
    row(
        "watchdog/#",
        Bound,
        "touches the lockup watchdog of its CPU (before 4.19)",
        "take the CPU out of kernel.watchdog_cpumask",
    )
    .only("a lockup watchdog, before 4.19"),
    row("watchdogd", Free, "feeds the hardware watchdog", KEEP),
    row(
        "oom_reaper",
        Free,
        "takes back memory of killed tasks",
        "keep enough memory free",
    ),
    row(
        "kdevtmpfs",
        Free,
        "makes device nodes",
        "quiet unless devices come and go",
    ),
    row("jbd2/*", Free, "writes the journal of an ext4 file system", KEEP),
    row(
        "sugov:*",
        Free,
        "sets the frequency for the schedutil governor",
        "governor performance",
    ),
    row("napi/*", Free, "polls a network card", KEEP),
    row("spi#", Free, "drives an SPI bus", KEEP),
    row(
        "scsi_*",
        Free,
        "recovers a SCSI host from errors",
        "quiet without errors",
    ),
    row("psimon", Free, "watches pressure for a task that asked", KEEP),
    row("hwrng", Free, "reads the hardware random generator", KEEP),
    row(
        "pool_workqueue_*",
        Free,
        "takes apart workqueues that ended",
        KEEP,
    ),
    row(
        "xfsaild/*",
        Free,
        "writes metadata of an XFS file system back",
        KEEP,
    ),
    row("xfs*", Follows, "helps a workqueue of XFS out", RESCUER),
    row("btrfs-*", Free, "cleans and commits a btrfs file system", KEEP),
    row("dmcrypt_write*", Free, "writes encrypted blocks", KEEP),
    row("md#_*", Free, "keeps a software RAID in step", KEEP),
    row("nfsd", Free, "serves NFS", KEEP),
    row("lockd", Free, "keeps NFS locks", KEEP),
    row("loop#", Free, "serves a loop device", KEEP),
    row("usb-storage", Free, "drives a USB disk", KEEP),
    row("mmcqd/#", Free, "drives an SD card (old kernels)", KEEP),
    row("card#-crtc#", Free, "shows frames on a display", KEEP),
    row(
        "vhost-*",
        Free,
        "moves packets or blocks of a virtual machine",
        "place it with the machine's emulator threads",
    ),
    row(
        "kvm-*",
        Free,
        "serves a virtual machine",
        "place it with the machine's emulator threads",
    ),
    row(
        "iou-wrk-*",
        Free,
        "does blocking work of a program's io_uring",
        "IORING_REGISTER_IOWQ_AFF in the program",
    ),
    row(
        "iou-sqp-*",
        Free,
        "polls a program's io_uring",
        "IORING_SETUP_SQ_AFF in the program",
    ),
    row("ksgxd", Free, "takes memory of enclaves back", KEEP),
    row(
        "hwlatd*",
        Free,
        "looks for gaps that firmware makes, with interrupts off",
        "end the hwlat tracer",
    ),
    row(
        "osnoise/#",
        Bound,
        "measures noise on its CPU with the osnoise tracer",
        "end the tracer",
    ),
    row(
        "timerlat/#",
        Bound,
        "measures timer latency on its CPU with the tracer",
        "end the tracer",
    ),
    row(
        "stopper/#",
        Bound,
        "runs what other CPUs want to stop this one for",
        "quiet unless tasks are moved",
    ),
    row("cryptomgr_*", Free, "tests an algorithm and ends", KEEP),
    row("card*", Free, "serves a display or sound device", KEEP),
    row(
        "ext4-rsv-conver*",
        Follows,
        "helps a workqueue of ext4 out",
        RESCUER,
    ),
    row(
        "kblockd",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "kintegrityd",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "kthrotld",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "kstrp",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "netns",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "mm_percpu_wq",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "slub_flushwq",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "inet_frag_wq",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "writeback",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "blkcg_punt_bio",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "tpm_dev_wq",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "ata_sff",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "md",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "md_bitmap",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "edac-poller",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "devfreq_wq",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "cryptd",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "mld",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "ipv6_addrconf",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "zswap-shrink",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "acpi_thermal_pm",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row(
        "events_*",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row("nvme-*", Follows, "helps a workqueue of NVMe out", RESCUER),
    row(
        "pr/*",
        Free,
        "writes the kernel's messages to a console",
        "fewer messages: /proc/sys/kernel/printk",
    ),
    row(
        "kprobe-optimizer",
        Free,
        "turns probes into jumps, for which all CPUs stop a moment",
        "set no kprobes while the CPU works",
    ),
    row(
        "quota_events_un*",
        Follows,
        "helps a workqueue out when memory is short",
        RESCUER,
    ),
    row("swapper/#", Bound, "is the idle task", "none is needed"),
];
