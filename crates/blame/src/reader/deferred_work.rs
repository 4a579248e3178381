//! Decodes events of what a thread starts and another context finishes: timers, work items and disk requests.

use super::Payload;
use crate::kernel_event::{BlockRequest, KernelEvent};
use events::{EventFormat, Field};

/// The fields of such an event.
#[derive(Clone, Debug)]
pub(super) enum DeferredFields {
    TimerStart(Field, Field),
    TimerEntry(Field, Option<Field>),
    TimerExit,
    TickStop(Field, Field),
    WorkQueue(Field, Field),
    WorkStart(Field, Option<Field>),
    WorkEnd,
    Request(Stage, Box<[Field; 3]>, Option<Field>),
}

/// Progress of a disk request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Made,
    Issued,
    Done,
}

impl DeferredFields {
    pub(super) fn of(format: &EventFormat) -> Option<DeferredFields> {
        let f = |name: &str| format.field(name).cloned();
        Some(match (format.system.as_str(), format.name.as_str()) {
            ("timer", "timer_start") => DeferredFields::TimerStart(f("timer")?, f("function")?),
            ("timer", "hrtimer_start") => DeferredFields::TimerStart(f("hrtimer")?, f("function")?),
            ("timer", "timer_expire_entry") => DeferredFields::TimerEntry(f("timer")?, f("function")),
            ("timer", "hrtimer_expire_entry") => DeferredFields::TimerEntry(f("hrtimer")?, f("function")),
            ("timer", "timer_expire_exit" | "hrtimer_expire_exit") => DeferredFields::TimerExit,
            ("timer", "tick_stop") => DeferredFields::TickStop(f("success")?, f("dependency")?),
            ("workqueue", "workqueue_queue_work") => DeferredFields::WorkQueue(f("work")?, f("function")?),
            ("workqueue", "workqueue_execute_start") => DeferredFields::WorkStart(f("work")?, f("function")),
            ("workqueue", "workqueue_execute_end") => DeferredFields::WorkEnd,
            ("block", name) => {
                let stage = match name {
                    "block_io_start" | "block_rq_insert" => Stage::Made,
                    "block_rq_issue" => Stage::Issued,
                    "block_rq_complete" => Stage::Done,
                    _ => return None,
                };
                let fields = Box::new([f("dev")?, f("sector")?, f("rwbs")?]);
                DeferredFields::Request(stage, fields, f("comm"))
            }
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn read<'a>(&self, payload: Payload<'a>) -> Option<KernelEvent<'a>> {
        let u = |field| payload.unsigned(field);
        Some(match self {
            DeferredFields::TimerStart(timer, function) => KernelEvent::TimerStart {
                timer: u(timer)?,
                function: u(function)?,
            },
            DeferredFields::TimerEntry(timer, function) => KernelEvent::TimerEntry {
                timer: u(timer)?,
                function: function.as_ref().and_then(u).unwrap_or(0),
            },
            DeferredFields::TimerExit => KernelEvent::TimerExit,
            DeferredFields::TickStop(success, dependency) => KernelEvent::TickStop {
                success: payload.number(success)? != 0,
                dependency: u(dependency)?,
            },
            DeferredFields::WorkQueue(work, function) => KernelEvent::WorkQueue {
                work: u(work)?,
                function: u(function)?,
            },
            DeferredFields::WorkStart(work, function) => KernelEvent::WorkStart {
                work: u(work)?,
                function: function.as_ref().and_then(u).unwrap_or(0),
            },
            DeferredFields::WorkEnd => KernelEvent::WorkEnd,
            DeferredFields::Request(stage, fields, comm) => {
                let [dev, sector, rwbs] = fields.as_ref();
                let comm = comm.as_ref().and_then(|comm| payload.text(comm));
                let request = BlockRequest {
                    dev: u(dev)?,
                    sector: u(sector)?,
                    rwbs: payload.text(rwbs)?,
                    comm: comm.unwrap_or_default(),
                };
                match stage {
                    Stage::Made => KernelEvent::Request(request),
                    Stage::Issued => KernelEvent::RequestIssue(request),
                    Stage::Done => KernelEvent::RequestDone(request),
                }
            }
        })
    }
}
