//! Lists the kernel threads of 5.10 to 7.x.

use super::Movability::{Bound, Follows, Free};
use super::{KernelThread, MOVE_TO_HOUSEKEEPING, Movability};

/// The cure of a rescuer, a thread of every workqueue with WQ_MEM_RECLAIM (`kworker/R-NAME` since 6.9).
const RESCUER: &str = "its workqueue; quiet while memory is enough";

const fn bound(pattern: &'static str, what: &'static str, cure: &'static str) -> KernelThread {
    row(pattern, Bound, what, cure)
}

const fn free(pattern: &'static str, what: &'static str, cure: &'static str) -> KernelThread {
    row(pattern, Free, what, cure)
}

const fn follows(pattern: &'static str, what: &'static str, cure: &'static str) -> KernelThread {
    row(pattern, Follows, what, cure)
}

const fn row(pattern: &'static str, moving: Movability, what: &'static str, cure: &'static str) -> KernelThread {
    KernelThread {
        pattern,
        what,
        moving,
        cure,
        only: "",
    }
}

const fn rescuer(pattern: &'static str) -> KernelThread {
    row(pattern, Follows, "helps a workqueue out when memory is short", RESCUER)
}

impl KernelThread {
    const fn only(self, only: &'static str) -> KernelThread {
        KernelThread { only, ..self }
    }
}

