//! Lists the kernel threads of 5.10 to 7.x.

use super::Movability::{Bound, Follows, Free};
use super::{KernelThread, MOVE_TO_HOUSEKEEPING, Movability};

/// The cure of a rescuer, a thread of every workqueue with WQ_MEM_RECLAIM (`kworker/R-NAME` since 6.9).
const RESCUER: &str = "its workqueue; idle while there is enough memory";

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
    row(
        pattern,
        Follows,
        "runs work of a workqueue when memory is short",
        RESCUER,
    )
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
        "moves tasks off its CPU and stops it on request (stop_machine)",
        "idle unless tasks are moved or kernel code is patched",
    ),
    bound(
        "cpuhp/#",
        "takes its CPU online and offline",
        "sleeps until CPU hotplug",
    ),
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
        "runs work that the kernel deferred (PREEMPT_RT)",
        "no perf and BPF users on this CPU",
    )
    .only("PREEMPT_RT"),
    bound(
        "backlog_napi/#",
        "receives packets that arrive on or are steered to its CPU",
        "move network interrupts and steering",
    )
    .only("PREEMPT_RT or thread_backlog_napi, 6.10 and later"),
    bound(
        "idle_inject/#",
        "forces idle time when the machine is too hot",
        "improve the cooling",
    )
    .only("CONFIG_IDLE_INJECT"),
    bound("rcuc/#", "runs RCU callbacks of its CPU", "boot with rcu_nocbs=CPUS")
        .only("threaded RCU callbacks: PREEMPT_RT, rcutree.use_softirq=0, or CONFIG_RCU_BOOST on some kernels"),
    free(
        "rcub/#",
        "boosts tasks that delay RCU on the CPUs of one RCU node, whose number it has",
        "idle unless readers are preempted for long",
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
        "runs work of a workqueue when memory is short",
        "its workqueue; idle while there is enough memory",
    ),
    bound(
        "kworker/#:#H*",
        "runs urgent work that was queued on its CPU",
        "find what queues it; no disk I/O from this CPU",
    ),
    bound(
        "kworker/#:*",
        "runs work that was queued on its CPU",
        "find what queues it: vm.stat_interval, no file I/O from this CPU",
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
        "starts every other kernel thread; these inherit its affinity",
        MOVE_TO_HOUSEKEEPING,
    ),
    free(
        "kswapd*",
        "frees memory of its node when it becomes scarce",
        "keep enough memory free",
    ),
    free(
        "kcompactd*",
        "compacts memory of its node",
        "vm.compaction_proactiveness=0",
    ),
    free(
        "khugepaged",
        "joins small pages to huge ones",
        "/sys/kernel/mm/transparent_hugepage/enabled madvise or never",
    ),
    free("ksmd", "merges equal pages", "/sys/kernel/mm/ksm/run 0"),
    free("kdamon*", "monitors memory use", "end the program that uses DAMON"),
    free("kauditd", "sends audit records", "fewer audit rules"),
    free("khungtaskd", "checks for tasks that hang", MOVE_TO_HOUSEKEEPING),
    bound(
        "watchdog/#",
        "touches the lockup watchdog of its CPU (before 4.19)",
        "exclude the CPU from kernel.watchdog_cpumask",
    )
    .only("a lockup watchdog, before 4.19"),
    free("watchdogd", "feeds the hardware watchdog", MOVE_TO_HOUSEKEEPING),
    free(
        "oom_reaper",
        "reclaims memory of killed tasks",
        "keep enough memory free",
    ),
    free(
        "kdevtmpfs",
        "creates device nodes",
        "idle unless devices are added or removed",
    ),
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
    free("scsi_*", "handles errors of a SCSI host", "idle without errors"),
    free(
        "psimon",
        "monitors pressure for a task that requested it",
        MOVE_TO_HOUSEKEEPING,
    ),
    free(
        "hwrng",
        "reads the hardware random number generator",
        MOVE_TO_HOUSEKEEPING,
    ),
    free("pool_workqueue_*", "removes ended workqueues", MOVE_TO_HOUSEKEEPING),
    free(
        "xfsaild/*",
        "writes back metadata of an XFS file system",
        MOVE_TO_HOUSEKEEPING,
    ),
    follows("xfs*", "runs work of an XFS workqueue", RESCUER),
    free(
        "btrfs-*",
        "cleans and commits a btrfs file system",
        MOVE_TO_HOUSEKEEPING,
    ),
    free("dmcrypt_write*", "writes encrypted blocks", MOVE_TO_HOUSEKEEPING),
    free("md#_*", "synchronizes a software RAID", MOVE_TO_HOUSEKEEPING),
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
    free("ksgxd", "reclaims memory of enclaves", MOVE_TO_HOUSEKEEPING),
    free(
        "hwlatd*",
        "looks for gaps caused by firmware, with interrupts disabled",
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
        "stops this CPU to run functions for other CPUs",
        "idle unless tasks are moved",
    ),
    free("cryptomgr_*", "tests an algorithm and ends", MOVE_TO_HOUSEKEEPING),
    free("card*", "serves a display or sound device", MOVE_TO_HOUSEKEEPING),
    follows("ext4-rsv-conver*", "runs work of an ext4 workqueue", RESCUER),
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
    follows("nvme-*", "runs work of an NVMe workqueue", RESCUER),
    free(
        "pr/*",
        "writes the kernel's messages to a console",
        "fewer messages: /proc/sys/kernel/printk",
    ),
    free(
        "kprobe-optimizer",
        "optimizes kprobes, which stops all CPUs for a moment",
        "set no kprobes while the CPU works",
    ),
    rescuer("quota_events_un*"),
    bound("swapper/#", "is the idle task", "none needed"),
];
