//! Defines the table of interruption classes: what each is, its usual cause, and how to stop it.

use serde::{Deserialize, Serialize};

/// Class of an interruption; `quietcore explain` describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The CPU's own timer.
    Tick,
    /// Rescheduling IPI.
    Reschedule,
    /// Function-call IPI.
    FunctionCall,
    /// TLB shootdown IPI.
    TlbShootdown,
    /// Deferred work in interrupt context.
    IrqWork,
    /// Non-maskable interrupt.
    Nmi,
    /// Performance counter overflow.
    Performance,
    /// Machine check: exception, poll or threshold.
    MachineCheck,
    /// Thermal event.
    Thermal,
    /// Timer broadcast to a CPU whose own timer stops in idle.
    TimerBroadcast,
    /// Stop, wake-up, crash and backtrace IPIs.
    CpuControl,
    /// A device interrupt.
    Device,
    /// A message from the hypervisor to its guest.
    Hypervisor,
    /// Notification for a guest that runs on this CPU.
    Guest,
    /// Softirq `TIMER`.
    SoftTimer,
    /// Softirq `HRTIMER`.
    SoftHrtimer,
    /// Softirq `SCHED`.
    SoftSched,
    /// Softirq `RCU`.
    SoftRcu,
    /// Softirqs `NET_RX` and `NET_TX`.
    SoftNet,
    /// Softirqs `BLOCK` and `IRQ_POLL`.
    SoftBlock,
    /// Softirqs `TASKLET` and `HI`.
    SoftTasklet,
    /// Another program's thread ran.
    Preemption,
    /// A kernel thread ran.
    KernelThread,
    /// Work from a workqueue ran.
    Work,
    /// The hypervisor ran another task.
    Steal,
    /// The firmware took the CPU (system management interrupt).
    Firmware,
    /// The program's own page fault.
    PageFault,
    /// The program's own system call.
    SystemCall,
    /// Spurious interrupts and read retries.
    Spurious,
    /// Any interruption that is not in the table.
    Other,
}

/// One row of [`CLASSES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClassRow {
    /// The class.
    pub class: Class,
    /// Its display name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub what: &'static str,
    /// Its usual cause.
    pub cause: &'static str,
    /// How to stop it; empty if nothing does.
    pub knob: &'static str,
}

const fn row(
    class: Class,
    name: &'static str,
    what: &'static str,
    cause: &'static str,
    knob: &'static str,
) -> ClassRow {
    ClassRow {
        class,
        name,
        what,
        cause,
        knob,
    }
}

