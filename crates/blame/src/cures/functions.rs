//! Lists kernel functions that interrupt, and what causes each: timers, queued work, calls from other CPUs.

use Remedy::{Domains, Knob, Nothing, Partition, Rcu, Requester, Tick};
/// One function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name in the kernel.
    pub name: &'static str,
    /// What stops it.
    pub remedy: Remedy,
}

/// What stops a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// It is the tick.
    Tick,
    /// A knob of `plan`, in the form of `--with`, and the reason.
    Knob(&'static str, &'static str),
    /// The thread that set the timer or queued the work should run elsewhere.
    Requester(&'static str),
    /// A partition around the CPU.
    Partition(&'static str),
    /// Removal of the CPU from its scheduling domain, whose idle CPUs balance for the busy ones.
    Domains(&'static str),
    /// Offloading of RCU callbacks.
    Rcu,
    /// None of our commands.
    Nothing(&'static str),
}

const fn row(name: &'static str, remedy: Remedy) -> Function {
    Function { name, remedy }
}

const fn by_knob(name: &'static str, knob: &'static str, why: &'static str) -> Function {
    row(name, Knob(knob, why))
}

const SLICES: Remedy = Partition("the scheduler divides the CPU between several runnable tasks");
const SLEEP: Remedy = Requester("a timer runs on the CPU of the thread that set it");
const PERF: Remedy = Nothing("a perf session counts on this CPU; end it, or exclude the CPU with `perf -C`");
const REGISTERS: Remedy = Nothing(
    "a program on another CPU reads registers of this one (cpufreq, MSR, turbostat, monitoring); exclude this CPU \
     there",
);
const PATCHING: Remedy = Nothing(
    "the kernel patches its code on all CPUs, because tracing, static keys, modules or BPF changed; do this before the \
     work starts",
);
const MEMBARRIER: Remedy = Nothing(
    "the sender calls membarrier, which interrupts all CPUs that run threads of its program (GLOBAL: of every \
     registered program); move its other threads off this CPU, or make it use another fence",
);
const CACHES: Remedy = Nothing(
    "the sender flushes caches that every CPU has (memory compaction, drop_caches, unmounting, memory going offline); \
     do this before the work starts",
);
const GRACE: Remedy = Knob(
    "rcu_normal",
    "the sender requests an expedited RCU grace period; ordinary ones do not interrupt CPUs",
);
const REQUESTS: Remedy = Requester("a thread on this CPU sent the disk request that completes here");
const PACKETS: Remedy = Knob("rps_cpus", "another CPU passes its packets to this one (RPS)");

/// The table. The class decides about functions that are not in it.
pub const FUNCTIONS: &[Function] = &[
    row("tick_nohz_handler", Tick),
    row("tick_nohz_highres_handler", Tick),
    row("tick_sched_timer", Tick),
    row("hrtimer_wakeup", SLEEP),
    row("process_timeout", SLEEP),
    row("it_real_fn", SLEEP),
    row("posix_timer_fn", SLEEP),
    row("timerfd_tmrproc", SLEEP),
    by_knob(
        "watchdog_timer_fn",
        "watchdog_cpumask",
        "the lockup detector has a timer on every CPU that it watches",
    ),
    by_knob(
        "sched_rt_period_timer",
        "sched_rt_runtime_us=-1",
        "the period over which real-time tasks are throttled",
    ),
    by_knob(
        "dl_task_timer",
        "fair_server=0",
        "the timer of the fair server, which lets ordinary tasks run beside real-time ones",
    ),
    row("hrtick", SLICES),
    // Another CPU asks this one to start that timer.
    row("__hrtick_start", SLICES),
    row("perf_mux_hrtimer_handler", PERF),
    row("perf_swevent_hrtimer", PERF),
    by_knob(
        "perf_event_nmi_handler",
        "watchdog_cpumask",
        "the hard lockup detector, if no perf session is running",
    ),
    by_knob(
        "mce_timer_fn",
        "check_interval",
        "the poll for corrected hardware errors",
    ),
    row(
        "clocksource_watchdog",
        Nothing(
            "the kernel checks the clock source on each CPU in turn; tsc=nowatchdog on the boot line ends this if the \
             TSC is reliable",
        ),
    ),
    by_knob(
        "mix_interrupt_randomness",
        "irq_affinity",
        "interrupts of devices on this CPU feed the random number generator",
    ),
    by_knob(
        "vmstat_update",
        "stat_interval",
        "memory statistics of this CPU are folded",
    ),
    by_knob(
        "vmstat_shepherd",
        "stat_interval",
        "it looks for CPUs whose memory statistics must be folded",
    ),
    by_knob("wb_workfn", "wq_sysfs_cpumask", "writeback of dirty pages"),
    by_knob(
        "wb_update_bandwidth_workfn",
        "wq_sysfs_cpumask",
        "writeback of dirty pages",
    ),
    row("lru_add_drain_per_cpu", CACHES),
    row("drain_local_pages_wq", CACHES),
    row("flush_cpu_slab", CACHES),
    row("invalidate_bh_lru", CACHES),
    row(
        "flush_backlog",
        Nothing("a network interface was removed; do this before the work starts"),
    ),
    row("blk_mq_run_work_fn", REQUESTS),
    row("blk_mq_timeout_work", REQUESTS),
    row("__blk_mq_complete_request_remote", REQUESTS),
    row("trigger_softirq", REQUESTS),
    row(
        "work_for_cpu_fn",
        Nothing("the sender requested this CPU explicitly (work_on_cpu); exclude this CPU there"),
    ),
    row("rps_trigger_softirq", PACKETS),
    row("trigger_rx_softirq", PACKETS),
    row("ipi_mb", MEMBARRIER),
    row("ipi_sync_core", MEMBARRIER),
    row("ipi_rseq", MEMBARRIER),
    row("ipi_sync_rq_state", MEMBARRIER),
    row("do_sync_core", PATCHING),
    row("text_poke_sync", PATCHING),
    row("rcu_exp_handler", GRACE),
    row("rcu_barrier_handler", Rcu),
    row("remote_function", PERF),
    row("event_function", PERF),
    row("__perf_event_read", PERF),
    row("__rdmsr_on_cpu", REGISTERS),
    row("__wrmsr_on_cpu", REGISTERS),
    row("__rdmsr_safe_on_cpu", REGISTERS),
    row("__wrmsr_safe_on_cpu", REGISTERS),
    row("aperfmperf_snap_khz", REGISTERS),
    row("do_drv_read", REGISTERS),
    row("cpuid_smp_cpuid", REGISTERS),
    row("nohz_csd_func", Domains("the scheduler asks idle CPUs to balance load")),
    row(
        "sched_ttwu_pending",
        Partition("a thread on another CPU woke a thread of this CPU"),
    ),
    row(
        "retrigger_next_event",
        Nothing("a program set the clock; slew it instead"),
    ),
    row(
        "wake_up_klogd_work_func",
        Nothing("the kernel logs a message on this CPU; see `dmesg` for its text, and keep the console quiet"),
    ),
];

/// The first of these functions that is in the table. A compiler may have added a suffix (`.isra.0`).
pub(super) fn known<'a>(functions: impl Iterator<Item = &'a str>) -> Option<Remedy> {
    let find = |function: &str| {
        let plain = function.split('.').next().unwrap_or(function);
        FUNCTIONS.iter().find(|row| row.name == plain)
    };
    functions.filter_map(find).map(|row| row.remedy).next()
}
