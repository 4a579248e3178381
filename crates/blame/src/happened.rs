//! What an event says, for those events that tell who interrupts a CPU.
//!
//! An event is known by its system and name; where its fields stand is taken from the description that the kernel gave.
//! A kernel without some event, or with other fields, costs what this event would have told and nothing else.

use events::{Field, Format, Formats, Record};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened<'a> {
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
    /// A function that another CPU asked for began (6.6).
    CsdEntry {
        /// It.
        function: u64,
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

/// Turns records into what they say.
#[derive(Clone, Debug)]
pub struct Reader {
    formats: Formats,
    kinds: Vec<Option<Kind>>,
}

#[derive(Clone, Debug)]
enum Kind {
    Switch(Box<[Field; 5]>, Option<Field>, Option<Field>),
    Waking(Box<[Field; 2]>, Option<Field>),
    IrqEntry(Field, Field),
    IrqExit,
    VectorEntry(String),
    IpiEntry(Field),
    VectorExit,
    SoftirqRaise(Field),
    SoftirqEntry(Field),
    SoftirqExit,
    Nmi(Field, Field),
    Fault(Field),
    SyscallEntry(Field),
    SyscallExit,
    Request(Stage, Box<[Field; 3]>, Option<Field>),
    TimerStart(Field, Field),
    TimerEntry(Field, Option<Field>),
    TimerExit,
    WorkQueue(Field, Field),
    WorkStart(Field, Option<Field>),
    WorkEnd,
    IpiSend(Box<[Field; 3]>),
    IpiSendMask(Box<[Field; 3]>),
    CsdEntry(Field),
    CsdExit,
    TlbFlush(Field),
    TickStop(Field, Field),
    UserEnter,
    UserExit,
}

/// How far a disk request is.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Made,
    Issued,
    Done,
}

impl Kind {
    fn of(format: &Format) -> Option<Kind> {
        let f = |name: &str| format.field(name).cloned();
        Some(match (format.system.as_str(), format.name.as_str()) {
            ("sched", "sched_switch") => Kind::Switch(
                Box::new([
                    f("prev_pid")?,
                    f("prev_comm")?,
                    f("prev_state")?,
                    f("next_pid")?,
                    f("next_comm")?,
                ]),
                f("prev_prio"),
                f("next_prio"),
            ),
            ("sched", "sched_waking") => Kind::Waking(Box::new([f("pid")?, f("comm")?]), f("target_cpu")),
            ("irq", "irq_handler_entry") => Kind::IrqEntry(f("irq")?, f("name")?),
            ("irq", "irq_handler_exit") => Kind::IrqExit,
            ("irq", "softirq_raise") => Kind::SoftirqRaise(f("vec")?),
            ("irq", "softirq_entry") => Kind::SoftirqEntry(f("vec")?),
            ("irq", "softirq_exit") => Kind::SoftirqExit,
            ("irq_vectors", name) => match name.strip_suffix("_entry") {
                Some(vector) => Kind::VectorEntry(vector.to_owned()),
                // The others of this system tell how vectors are given out; nobody is interrupted by that.
                None if name.ends_with("_exit") => Kind::VectorExit,
                None => return None,
            },
            ("nmi", "nmi_handler") => Kind::Nmi(f("handler")?, f("delta_ns")?),
            ("exceptions", "page_fault_user" | "page_fault_kernel") => Kind::Fault(f("address")?),
            ("raw_syscalls", "sys_enter") => Kind::SyscallEntry(f("id")?),
            ("raw_syscalls", "sys_exit") => Kind::SyscallExit,
            ("block", name) => {
                let stage = match name {
                    "block_io_start" | "block_rq_insert" => Stage::Made,
                    "block_rq_issue" => Stage::Issued,
                    "block_rq_complete" => Stage::Done,
                    _ => return None,
                };
                Kind::Request(stage, Box::new([f("dev")?, f("sector")?, f("rwbs")?]), f("comm"))
            }
            ("timer", "timer_start") => Kind::TimerStart(f("timer")?, f("function")?),
            ("timer", "hrtimer_start") => Kind::TimerStart(f("hrtimer")?, f("function")?),
            ("timer", "timer_expire_entry") => Kind::TimerEntry(f("timer")?, f("function")),
            ("timer", "hrtimer_expire_entry") => Kind::TimerEntry(f("hrtimer")?, f("function")),
            ("timer", "timer_expire_exit" | "hrtimer_expire_exit") => Kind::TimerExit,
            ("timer", "tick_stop") => Kind::TickStop(f("success")?, f("dependency")?),
            ("workqueue", "workqueue_queue_work") => Kind::WorkQueue(f("work")?, f("function")?),
            ("workqueue", "workqueue_execute_start") => Kind::WorkStart(f("work")?, f("function")),
            ("workqueue", "workqueue_execute_end") => Kind::WorkEnd,
            ("ipi", "ipi_send_cpu") => Kind::IpiSend(Box::new([f("cpu")?, f("callsite")?, f("callback")?])),
            ("ipi", "ipi_send_cpumask") => {
                Kind::IpiSendMask(Box::new([f("cpumask")?, f("callsite")?, f("callback")?]))
            }
            ("ipi", "ipi_entry") => Kind::IpiEntry(f("reason")?),
            ("ipi", "ipi_exit") => Kind::VectorExit,
            ("csd", "csd_function_entry") => Kind::CsdEntry(f("func")?),
            ("csd", "csd_function_exit") => Kind::CsdExit,
            ("tlb", "tlb_flush") => Kind::TlbFlush(f("reason")?),
            ("context_tracking", "user_enter") => Kind::UserEnter,
            ("context_tracking", "user_exit") => Kind::UserExit,
            _ => return None,
        })
    }
}

