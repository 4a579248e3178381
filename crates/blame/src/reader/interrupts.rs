//! Decodes events of interrupts, softirqs and NMIs.

use super::Payload;
use crate::kernel_event::KernelEvent;
use events::{EventFormat, Field};

/// The fields of such an event.
#[derive(Clone, Debug)]
pub(super) enum InterruptFields {
    IrqEntry(Field, Field),
    IrqExit,
    VectorEntry(String),
    IpiEntry(Field),
    VectorExit,
    SoftirqRaise(Field),
    SoftirqEntry(Field),
    SoftirqExit,
    Nmi(Field, Field),
}

impl InterruptFields {
    pub(super) fn of(format: &EventFormat) -> Option<InterruptFields> {
        let f = |name: &str| format.field(name).cloned();
        Some(match (format.system.as_str(), format.name.as_str()) {
            ("irq", "irq_handler_entry") => InterruptFields::IrqEntry(f("irq")?, f("name")?),
            ("irq", "irq_handler_exit") => InterruptFields::IrqExit,
            ("irq", "softirq_raise") => InterruptFields::SoftirqRaise(f("vec")?),
            ("irq", "softirq_entry") => InterruptFields::SoftirqEntry(f("vec")?),
            ("irq", "softirq_exit") => InterruptFields::SoftirqExit,
            ("irq_vectors", name) => match name.strip_suffix("_entry") {
                Some(vector) => InterruptFields::VectorEntry(vector.to_owned()),
                // The other events of this system report how vectors are assigned, which interrupts no CPU.
                None if name.ends_with("_exit") => InterruptFields::VectorExit,
                None => return None,
            },
            ("ipi", "ipi_entry") => InterruptFields::IpiEntry(f("reason")?),
            ("ipi", "ipi_exit") => InterruptFields::VectorExit,
            ("nmi", "nmi_handler") => InterruptFields::Nmi(f("handler")?, f("delta_ns")?),
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn read<'a>(&'a self, payload: Payload<'a>) -> Option<KernelEvent<'a>> {
        let u = |field| payload.unsigned(field);
        Some(match self {
            InterruptFields::IrqEntry(irq, name) => KernelEvent::IrqEntry {
                irq: payload.number(irq)?,
                name: payload.text(name)?,
            },
            InterruptFields::IrqExit => KernelEvent::IrqExit,
            InterruptFields::VectorEntry(name) => KernelEvent::VectorEntry { name: name.as_bytes() },
            // arm's event contains the address of a text that only its kernel can print.
            InterruptFields::IpiEntry(reason) => {
                let text = payload.text(reason);
                KernelEvent::VectorEntry {
                    name: text.filter(|text| text.is_ascii()).unwrap_or(b"ipi"),
                }
            }
            InterruptFields::VectorExit => KernelEvent::VectorExit,
            InterruptFields::SoftirqRaise(vec) => KernelEvent::SoftirqRaise { vec: u(vec)? as u32 },
            InterruptFields::SoftirqEntry(vec) => KernelEvent::SoftirqEntry { vec: u(vec)? as u32 },
            InterruptFields::SoftirqExit => KernelEvent::SoftirqExit,
            InterruptFields::Nmi(handler, delta_ns) => KernelEvent::Nmi {
                handler: u(handler)?,
                delta_ns: u(delta_ns)?,
            },
        })
    }
}
