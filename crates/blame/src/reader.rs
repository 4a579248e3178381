//! Decodes trace records, using the kernel's format descriptions.

use crate::kernel_event::{Callee, KernelEvent, Request, Thread};
use crate::senders;
use events::{Field, Format, Formats, Record};

/// `CLONE_THREAD` (`include/uapi/linux/sched.h`).
const CLONE_THREAD: u64 = 0x1_0000;

/// `CSD_TYPE_TTWU` of `CSD_FLAG_TYPE_MASK` (`include/linux/smp_types.h`): the request is a woken thread.
const TYPE: u64 = 0xf0;
const TYPE_WOKEN: u64 = 0x30;

/// Decodes records.
#[derive(Clone, Debug)]
pub struct Reader {
    formats: Formats,
    kinds: Vec<Option<Kind>>,
}

#[derive(Clone, Debug)]
enum Kind {
    Switch(Box<[Field; 5]>, Option<Field>, Option<Field>),
    Waking(Box<[Field; 2]>, Option<Field>),
    Begun(Field, Field),
    Migrate(Field, Field),
    Born(Box<[Field; 3]>),
    Renamed(Field, Field),
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
    Reschedules(Field, Field),
    Asks(Box<[Field; 3]>, Option<Field>),
    AsksMany(Field, Field),
    AskSend(Field, Field),
    AskSendMask(Field, Field),
    CsdQueue(Field, Field),
    CsdEntry(Field, Option<Field>),
    CsdExit,
    TlbFlush(Field),
    TickStop(Field, Field),
    UserEnter,
    UserExit,
}

/// Progress of a disk request.
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
            ("sched", "sched_wakeup_new") => Kind::Begun(f("pid")?, f("target_cpu")?),
            ("sched", "sched_migrate_task") => Kind::Migrate(f("pid")?, f("dest_cpu")?),
            ("task", "task_newtask") => Kind::Born(Box::new([f("pid")?, f("comm")?, f("clone_flags")?])),
            ("task", "task_rename") => Kind::Renamed(f("pid")?, f("newcomm")?),
            ("irq", "irq_handler_entry") => Kind::IrqEntry(f("irq")?, f("name")?),
            ("irq", "irq_handler_exit") => Kind::IrqExit,
            ("irq", "softirq_raise") => Kind::SoftirqRaise(f("vec")?),
            ("irq", "softirq_entry") => Kind::SoftirqEntry(f("vec")?),
            ("irq", "softirq_exit") => Kind::SoftirqExit,
            ("irq_vectors", name) => match name.strip_suffix("_entry") {
                Some(vector) => Kind::VectorEntry(vector.to_owned()),
                // The other events of this system report how vectors are assigned, which interrupts no CPU.
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
            (group, name) if senders::is_group(group) => match name {
                "reschedules" => Kind::Reschedules(f("cpu")?, f("callsite")?),
                // Request flags are older than this meaning of them; in the function that queues a request they have it.
                "asks_one" => Kind::Asks(Box::new([f("function")?, f("callsite")?, f("call")?]), None),
                "queues_one" => Kind::Asks(
                    Box::new([f("function")?, f("callsite")?, f("call")?]),
                    Some(f("flags")?),
                ),
                "asks_many" => Kind::AsksMany(f("function")?, f("callsite")?),
                "calls_one" => Kind::AskSend(f("cpu")?, f("callsite")?),
                "calls_many" => Kind::AskSendMask(f("mask")?, f("callsite")?),
                _ => return None,
            },
            ("csd", "csd_queue_cpu") => Kind::CsdQueue(f("callsite")?, f("csd")?),
            ("csd", "csd_function_entry") => Kind::CsdEntry(f("func")?, f("csd")),
            ("csd", "csd_function_exit") => Kind::CsdExit,
            ("tlb", "tlb_flush") => Kind::TlbFlush(f("reason")?),
            ("context_tracking", "user_enter") => Kind::UserEnter,
            ("context_tracking", "user_exit") => Kind::UserExit,
            _ => return None,
        })
    }
}

impl Reader {
    /// Prepares for the events of one kernel.
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

    /// The format descriptions in use.
    #[must_use]
    pub const fn formats(&self) -> &Formats {
        &self.formats
    }

    /// Whether the event with that number is relevant to interruptions.
    #[must_use]
    pub fn understands(&self, id: u16) -> bool {
        self.kinds.get(usize::from(id)).is_some_and(Option::is_some)
    }