/// The table. Special names precede general ones, because the first match wins.
pub const KERNEL_THREADS: &[KernelThread] = &[
    bound(
        "migration/#",
        "moves tasks off its CPU and stops it when asked (stop_machine)",
        "quiet unless tasks are moved or kernel code is patched",
    ),
    bound("cpuhp/#", "brings its CPU up and down", "sleeps until CPU hotplug"),
    bound(
        "ksoftirqd/#",
        "runs softirqs that are too many for the interrupt",
        "move the interrupts and timers that raise them",
    ),
    bound(
        "ktimers/#",
        "runs timer softirqs (PREEMPT_RT)",
        "set no timers on this CPU; nohz_full",
    )
    .only("PREEMPT_RT, 6.1 and later"),
    bound(
        "ktimersoftd/#",
        "runs timer softirqs (old -rt kernels)",
        "set no timers on this CPU; nohz_full",
    )
    .only("old PREEMPT_RT kernels"),
    bound(
        "posixcputmr/#",
        "runs POSIX CPU timers (old -rt kernels)",
        "use no CPU-time timers here",
    )
    .only("old PREEMPT_RT kernels"),
    bound(
        "irq_work/#",
        "runs work that the kernel put off (PREEMPT_RT)",
        "no perf and BPF users on this CPU",
    )
    .only("PREEMPT_RT"),
    bound(
        "backlog_napi/#",
        "takes packets that arrive on or are steered to its CPU",
        "move network interrupts and steering",
    )
    .only("PREEMPT_RT or thread_backlog_napi, 6.10 and later"),
    bound(
        "idle_inject/#",
        "forces idle time when the machine is too hot",
        "better cooling",
    )
    .only("CONFIG_IDLE_INJECT"),
    bound("rcuc/#", "runs RCU callbacks of its CPU", "boot with rcu_nocbs=CPUS")
        .only("threaded RCU callbacks: PREEMPT_RT, rcutree.use_softirq=0, or CONFIG_RCU_BOOST on some kernels"),
    free(
        "rcub/#",
        "boosts tasks that hold back RCU on the CPUs of one RCU node, whose number it has",
        "quiet unless readers are preempted for long",
    )
    .only("CONFIG_RCU_BOOST, as PREEMPT_RT kernels have it"),
    free(
        "rcuop/#",
        "runs RCU callbacks for a CPU that has offloaded them",
        MOVE_TO_HOUSEKEEPING,
    )
    .only("offloaded RCU callbacks: rcu_nocbs= or nohz_full="),
    free(
        "rcuos/#",
        "runs RCU callbacks for a CPU that has offloaded them (before 4.20)",
        MOVE_TO_HOUSEKEEPING,
    )
    .only("offloaded RCU callbacks: rcu_nocbs= or nohz_full="),
    free(
        "rcuob/#",
        "runs RCU callbacks for a CPU that has offloaded them (before 4.20)",
        MOVE_TO_HOUSEKEEPING,
    )
    .only("offloaded RCU callbacks: rcu_nocbs= or nohz_full="),
    free(
        "rcuog/#",
        "waits for RCU for a group of offloaded CPUs",
        MOVE_TO_HOUSEKEEPING,
    )
    .only("offloaded RCU callbacks: rcu_nocbs= or nohz_full="),
    free(
        "rcu_exp_par_gp_kthread_worker/#",
        "expedites RCU for a group of CPUs",
        MOVE_TO_HOUSEKEEPING,
    ),
    free(
        "rcu_*",
        "waits for RCU grace periods and cleans up after them",
        MOVE_TO_HOUSEKEEPING,
    ),
    follows(
        "kworker/u*",
        "runs work that may run anywhere",
        "/sys/devices/virtual/workqueue/cpumask",
    ),
    follows(
        "kworker/R-*",
        "helps a workqueue out when memory is short",
        "its workqueue; quiet while memory is enough",
    ),
    bound(
        "kworker/#:#H*",
        "runs urgent work that was queued on its CPU",
        "find who queues it; no disk I/O from this CPU",
    ),
    bound(
        "kworker/#:*",
        "runs work that was queued on its CPU",
        "find who queues it: vm.stat_interval, no file I/O from this CPU",
    ),
    follows(
        "kworker/*",
        "runs work of the kernel",
        "/sys/devices/virtual/workqueue/cpumask",
    ),
    follows(
        "irq/#-*",
        "handles an interrupt in a thread",
        "the interrupt: /proc/irq/N/smp_affinity_list",
    ),
    free(
        "kthreadd",
        "starts every other kernel thread, which inherit where it may run",
        MOVE_TO_HOUSEKEEPING,
    ),
    free(
        "kswapd*",
        "frees memory of its node when it gets scarce",
        "keep enough memory free",
    ),
    free(
        "kcompactd*",
        "moves memory of its node together",
        "vm.compaction_proactiveness=0",
    ),
    free(
        "khugepaged",
        "merges small pages into huge ones",
        "/sys/kernel/mm/transparent_hugepage/enabled madvise or never",
    ),
    free("ksmd", "merges equal pages", "/sys/kernel/mm/ksm/run 0"),
    free("kdamon*", "watches how memory is used", "end the DAMON user"),
    free("kauditd", "hands audit records out", "fewer audit rules"),
    free("khungtaskd", "looks for tasks that hang", MOVE_TO_HOUSEKEEPING),
    bound(
        "watchdog/#",
        "touches the lockup watchdog of its CPU (before 4.19)",
        "take the CPU out of kernel.watchdog_cpumask",
    )
    .only("a lockup watchdog, before 4.19"),
    free("watchdogd", "feeds the hardware watchdog", MOVE_TO_HOUSEKEEPING),
    free(
        "oom_reaper",
        "reclaims memory of killed tasks",
        "keep enough memory free",
    ),
    free("kdevtmpfs", "makes device nodes", "quiet unless devices come and go"),
    free(
        "jbd2/*",
        "writes the journal of an ext4 file system",
        MOVE_TO_HOUSEKEEPING,
    ),
    free(
        "sugov:*",
        "sets the frequency for the schedutil governor",
        "governor performance",
    ),
    free("napi/*", "polls a network card", MOVE_TO_HOUSEKEEPING),
    free("spi#", "drives an SPI bus", MOVE_TO_HOUSEKEEPING),
    free("scsi_*", "recovers a SCSI host from errors", "quiet without errors"),
    free("psimon", "watches pressure for a task that asked", MOVE_TO_HOUSEKEEPING),
    free("hwrng", "reads the hardware random generator", MOVE_TO_HOUSEKEEPING),
    free(
        "pool_workqueue_*",
        "takes apart workqueues that ended",
        MOVE_TO_HOUSEKEEPING,
    ),
    free(
        "xfsaild/*",
        "writes metadata of an XFS file system back",
        MOVE_TO_HOUSEKEEPING,
    ),
    follows("xfs*", "helps a workqueue of XFS out", RESCUER),
    free(
        "btrfs-*",
        "cleans and commits a btrfs file system",
        MOVE_TO_HOUSEKEEPING,
    ),
    free("dmcrypt_write*", "writes encrypted blocks", MOVE_TO_HOUSEKEEPING),
    free("md#_*", "keeps a software RAID in step", MOVE_TO_HOUSEKEEPING),
    free("nfsd", "serves NFS", MOVE_TO_HOUSEKEEPING),
    free("lockd", "keeps NFS locks", MOVE_TO_HOUSEKEEPING),
    free("loop#", "serves a loop device", MOVE_TO_HOUSEKEEPING),
    free("usb-storage", "drives a USB disk", MOVE_TO_HOUSEKEEPING),
    free("mmcqd/#", "drives an SD card (old kernels)", MOVE_TO_HOUSEKEEPING),
    free("card#-crtc#", "shows frames on a display", MOVE_TO_HOUSEKEEPING),
    free(
        "vhost-*",
        "moves packets or blocks of a virtual machine",
        "place it with the machine's emulator threads",
    ),
    free(
        "kvm-*",
        "serves a virtual machine",
        "place it with the machine's emulator threads",
    ),
    free(
        "iou-wrk-*",
        "does blocking work of a program's io_uring",
        "IORING_REGISTER_IOWQ_AFF in the program",
    ),
    free(
        "iou-sqp-*",
        "polls a program's io_uring",
        "IORING_SETUP_SQ_AFF in the program",
    ),
    free("ksgxd", "takes memory of enclaves back", MOVE_TO_HOUSEKEEPING),
    free(
        "hwlatd*",
        "looks for gaps that firmware makes, with interrupts off",
        "end the hwlat tracer",
    ),
    bound(
        "osnoise/#",
        "measures noise on its CPU with the osnoise tracer",
        "end the tracer",
    ),
    bound(
        "timerlat/#",
        "measures timer latency on its CPU with the tracer",
        "end the tracer",
    ),
    bound(
        "stopper/#",
        "runs what other CPUs want to stop this one for",
        "quiet unless tasks are moved",
    ),
    free("cryptomgr_*", "tests an algorithm and ends", MOVE_TO_HOUSEKEEPING),
    free("card*", "serves a display or sound device", MOVE_TO_HOUSEKEEPING),
    follows("ext4-rsv-conver*", "helps a workqueue of ext4 out", RESCUER),
    rescuer("kblockd"),
    rescuer("kintegrityd"),
    rescuer("kthrotld"),
    rescuer("kstrp"),
    rescuer("netns"),
    rescuer("mm_percpu_wq"),
    rescuer("slub_flushwq"),
    rescuer("inet_frag_wq"),
    rescuer("writeback"),
    rescuer("blkcg_punt_bio"),
    rescuer("tpm_dev_wq"),
    rescuer("ata_sff"),
    rescuer("md"),
    rescuer("md_bitmap"),
    rescuer("edac-poller"),
    rescuer("devfreq_wq"),
    rescuer("cryptd"),
    rescuer("mld"),
    rescuer("ipv6_addrconf"),
    rescuer("zswap-shrink"),
    rescuer("acpi_thermal_pm"),
    rescuer("events_*"),
    follows("nvme-*", "helps a workqueue of NVMe out", RESCUER),
    free(
        "pr/*",
        "writes the kernel's messages to a console",
        "fewer messages: /proc/sys/kernel/printk",
    ),
    free(
        "kprobe-optimizer",
        "turns probes into jumps, for which all CPUs stop a moment",
        "set no kprobes while the CPU works",
    ),
    rescuer("quota_events_un*"),
    bound("swapper/#", "is the idle task", "none is needed"),
];
