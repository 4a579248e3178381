//! Decodes events of what a thread starts and another context finishes: timers, work items and disk requests.

use super::{EventRow, Payload};
use crate::kernel_event::{BlockRequest, KernelEvent};

pub(super) const ROWS: &[EventRow] = &[
    ("timer", "timer_start", "timer function", timer_start),
    ("timer", "hrtimer_start", "hrtimer function", timer_start),
    ("timer", "timer_expire_entry", "timer [function]", timer_entry),
    ("timer", "hrtimer_expire_entry", "hrtimer [function]", timer_entry),
    ("timer", "timer_expire_exit", "", |_| Some(KernelEvent::TimerExit)),
    ("timer", "hrtimer_expire_exit", "", |_| Some(KernelEvent::TimerExit)),
    ("timer", "tick_stop", "success dependency", |record| {
        Some(KernelEvent::TickStop {
            success: record.number(0)? != 0,
            dependency: record.unsigned(1)?,
        })
    }),
    ("workqueue", "workqueue_queue_work", "work function", |record| {
        Some(KernelEvent::WorkQueue {
            work: record.unsigned(0)?,
            function: record.unsigned(1)?,
        })
    }),
    ("workqueue", "workqueue_execute_start", "work [function]", |record| {
        Some(KernelEvent::WorkStart {
            work: record.unsigned(0)?,
            function: record.unsigned(1).unwrap_or(0),
        })
    }),
    ("workqueue", "workqueue_execute_end", "", |_| Some(KernelEvent::WorkEnd)),
    ("block", "block_io_start", REQUEST, |record| {
        request(record).map(KernelEvent::Request)
    }),
    ("block", "block_rq_insert", REQUEST, |record| {
        request(record).map(KernelEvent::Request)
    }),
    ("block", "block_rq_issue", REQUEST, |record| {
        request(record).map(KernelEvent::RequestIssue)
    }),
    ("block", "block_rq_complete", REQUEST, |record| {
        request(record).map(KernelEvent::RequestDone)
    }),
];

fn timer_start(record: Payload<'_>) -> Option<KernelEvent<'_>> {
    Some(KernelEvent::TimerStart {
        timer: record.unsigned(0)?,
        function: record.unsigned(1)?,
    })
}

fn timer_entry(record: Payload<'_>) -> Option<KernelEvent<'_>> {
    Some(KernelEvent::TimerEntry {
        timer: record.unsigned(0)?,
        function: record.unsigned(1).unwrap_or(0),
    })
}

/// The fields of a disk request.
const REQUEST: &str = "dev sector rwbs [comm]";

fn request(record: Payload<'_>) -> Option<BlockRequest<'_>> {
    Some(BlockRequest {
        dev: record.unsigned(0)?,
        sector: record.unsigned(1)?,
        rwbs: record.text(2)?,
        comm: record.text(3).unwrap_or_default(),
    })
}
