//! Decodes events of what one CPU wants from others: IPIs, function calls and TLB flushes, as the kernel's events or our
//! kprobes report them.

use super::{EventRow, PROBES};
use crate::kernel_event::{Callee, KernelEvent};

/// `CSD_TYPE_TTWU` of `CSD_FLAG_TYPE_MASK` (`include/linux/smp_types.h`): the request is a woken thread.
const TYPE: u64 = 0xf0;
const TYPE_WOKEN: u64 = 0x30;

pub(super) const ROWS: &[EventRow] = &[
    ("ipi", "ipi_send_cpu", "cpu callsite callback", |record| {
        Some(KernelEvent::IpiSend {
            cpu: record.unsigned(0)? as u32,
            callsite: record.unsigned(1)?,
            callback: record.unsigned(2)?,
        })
    }),
    ("ipi", "ipi_send_cpumask", "cpumask callsite callback", |record| {
        Some(KernelEvent::IpiSendMask {
            mask: record.field(0)?.content(record.bytes, record.endian)?,
            callsite: record.unsigned(1)?,
            callback: record.unsigned(2)?,
        })
    }),
    (PROBES, "reschedules", "cpu callsite", |record| {
        Some(KernelEvent::IpiSend {
            cpu: record.unsigned(0)? as u32,
            callsite: record.unsigned(1)?,
            callback: 0,
        })
    }),
    (PROBES, "asks_one", "function callsite call", |record| {
        Some(KernelEvent::CallRequest {
            what: Callee::Function(record.unsigned(0)?),
            callsite: record.unsigned(1)?,
            call: record.unsigned(2)?,
        })
    }),
    // Request flags are older than this meaning of them; in the function that queues a request they have it.
    (PROBES, "queues_one", "function callsite call flags", |record| {
        Some(KernelEvent::CallRequest {
            what: match record.unsigned(3).is_some_and(|flags| flags & TYPE == TYPE_WOKEN) {
                true => Callee::Woken,
                false => Callee::Function(record.unsigned(0)?),
            },
            callsite: record.unsigned(1)?,
            call: record.unsigned(2)?,
        })
    }),
    (PROBES, "asks_many", "function callsite", |record| {
        Some(KernelEvent::CallRequest {
            what: Callee::Function(record.unsigned(0)?),
            callsite: record.unsigned(1)?,
            call: 0,
        })
    }),
    (PROBES, "calls_one", "cpu callsite", |record| {
        Some(KernelEvent::CallInterrupt {
            cpu: record.unsigned(0)? as u32,
            callsite: record.unsigned(1)?,
        })
    }),
    (PROBES, "calls_many", "mask callsite", |record| {
        Some(KernelEvent::CallInterruptMask {
            mask: record.field(0)?.bytes(record.bytes)?,
            callsite: record.unsigned(1)?,
        })
    }),
    ("csd", "csd_queue_cpu", "callsite csd", |record| {
        Some(KernelEvent::CsdQueue {
            callsite: record.unsigned(0)?,
            call: record.unsigned(1)?,
        })
    }),
    ("csd", "csd_function_entry", "func [csd]", |record| {
        Some(KernelEvent::CsdEntry {
            function: record.unsigned(0)?,
            call: record.unsigned(1).unwrap_or(0),
        })
    }),
    ("csd", "csd_function_exit", "", |_| Some(KernelEvent::CsdExit)),
    ("tlb", "tlb_flush", "reason", |record| {
        Some(KernelEvent::TlbFlush {
            reason: record.number(0)?,
        })
    }),
];
