//! What an event says, for those events that tell who interrupts a CPU.
//!
//! An event is known by its system and name; where its fields stand is taken from the description that the kernel gave.
//! A kernel without some event, or with other fields, costs what this event would have told and nothing else.

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelEvent<'a> {
    /// The CPU went from one thread to another.
    Switch {
        /// Who left.
        prev: Thread<'a>,
        /// State of who left; 0 says that it could have gone on.
        prev_state: u64,
        /// Who runs now.
        next: Thread<'a>,
    },
    /// A thread is being woken, by who is current.
    Waking {
        /// Who.
        thread: Thread<'a>,
        /// Where it is to run.
        target_cpu: u32,
    },
    /// A new thread may run.
    Begun {
        /// Which.
        pid: i32,
        /// Where.
        target_cpu: u32,
    },
    /// A thread that could run goes to another CPU.
    Migrate {
        /// Which.
        pid: i32,
        /// Where to.
        to: u32,
    },
    /// The current thread made another one.
    Born {
        /// The new one, with its maker's name.
        thread: Thread<'a>,
        /// Whether it belongs to the same process.
        of_process: bool,
    },
    /// A thread has another name from now on.
    Renamed {
        /// With the new one.
        thread: Thread<'a>,
    },
    /// A hard interrupt of a device began.
    IrqEntry {
        /// Its number.
        irq: i64,
        /// Names of its actions.
        name: &'a [u8],
    },
    /// It ended.
    IrqExit,
    /// An interrupt of the CPU itself began: x86's vectors, arm's IPIs.
    VectorEntry {
        /// `local_timer`, `reschedule`, `call_function_single`; arm's own words for its IPIs.
        name: &'a [u8],
    },
    /// It ended.
    VectorExit,
    /// A softirq was asked for.
    SoftirqRaise {
        /// Its number.
        vec: u32,
    },
    /// It began to run.
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
    /// A page fault began. No event tells its end.
    Fault {
        /// The address that was wanted.
        address: u64,
    },
    /// A system call began.
    SyscallEntry {
        /// Its number.
        nr: i64,
    },
    /// It ended.
    SyscallExit,
    /// A disk request was made.
    Request(Request<'a>),
    /// A driver got it.
    RequestIssue(Request<'a>),
    /// It is done.
    RequestDone(Request<'a>),
    /// A timer was set, by who is current.
    TimerStart {
        /// It.
        timer: u64,
        /// What it will call.
        function: u64,
    },
    /// A timer's function began.
    TimerEntry {
        /// The timer.
        timer: u64,
        /// The function; 0 where the event does not say.
        function: u64,
    },
    /// It ended.
    TimerExit,
    /// Work was queued, by who is current.
    WorkQueue {
        /// It.
        work: u64,
        /// What it will call.
        function: u64,
    },
    /// Work began, in a kworker or in a softirq.
    WorkStart {
        /// It.
        work: u64,
        /// What it calls.
        function: u64,
    },
    /// It ended.
    WorkEnd,
    /// One CPU is being interrupted by the current one (6.4).
    IpiSend {
        /// Which.
        cpu: u32,
        /// Where in the kernel that was decided.
        callsite: u64,
        /// What is to be called there; 0 for a mere rescheduling.
        callback: u64,
    },
    /// Several are.
    IpiSendMask {
        /// Which, as the kernel lays out a mask.
        mask: &'a [u8],
        /// Where in the kernel that was decided.
        callsite: u64,
        /// What is to be called there.
        callback: u64,
    },
    /// A probe of ours: the current thread asks other CPUs to call a function. Whether that takes an interrupt, and of which
    /// CPUs, the next event of the same CPU tells.
    Asks {
        /// What is to be called.
        what: Callee,
        /// Where in the kernel that was decided.
        callsite: u64,
        /// The request; 0 where there is one for each CPU.
        call: u64,
    },
    /// A probe of ours: one CPU is interrupted for that.
    AskSend {
        /// Which.
        cpu: u32,
        /// Where in the kernel, if nobody asked before.
        callsite: u64,
    },
    /// A probe of ours: several are.
    AskSendMask {
        /// Which, as the kernel lays out a mask.
        mask: &'a [u8],
        /// Where in the kernel, if nobody asked before.
        callsite: u64,
    },
    /// The current thread asks another CPU to call a function (6.6), whether or not that takes an interrupt of its own.
    CsdQueue {
        /// Where in the kernel that was decided.
        callsite: u64,
        /// The request.
        call: u64,
    },
    /// A function that another CPU asked for began (6.6).
    CsdEntry {
        /// It.
        function: u64,
        /// The request; 0 where the event does not say.
        call: u64,
    },
    /// It ended.
    CsdExit,
    /// This CPU forgot translations, or tells others to.
    TlbFlush {
        /// The kernel's number for the reason; 4 tells that others are told (`TLB_REMOTE_SEND_IPI`).
        reason: i64,
    },
    /// The tick stops, or says what it cannot stop for.
    TickStop {
        /// Whether it stopped.
        success: bool,
        /// What keeps it; 0 for nothing.
        dependency: u64,
    },
    /// The current thread goes on in user mode (only with context tracking).
    UserEnter,
    /// It left user mode.
    UserExit,
}

/// What a CPU is asked to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// The function at this address.
    Function(u64),
    /// What puts a thread that was woken into its queue there.
    Woken,
}

/// A thread as an event names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread<'a> {
    /// Its number; 0 is the idle task.
    pub pid: i32,
    /// Its name.
    pub comm: &'a [u8],
    /// Its priority as the kernel counts: below 0 a deadline, below 100 real time, then ordinary.
    pub prio: Option<i64>,
}

impl Request<'_> {
    /// What the whole way of a request knows it by.
    pub(crate) const fn key(&self) -> (u64, u64) {
        (self.dev, self.sector)
    }

    /// In words.
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

impl Thread<'_> {
    /// Whether it comes before all ordinary threads.
    #[must_use]
    pub fn is_real_time(&self) -> bool {
        self.prio.is_some_and(|prio| prio < 100)
    }
}

/// A disk request as an event names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Number of the disk.
    pub dev: u64,
    /// Its first sector.
    pub sector: u64,
    /// What it does, in the block layer's letters: `WS`, `R`, `FF`.
    pub rwbs: &'a [u8],
    /// The thread that was current; empty where the event does not say.
    pub comm: &'a [u8],
}

/// CPUs of a mask as the kernel lays one out in memory, on a little-endian machine.
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
