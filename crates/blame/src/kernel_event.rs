//! Decodes the events that show what interrupts a CPU.
//!
//! System and name identify an event; the kernel's description gives the offsets of its fields.
//! If a kernel lacks an event or has other fields, only the facts of that event are missing.

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelEvent<'a> {
    /// The CPU switched from one thread to another.
    Switch {
        /// The previous thread.
        prev: EventThread<'a>,
        /// State of the previous thread; 0 means that it could have continued.
        prev_state: u64,
        /// The next thread.
        next: EventThread<'a>,
    },
    /// The current thread wakes a thread.
    Waking {
        /// The woken thread.
        thread: EventThread<'a>,
        /// CPU on which it will run.
        target_cpu: u32,
    },
    /// A new thread may run.
    ThreadStart {
        /// The new thread.
        pid: i32,
        /// Its CPU.
        target_cpu: u32,
    },
    /// A runnable thread moves to another CPU.
    Migrate {
        /// The thread.
        pid: i32,
        /// Its new CPU.
        to: u32,
    },
    /// The current thread created another one.
    ThreadCreated {
        /// The new one, with its creator's name.
        thread: EventThread<'a>,
        /// Whether it belongs to the same process.
        of_process: bool,
    },
    /// A thread has been renamed.
    Renamed {
        /// The thread, with the new name.
        thread: EventThread<'a>,
    },
    /// A device's hard interrupt started.
    IrqEntry {
        /// Its number.
        irq: i64,
        /// Names of its actions.
        name: &'a [u8],
    },
    /// It ended.
    IrqExit,
    /// An interrupt of the CPU itself started: x86's vectors, arm's IPIs.
    VectorEntry {
        /// `local_timer`, `reschedule`, `call_function_single`; arm's own names for its IPIs.
        name: &'a [u8],
    },
    /// It ended.
    VectorExit,
    /// A softirq was raised.
    SoftirqRaise {
        /// Its number.
        vec: u32,
    },
    /// It started to run.
    SoftirqEntry {
        /// Its number.
        vec: u32,
    },
    /// It ended.
    SoftirqExit,
    /// An NMI handler ran, and has ended.
    Nmi {
        /// The handler.
        handler: u64,
        /// How long it took.
        delta_ns: u64,
    },
    /// A page fault started. No event reports its end.
    Fault {
        /// The address accessed.
        address: u64,
    },
    /// A system call started.
    SyscallEntry {
        /// Its number.
        nr: i64,
    },
    /// It ended.
    SyscallExit,
    /// A disk request was created.
    Request(BlockRequest<'a>),
    /// A driver received it.
    RequestIssue(BlockRequest<'a>),
    /// It was completed.
    RequestDone(BlockRequest<'a>),
    /// The current thread set a timer.
    TimerStart {
        /// The timer.
        timer: u64,
        /// The function that it will call.
        function: u64,
    },
    /// A timer's function started.
    TimerEntry {
        /// The timer.
        timer: u64,
        /// The function; 0 if the event does not report it.
        function: u64,
    },
    /// It ended.
    TimerExit,
    /// The current thread queued work.
    WorkQueue {
        /// The work item.
        work: u64,
        /// The function that it will call.
        function: u64,
    },
    /// Work started, in a kworker or in a softirq.
    WorkStart {
        /// The work item.
        work: u64,
        /// The function that it calls.
        function: u64,
    },
    /// It ended.
    WorkEnd,
    /// The current CPU interrupts another one (6.4).
    IpiSend {
        /// The target CPU.
        cpu: u32,
        /// The kernel function that decided to.
        callsite: u64,
        /// The function to call there; 0 for a plain reschedule.
        callback: u64,
    },
    /// The current CPU interrupts several others.
    IpiSendMask {
        /// The target CPUs, in the kernel's mask layout.
        mask: &'a [u8],
        /// The kernel function that decided to.
        callsite: u64,
        /// The function to call there.
        callback: u64,
    },
    /// A probe of ours: the current thread requests a function call on other CPUs. The next event of the same CPU shows whether
    /// that takes an interrupt, and of which CPUs.
    CallRequest {
        /// The function to call.
        what: Callee,
        /// The kernel function that decided to.
        callsite: u64,
        /// The request; 0 if there is one per CPU.
        call: u64,
    },
    /// A probe of ours: one CPU is interrupted for a requested call.
    CallInterrupt {
        /// The target CPU.
        cpu: u32,
        /// The kernel function that decided to, if no request preceded it.
        callsite: u64,
    },
    /// A probe of ours: several CPUs are interrupted for a requested call.
    CallInterruptMask {
        /// The target CPUs, in the kernel's mask layout.
        mask: &'a [u8],
        /// The kernel function that decided to, if no request preceded it.
        callsite: u64,
    },
    /// The current thread requests a function call on another CPU (6.6), with or without a separate interrupt.
    CsdQueue {
        /// The kernel function that decided to.
        callsite: u64,
        /// The request.
        call: u64,
    },
    /// A function that another CPU requested started (6.6).
    CsdEntry {
        /// The function.
        function: u64,
        /// The request; 0 if the event does not report it.
        call: u64,
    },
    /// It ended.
    CsdExit,
    /// This CPU flushed translations, or requests that from others.
    TlbFlush {
        /// The kernel's number for the reason; 4 means a request to others (`TLB_REMOTE_SEND_IPI`).
        reason: i64,
    },
    /// The tick stops, or the event reports why it cannot.
    TickStop {
        /// Whether it stopped.
        success: bool,
        /// What prevents it; 0 for nothing.
        dependency: u64,
    },
    /// The current thread returns to user mode (only with context tracking).
    UserEnter,
    /// The current thread left user mode.
    UserExit,
}

/// The function that a CPU is requested to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// The function at this address.
    Function(u64),
    /// The function that puts a woken thread into its run queue there.
    Woken,
}

/// A thread, as described by an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventThread<'a> {
    /// Its number; 0 is the idle task.
    pub pid: i32,
    /// Its name.
    pub comm: &'a [u8],
    /// Its priority on the kernel's scale: below 0 deadline, below 100 real time, then ordinary.
    pub prio: Option<i64>,
}

impl BlockRequest<'_> {
    /// The key that identifies a request from creation to completion.
    pub(crate) const fn key(&self) -> (u64, u64) {
        (self.dev, self.sector)
    }

    /// The request, as text.
    pub(crate) fn what(&self) -> &'static str {
        match self.rwbs.first() {
            Some(b'R') => "disk read",
            Some(b'W') => "disk write",
            Some(b'F') => "disk flush",
            Some(b'D') => "disk discard",
            _ => "disk request",
        }
    }
}

impl EventThread<'_> {
    /// Whether it has precedence over all ordinary threads.
    #[must_use]
    pub fn is_real_time(&self) -> bool {
        self.prio.is_some_and(|prio| prio < 100)
    }
}

/// A disk request, as described by an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest<'a> {
    /// Number of the disk.
    pub dev: u64,
    /// Its first sector.
    pub sector: u64,
    /// Its operation, in the block layer's letters: `WS`, `R`, `FF`.
    pub rwbs: &'a [u8],
    /// The current thread; empty if the event does not report it.
    pub comm: &'a [u8],
}

/// CPUs of a mask in the kernel's memory layout, on a little-endian machine.
pub(crate) fn cpus_of(mask: &[u8]) -> Vec<u32> {
    let mut cpus = Vec::new();
    for (at, byte) in mask.iter().enumerate() {
        for bit in 0..8 {
            if byte & (1 << bit) != 0 {
                cpus.push((at * 8) as u32 + bit);
            }
        }
    }
    cpus
}