/// The table, used by `check`, `blame`, `watch` and `explain`.
pub const CLASSES: &[ClassRow] = &[
    row(
        Class::Tick,
        "timer tick",
        "The CPU's own timer fired: the scheduler's tick, or a timer that a program set on this CPU.",
        "The CPU is not in nohz_full, has more than one runnable task, or a timer, RCU or perf needs its tick.",
        "boot with nohz_full=CPUS, keep one task per CPU, and set no timers there",
    ),
    row(
        Class::Reschedule,
        "rescheduling IPI",
        "Another CPU requested that this one check its run queue.",
        "A task here was woken, or this CPU was given work by another CPU.",
        "fewer wake-ups across CPUs: move the tasks that wake this one, or let it poll",
    ),
    row(
        Class::FunctionCall,
        "function-call IPI",
        "Another CPU made this one run a function of the kernel.",
        "membarrier, text patching (tracing, static keys), cpufreq and MSR reads, remote wake-ups, RCU barriers.",
        "run monitoring and tracing elsewhere; find the sender (trace event ipi_send_cpu) and move it to another time",
    ),
    row(
        Class::TlbShootdown,
        "TLB shootdown",
        "Another CPU unmapped or protected memory that this CPU may still hold translations for.",
        "A thread of the same process on another CPU calls munmap, mprotect or madvise, or the kernel migrates pages.",
        "no mapping changes in a process that has threads on isolated CPUs; numa_balancing 0, no THP compaction",
    ),
    row(
        Class::IrqWork,
        "IRQ work",
        "Work that the kernel deferred until interrupts were enabled.",
        "printk, perf, BPF, or the kernel restarting the tick of a nohz_full CPU.",
        "stop perf and BPF users on this CPU; a quiet console",
    ),
    row(
        Class::Nmi,
        "non-maskable interrupt",
        "An interrupt that cannot be masked.",
        "The hard-lockup watchdog, perf, crash and backtrace requests.",
        "exclude the CPU from kernel.watchdog_cpumask, or set nmi_watchdog=0",
    ),
    row(
        Class::Performance,
        "performance-counter interrupt",
        "A performance counter overflowed.",
        "perf, or the hard-lockup watchdog.",
        "end perf sessions; exclude the CPU from kernel.watchdog_cpumask",
    ),
    row(
        Class::MachineCheck,
        "machine check",
        "The hardware reported corrected errors, or the kernel polled for them.",
        "The poll every 300 s; memory errors.",
        "replace failing memory; check_interval 0 stops the poll and hides errors",
    ),
    row(
        Class::Thermal,
        "thermal event",
        "The processor crossed a temperature or power limit.",
        "Overheating, or a power limit.",
        "improve the cooling, or lower the frequency limit",
    ),
    row(
        Class::TimerBroadcast,
        "timer broadcast",
        "Another CPU's timer woke this one, because this CPU's own timer stops in deep idle.",
        "Deep idle states on machines where the per-CPU timer stops.",
        "no deep idle states on this CPU",
    ),
    row(
        Class::CpuControl,
        "CPU control IPI",
        "A request to stop, wake or describe this CPU.",
        "CPU hotplug, reboot, crash dumps, backtraces of all CPUs.",
        "no hotplug while the CPU works",
    ),
    row(
        Class::Device,
        "device interrupt",
        "A device requested service on this CPU.",
        "Its affinity includes this CPU, or the kernel manages it and refuses a change.",
        "write /proc/irq/N/smp_affinity_list; for managed ones boot with isolcpus=managed_irq,CPUS (kernel 5.6 and later)",
    ),
    row(
        Class::Hypervisor,
        "hypervisor callback",
        "The hypervisor sent its guest a message.",
        "Paravirtual events: asynchronous page faults, messages, timers.",
        "give the guest memory that is not swapped, and its own physical CPU",
    ),
    row(
        Class::Guest,
        "guest notification",
        "An interrupt for a virtual machine that runs on this CPU.",
        "A virtual CPU ran here.",
        "keep virtual machines away from this CPU",
    ),
    row(
        Class::SoftTimer,
        "timer softirq",
        "Timers of the kernel ran.",
        "Timers that were set on this CPU: the tick, drivers, the network.",
        "nohz_full=CPUS; take the CPU offline and online before the work starts, so that its timers move",
    ),
    row(
        Class::SoftHrtimer,
        "high-resolution timer softirq",
        "High-resolution timers ran outside the hard interrupt.",
        "Timers of tasks on this CPU, mostly with PREEMPT_RT.",
        "no timers in the tasks that run here",
    ),
    row(
        Class::SoftSched,
        "scheduler softirq",
        "The scheduler balanced load.",
        "The CPU is part of a scheduling domain, or serves idle CPUs.",
        "isolated cpuset partition, or isolcpus=domain,CPUS",
    ),
    row(
        Class::SoftRcu,
        "RCU softirq",
        "RCU callbacks ran here.",
        "The kernel freed memory on this CPU and its callbacks are not offloaded.",
        "rcu_nocbs=CPUS, which nohz_full=CPUS includes",
    ),
    row(
        Class::SoftNet,
        "network softirq",
        "Packets were received or sent here.",
        "A network interrupt on this CPU, packet steering, or a local sender.",
        "move the network card's interrupts; rps_cpus and xps_cpus without this CPU",
    ),
    row(
        Class::SoftBlock,
        "block softirq",
        "Disk requests were completed here.",
        "A disk interrupt on this CPU, or a task here that does disk I/O.",
        "move the disk's interrupts; no disk I/O from this CPU",
    ),
    row(
        Class::SoftTasklet,
        "tasklet",
        "A driver's deferred work ran here.",
        "An interrupt of that driver on this CPU.",
        "move the driver's interrupts",
    ),
    row(
        Class::Preemption,
        "preemption",
        "Another program's thread ran on this CPU.",
        "It may run here: its affinity and its cpuset include this CPU, and its priority was at least as high.",
        "isolate the CPU (cpuset partition or isolcpus), move the thread, or raise the priority of your own",
    ),
    row(
        Class::KernelThread,
        "kernel thread",
        "A kernel thread ran on this CPU.",
        "A thread that belongs to this CPU (ksoftirqd, migration, rcuc), or one that may run anywhere.",
        "move the movable ones; rcu_nocbs=CPUS; for the bound ones, find what queues their work",
    ),
    row(
        Class::Work,
        "workqueue work",
        "A kworker ran a queued function.",
        "A driver or file system queued it on this CPU, or the unbound workers may run here.",
        "write the housekeeping CPUs to /sys/devices/virtual/workqueue/cpumask; move the thread that queues it",
    ),
    row(
        Class::Steal,
        "steal",
        "The hypervisor ran something else on the physical CPU.",
        "The host has more virtual CPUs than physical ones, or does its own work for guests on the same CPUs.",
        "on the host: pin the virtual CPU to its own physical CPU, and isolate that CPU",
    ),
    row(
        Class::Firmware,
        "firmware",
        "A system management interrupt (SMI): the firmware took the CPU and the kernel saw nothing.",
        "USB legacy emulation, power and thermal management, memory scrubbing of the firmware.",
        "look for it in the firmware's settings (USB legacy support, C1E, fan control); ask the vendor",
    ),
    row(
        Class::PageFault,
        "page fault",
        "The program accessed memory that was not mapped yet.",
        "Memory that was not locked, or accessed for the first time.",
        "mlockall(MCL_CURRENT | MCL_FUTURE) and touch all memory before the work starts",
    ),
    row(
        Class::SystemCall,
        "system call",
        "The program called the kernel.",
        "Its own code, or a library that it uses.",
        "no knob: the program itself must avoid the call",
    ),
    row(
        Class::Spurious,
        "spurious interrupt",
        "An interrupt without a source.",
        "Hardware or firmware.",
        "",
    ),
    OTHER,
];

const OTHER: ClassRow = row(
    Class::Other,
    "other",
    "An interruption that this table does not contain.",
    "Unknown.",
    "",
);

impl Class {
    /// The table row; every class has one.
    #[must_use]
    pub fn row(self) -> &'static ClassRow {
        CLASSES.iter().find(|row| row.class == self).unwrap_or(&OTHER)
    }
}
