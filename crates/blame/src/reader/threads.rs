//! Decodes events of threads: what runs on a CPU, and how it enters the kernel.

use super::{EventRow, Payload};
use crate::kernel_event::{EventThread, KernelEvent};

/// `CLONE_THREAD` (`include/uapi/linux/sched.h`).
const CLONE_THREAD: u64 = 0x1_0000;

pub(super) const ROWS: &[EventRow] = &[
    (
        "sched",
        "sched_switch",
        "prev_pid prev_comm prev_state next_pid next_comm [prev_prio] [next_prio]",
        |record| {
            Some(KernelEvent::Switch {
                prev: EventThread {
                    prio: record.number(5),
                    ..thread(record, 0)?
                },
                prev_state: record.unsigned(2)?,
                next: EventThread {
                    prio: record.number(6),
                    ..thread(record, 3)?
                },
            })
        },
    ),
    ("sched", "sched_waking", "pid comm [target_cpu]", |record| {
        Some(KernelEvent::Waking {
            thread: thread(record, 0)?,
            target_cpu: record.unsigned(2).unwrap_or(0) as u32,
        })
    }),
    ("sched", "sched_wakeup_new", "pid target_cpu", |record| {
        Some(KernelEvent::ThreadStart {
            pid: record.number(0)? as i32,
            target_cpu: record.unsigned(1)? as u32,
        })
    }),
    ("sched", "sched_migrate_task", "pid dest_cpu", |record| {
        Some(KernelEvent::Migrate {
            pid: record.number(0)? as i32,
            to: record.unsigned(1)? as u32,
        })
    }),
    ("task", "task_newtask", "pid comm clone_flags", |record| {
        Some(KernelEvent::ThreadCreated {
            thread: thread(record, 0)?,
            of_process: record.unsigned(2)? & CLONE_THREAD != 0,
        })
    }),
    ("task", "task_rename", "pid newcomm", |record| {
        Some(KernelEvent::Renamed {
            thread: thread(record, 0)?,
        })
    }),
    ("exceptions", "page_fault_user", "address", fault),
    ("exceptions", "page_fault_kernel", "address", fault),
    ("raw_syscalls", "sys_enter", "id", |record| {
        Some(KernelEvent::SyscallEntry { nr: record.number(0)? })
    }),
    ("raw_syscalls", "sys_exit", "", |_| Some(KernelEvent::SyscallExit)),
    ("context_tracking", "user_enter", "", |_| Some(KernelEvent::UserEnter)),
    ("context_tracking", "user_exit", "", |_| Some(KernelEvent::UserExit)),
];

fn fault(record: Payload<'_>) -> Option<KernelEvent<'_>> {
    Some(KernelEvent::Fault {
        address: record.unsigned(0)?,
    })
}

/// The thread whose number and name are the fields from this place.
#[inline]
fn thread(record: Payload<'_>, place: usize) -> Option<EventThread<'_>> {
    Some(EventThread {
        pid: record.number(place)? as i32,
        comm: record.text(place + 1)?,
        prio: None,
    })
}