impl Reader {
    /// For the events of one kernel.
    #[must_use]
    pub fn new(formats: Formats) -> Reader {
        let mut kinds = Vec::new();
        for format in formats.all() {
            let id = usize::from(format.id);
            if kinds.len() <= id {
                kinds.resize_with(id + 1, || None);
            }
            if let Some(slot) = kinds.get_mut(id) {
                *slot = Kind::of(format);
            }
        }
        Reader { formats, kinds }
    }

    /// The descriptions that it reads by.
    #[must_use]
    pub const fn formats(&self) -> &Formats {
        &self.formats
    }

    /// Whether the event of that number tells something about interruptions.
    #[must_use]
    pub fn understands(&self, id: u16) -> bool {
        self.kinds.get(usize::from(id)).is_some_and(Option::is_some)
    }

    /// What a record says; nothing for an event that tells nothing about interruptions, or is cut.
    #[must_use]
    pub fn read<'a>(&'a self, record: &Record<'a>) -> Option<Happened<'a>> {
        let payload = record.payload;
        let common = self.formats.common(payload)?;
        let kind = self.kinds.get(usize::from(common.id))?.as_ref()?;
        let endian = self.formats.endian;
        let n = |field: &Field| field.number(payload, endian);
        let u = |field: &Field| field.unsigned(payload, endian);
        let text = |field: &Field| field.text(payload, endian);
        Some(match kind {
            Kind::Switch(fields, prev_prio, next_prio) => {
                let [prev_pid, prev_comm, prev_state, next_pid, next_comm] = fields.as_ref();
                Happened::Switch {
                    prev: Thread {
                        pid: n(prev_pid)? as i32,
                        comm: text(prev_comm)?,
                        prio: prev_prio.as_ref().and_then(n),
                    },
                    prev_state: u(prev_state)?,
                    next: Thread {
                        pid: n(next_pid)? as i32,
                        comm: text(next_comm)?,
                        prio: next_prio.as_ref().and_then(n),
                    },
                }
            }
            Kind::Waking(fields, target) => {
                let [pid, comm] = fields.as_ref();
                Happened::Waking {
                    thread: Thread {
                        pid: n(pid)? as i32,
                        comm: text(comm)?,
                        prio: None,
                    },
                    target_cpu: target.as_ref().and_then(u).unwrap_or(0) as u32,
                }
            }
            Kind::IrqEntry(irq, name) => Happened::IrqEntry {
                irq: n(irq)?,
                name: text(name)?,
            },
            Kind::IrqExit => Happened::IrqExit,
            Kind::VectorEntry(name) => Happened::VectorEntry {
                name: name.as_bytes(),
            },
            // arm's event carries the address of a text that only its kernel can show.
            Kind::IpiEntry(reason) => Happened::VectorEntry {
                name: text(reason).filter(|text| text.is_ascii()).unwrap_or(b"ipi"),
            },
            Kind::VectorExit => Happened::VectorExit,
            Kind::SoftirqRaise(vec) => Happened::SoftirqRaise { vec: u(vec)? as u32 },
            Kind::SoftirqEntry(vec) => Happened::SoftirqEntry { vec: u(vec)? as u32 },
            Kind::SoftirqExit => Happened::SoftirqExit,
            Kind::Nmi(handler, delta_ns) => Happened::Nmi {
                handler: u(handler)?,
                delta_ns: u(delta_ns)?,
            },
            Kind::Fault(address) => Happened::Fault { address: u(address)? },
            Kind::SyscallEntry(nr) => Happened::SyscallEntry { nr: n(nr)? },
            Kind::SyscallExit => Happened::SyscallExit,
            Kind::Request(stage, fields, comm) => {
                let [dev, sector, rwbs] = fields.as_ref();
                let request = Request {
                    dev: u(dev)?,
                    sector: u(sector)?,
                    rwbs: text(rwbs)?,
                    comm: comm.as_ref().and_then(text).unwrap_or_default(),
                };
                match stage {
                    Stage::Made => Happened::Request(request),
                    Stage::Issued => Happened::RequestIssue(request),
                    Stage::Done => Happened::RequestDone(request),
                }
            }
            Kind::TimerStart(timer, function) => Happened::TimerStart {
                timer: u(timer)?,
                function: u(function)?,
            },
            Kind::TimerEntry(timer, function) => Happened::TimerEntry {
                timer: u(timer)?,
                function: function.as_ref().and_then(u).unwrap_or(0),
            },
            Kind::TimerExit => Happened::TimerExit,
            Kind::WorkQueue(work, function) => Happened::WorkQueue {
                work: u(work)?,
                function: u(function)?,
            },
            Kind::WorkStart(work, function) => Happened::WorkStart {
                work: u(work)?,
                function: function.as_ref().and_then(u).unwrap_or(0),
            },
            Kind::WorkEnd => Happened::WorkEnd,
            Kind::IpiSend(fields) => {
                let [cpu, callsite, callback] = fields.as_ref();
                Happened::IpiSend {
                    cpu: u(cpu)? as u32,
                    callsite: u(callsite)?,
                    callback: u(callback)?,
                }
            }
            Kind::IpiSendMask(fields) => {
                let [mask, callsite, callback] = fields.as_ref();
                Happened::IpiSendMask {
                    mask: mask.content(payload, endian)?,
                    callsite: u(callsite)?,
                    callback: u(callback)?,
                }
            }
            Kind::CsdEntry(function) => Happened::CsdEntry {
                function: u(function)?,
            },
            Kind::CsdExit => Happened::CsdExit,
            Kind::TlbFlush(reason) => Happened::TlbFlush { reason: n(reason)? },
            Kind::TickStop(success, dependency) => Happened::TickStop {
                success: n(success)? != 0,
                dependency: u(dependency)?,
            },
            Kind::UserEnter => Happened::UserEnter,
            Kind::UserExit => Happened::UserExit,
        })
    }
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