    /// The decoded record; `None` for an event that is irrelevant to interruptions, or truncated.
    #[must_use]
    pub fn read<'a>(&'a self, record: &Record<'a>) -> Option<KernelEvent<'a>> {
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
                KernelEvent::Switch {
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
                KernelEvent::Waking {
                    thread: Thread {
                        pid: n(pid)? as i32,
                        comm: text(comm)?,
                        prio: None,
                    },
                    target_cpu: target.as_ref().and_then(u).unwrap_or(0) as u32,
                }
            }
            Kind::Begun(pid, target_cpu) => KernelEvent::Begun {
                pid: n(pid)? as i32,
                target_cpu: u(target_cpu)? as u32,
            },
            Kind::Migrate(pid, to) => KernelEvent::Migrate {
                pid: n(pid)? as i32,
                to: u(to)? as u32,
            },
            Kind::Born(fields) => {
                let [pid, comm, flags] = fields.as_ref();
                KernelEvent::Born {
                    thread: Thread {
                        pid: n(pid)? as i32,
                        comm: text(comm)?,
                        prio: None,
                    },
                    of_process: u(flags)? & CLONE_THREAD != 0,
                }
            }
            Kind::Renamed(pid, comm) => KernelEvent::Renamed {
                thread: Thread {
                    pid: n(pid)? as i32,
                    comm: text(comm)?,
                    prio: None,
                },
            },
            Kind::IrqEntry(irq, name) => KernelEvent::IrqEntry {
                irq: n(irq)?,
                name: text(name)?,
            },
            Kind::IrqExit => KernelEvent::IrqExit,
            Kind::VectorEntry(name) => KernelEvent::VectorEntry {
                name: name.as_bytes(),
            },
            // arm's event contains the address of a text that only its kernel can print.
            Kind::IpiEntry(reason) => KernelEvent::VectorEntry {
                name: text(reason).filter(|text| text.is_ascii()).unwrap_or(b"ipi"),
            },
            Kind::VectorExit => KernelEvent::VectorExit,
            Kind::SoftirqRaise(vec) => KernelEvent::SoftirqRaise { vec: u(vec)? as u32 },
            Kind::SoftirqEntry(vec) => KernelEvent::SoftirqEntry { vec: u(vec)? as u32 },
            Kind::SoftirqExit => KernelEvent::SoftirqExit,
            Kind::Nmi(handler, delta_ns) => KernelEvent::Nmi {
                handler: u(handler)?,
                delta_ns: u(delta_ns)?,
            },
            Kind::Fault(address) => KernelEvent::Fault { address: u(address)? },
            Kind::SyscallEntry(nr) => KernelEvent::SyscallEntry { nr: n(nr)? },
            Kind::SyscallExit => KernelEvent::SyscallExit,
            Kind::Request(stage, fields, comm) => {
                let [dev, sector, rwbs] = fields.as_ref();
                let request = Request {
                    dev: u(dev)?,
                    sector: u(sector)?,
                    rwbs: text(rwbs)?,
                    comm: comm.as_ref().and_then(text).unwrap_or_default(),
                };
                match stage {
                    Stage::Made => KernelEvent::Request(request),
                    Stage::Issued => KernelEvent::RequestIssue(request),
                    Stage::Done => KernelEvent::RequestDone(request),
                }
            }
            Kind::TimerStart(timer, function) => KernelEvent::TimerStart {
                timer: u(timer)?,
                function: u(function)?,
            },
            Kind::TimerEntry(timer, function) => KernelEvent::TimerEntry {
                timer: u(timer)?,
                function: function.as_ref().and_then(u).unwrap_or(0),
            },
            Kind::TimerExit => KernelEvent::TimerExit,
            Kind::WorkQueue(work, function) => KernelEvent::WorkQueue {
                work: u(work)?,
                function: u(function)?,
            },
            Kind::WorkStart(work, function) => KernelEvent::WorkStart {
                work: u(work)?,
                function: function.as_ref().and_then(u).unwrap_or(0),
            },
            Kind::WorkEnd => KernelEvent::WorkEnd,
            Kind::IpiSend(fields) => {
                let [cpu, callsite, callback] = fields.as_ref();
                KernelEvent::IpiSend {
                    cpu: u(cpu)? as u32,
                    callsite: u(callsite)?,
                    callback: u(callback)?,
                }
            }
            Kind::IpiSendMask(fields) => {
                let [mask, callsite, callback] = fields.as_ref();
                KernelEvent::IpiSendMask {
                    mask: mask.content(payload, endian)?,
                    callsite: u(callsite)?,
                    callback: u(callback)?,
                }
            }
            Kind::Reschedules(cpu, callsite) => KernelEvent::IpiSend {
                cpu: u(cpu)? as u32,
                callsite: u(callsite)?,
                callback: 0,
            },
            Kind::Asks(fields, flags) => {
                let [function, callsite, call] = fields.as_ref();
                let is_woken = flags
                    .as_ref()
                    .and_then(u)
                    .is_some_and(|flags| flags & TYPE == TYPE_WOKEN);
                KernelEvent::Asks {
                    what: match is_woken {
                        true => Callee::Woken,
                        false => Callee::Function(u(function)?),
                    },
                    callsite: u(callsite)?,
                    call: u(call)?,
                }
            }
            Kind::AsksMany(function, callsite) => KernelEvent::Asks {
                what: Callee::Function(u(function)?),
                callsite: u(callsite)?,
                call: 0,
            },
            Kind::AskSend(cpu, callsite) => KernelEvent::AskSend {
                cpu: u(cpu)? as u32,
                callsite: u(callsite)?,
            },
            Kind::AskSendMask(mask, callsite) => KernelEvent::AskSendMask {
                mask: mask.bytes(payload)?,
                callsite: u(callsite)?,
            },
            Kind::CsdQueue(callsite, call) => KernelEvent::CsdQueue {
                callsite: u(callsite)?,
                call: u(call)?,
            },
            Kind::CsdEntry(function, call) => KernelEvent::CsdEntry {
                function: u(function)?,
                call: call.as_ref().and_then(u).unwrap_or(0),
            },
            Kind::CsdExit => KernelEvent::CsdExit,
            Kind::TlbFlush(reason) => KernelEvent::TlbFlush { reason: n(reason)? },
            Kind::TickStop(success, dependency) => KernelEvent::TickStop {
                success: n(success)? != 0,
                dependency: u(dependency)?,
            },
            Kind::UserEnter => KernelEvent::UserEnter,
            Kind::UserExit => KernelEvent::UserExit,
        })
    }
}
