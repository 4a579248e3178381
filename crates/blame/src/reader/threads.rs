//! Decodes events of threads: what runs on a CPU, and how it enters the kernel.

use super::Payload;
use crate::kernel_event::{EventThread, KernelEvent};
use events::{EventFormat, Field};

/// `CLONE_THREAD` (`include/uapi/linux/sched.h`).
const CLONE_THREAD: u64 = 0x1_0000;

/// The fields of such an event.
#[derive(Clone, Debug)]
pub(super) enum ThreadFields {
    Switch(Box<[Field; 5]>, Option<Field>, Option<Field>),
    Waking(Box<[Field; 2]>, Option<Field>),
    Begun(Field, Field),
    Migrate(Field, Field),
    Born(Box<[Field; 3]>),
    Renamed(Field, Field),
    Fault(Field),
    SyscallEntry(Field),
    SyscallExit,
    UserEnter,
    UserExit,
}

impl ThreadFields {
    pub(super) fn of(format: &EventFormat) -> Option<ThreadFields> {
        let f = |name: &str| format.field(name).cloned();
        Some(match (format.system.as_str(), format.name.as_str()) {
            ("sched", "sched_switch") => ThreadFields::Switch(
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
            ("sched", "sched_waking") => ThreadFields::Waking(Box::new([f("pid")?, f("comm")?]), f("target_cpu")),
            ("sched", "sched_wakeup_new") => ThreadFields::Begun(f("pid")?, f("target_cpu")?),
            ("sched", "sched_migrate_task") => ThreadFields::Migrate(f("pid")?, f("dest_cpu")?),
            ("task", "task_newtask") => ThreadFields::Born(Box::new([f("pid")?, f("comm")?, f("clone_flags")?])),
            ("task", "task_rename") => ThreadFields::Renamed(f("pid")?, f("newcomm")?),
            ("exceptions", "page_fault_user" | "page_fault_kernel") => ThreadFields::Fault(f("address")?),
            ("raw_syscalls", "sys_enter") => ThreadFields::SyscallEntry(f("id")?),
            ("raw_syscalls", "sys_exit") => ThreadFields::SyscallExit,
            ("context_tracking", "user_enter") => ThreadFields::UserEnter,
            ("context_tracking", "user_exit") => ThreadFields::UserExit,
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn read<'a>(&self, payload: Payload<'a>) -> Option<KernelEvent<'a>> {
        let n = |field| payload.number(field);
        let u = |field| payload.unsigned(field);
        Some(match self {
            ThreadFields::Switch(fields, prev_prio, next_prio) => {
                let [prev_pid, prev_comm, prev_state, next_pid, next_comm] = fields.as_ref();
                KernelEvent::Switch {
                    prev: EventThread {
                        prio: prev_prio.as_ref().and_then(n),
                        ..thread(payload, prev_pid, prev_comm)?
                    },
                    prev_state: u(prev_state)?,
                    next: EventThread {
                        prio: next_prio.as_ref().and_then(n),
                        ..thread(payload, next_pid, next_comm)?
                    },
                }
            }
            ThreadFields::Waking(fields, target) => {
                let [pid, comm] = fields.as_ref();
                KernelEvent::Waking {
                    thread: thread(payload, pid, comm)?,
                    target_cpu: target.as_ref().and_then(u).unwrap_or(0) as u32,
                }
            }
            ThreadFields::Begun(pid, target_cpu) => KernelEvent::ThreadStart {
                pid: n(pid)? as i32,
                target_cpu: u(target_cpu)? as u32,
            },
            ThreadFields::Migrate(pid, to) => KernelEvent::Migrate {
                pid: n(pid)? as i32,
                to: u(to)? as u32,
            },
            ThreadFields::Born(fields) => {
                let [pid, comm, flags] = fields.as_ref();
                KernelEvent::ThreadCreated {
                    thread: thread(payload, pid, comm)?,
                    of_process: u(flags)? & CLONE_THREAD != 0,
                }
            }
            ThreadFields::Renamed(pid, comm) => KernelEvent::Renamed {
                thread: thread(payload, pid, comm)?,
            },
            ThreadFields::Fault(address) => KernelEvent::Fault { address: u(address)? },
            ThreadFields::SyscallEntry(nr) => KernelEvent::SyscallEntry { nr: n(nr)? },
            ThreadFields::SyscallExit => KernelEvent::SyscallExit,
            ThreadFields::UserEnter => KernelEvent::UserEnter,
            ThreadFields::UserExit => KernelEvent::UserExit,
        })
    }
}

#[inline]
fn thread<'a>(payload: Payload<'a>, pid: &Field, comm: &Field) -> Option<EventThread<'a>> {
    Some(EventThread {
        pid: payload.number(pid)? as i32,
        comm: payload.text(comm)?,
        prio: None,
    })
}
