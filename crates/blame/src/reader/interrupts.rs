//! Decodes events of interrupts, softirqs and NMIs.

use super::EventRow;
use crate::kernel_event::KernelEvent;

pub(super) const ROWS: &[EventRow] = &[
    ("irq", "irq_handler_entry", "irq name", |record| {
        Some(KernelEvent::IrqEntry {
            irq: record.number(0)?,
            name: record.text(1)?,
        })
    }),
    ("irq", "irq_handler_exit", "", |_| Some(KernelEvent::IrqExit)),
    ("irq", "softirq_raise", "vec", |record| {
        Some(KernelEvent::SoftirqRaise {
            vec: record.unsigned(0)? as u32,
        })
    }),
    ("irq", "softirq_entry", "vec", |record| {
        Some(KernelEvent::SoftirqEntry {
            vec: record.unsigned(0)? as u32,
        })
    }),
    ("irq", "softirq_exit", "", |_| Some(KernelEvent::SoftirqExit)),
    ("irq_vectors", "entry", "", |record| {
        Some(KernelEvent::VectorEntry {
            name: record.kind.vector.as_bytes(),
        })
    }),
    ("irq_vectors", "exit", "", |_| Some(KernelEvent::VectorExit)),
    ("ipi", "ipi_entry", "reason", |record| {
        Some(KernelEvent::VectorEntry {
            // arm's event contains the address of a text that only its kernel can print.
            name: record.text(0).filter(|text| text.is_ascii()).unwrap_or(b"ipi"),
        })
    }),
    ("ipi", "ipi_exit", "", |_| Some(KernelEvent::VectorExit)),
    ("nmi", "nmi_handler", "handler delta_ns", |record| {
        Some(KernelEvent::Nmi {
            handler: record.unsigned(0)?,
            delta_ns: record.unsigned(1)?,
        })
    }),
];
