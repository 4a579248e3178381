//! Decodes events of what one CPU wants from others: IPIs, function calls and TLB flushes, as the kernel's events or our
//! kprobes report them.

use super::Payload;
use crate::kernel_event::{Callee, KernelEvent};
use crate::senders;
use events::{EventFormat, Field};

/// `CSD_TYPE_TTWU` of `CSD_FLAG_TYPE_MASK` (`include/linux/smp_types.h`): the request is a woken thread.
const TYPE: u64 = 0xf0;
const TYPE_WOKEN: u64 = 0x30;

/// The fields of such an event.
#[derive(Clone, Debug)]
pub(super) enum CrossCallFields {
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
}

impl CrossCallFields {
    pub(super) fn of(format: &EventFormat) -> Option<CrossCallFields> {
        let f = |name: &str| format.field(name).cloned();
        let three = |[a, b, c]: [&str; 3]| Some(Box::new([f(a)?, f(b)?, f(c)?]));
        Some(match (format.system.as_str(), format.name.as_str()) {
            ("ipi", "ipi_send_cpu") => CrossCallFields::IpiSend(three(["cpu", "callsite", "callback"])?),
            ("ipi", "ipi_send_cpumask") => CrossCallFields::IpiSendMask(three(["cpumask", "callsite", "callback"])?),
            (group, name) if senders::is_group(group) => match name {
                "reschedules" => CrossCallFields::Reschedules(f("cpu")?, f("callsite")?),
                // Request flags are older than this meaning of them; in the function that queues a request they have it.
                "asks_one" => CrossCallFields::Asks(three(["function", "callsite", "call"])?, None),
                "queues_one" => CrossCallFields::Asks(three(["function", "callsite", "call"])?, Some(f("flags")?)),
                "asks_many" => CrossCallFields::AsksMany(f("function")?, f("callsite")?),
                "calls_one" => CrossCallFields::AskSend(f("cpu")?, f("callsite")?),
                "calls_many" => CrossCallFields::AskSendMask(f("mask")?, f("callsite")?),
                _ => return None,
            },
            ("csd", "csd_queue_cpu") => CrossCallFields::CsdQueue(f("callsite")?, f("csd")?),
            ("csd", "csd_function_entry") => CrossCallFields::CsdEntry(f("func")?, f("csd")),
            ("csd", "csd_function_exit") => CrossCallFields::CsdExit,
            ("tlb", "tlb_flush") => CrossCallFields::TlbFlush(f("reason")?),
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn read<'a>(&self, payload: Payload<'a>) -> Option<KernelEvent<'a>> {
        let u = |field| payload.unsigned(field);
        Some(match self {
            CrossCallFields::IpiSend(fields) => {
                let [cpu, callsite, callback] = fields.as_ref();
                KernelEvent::IpiSend {
                    cpu: u(cpu)? as u32,
                    callsite: u(callsite)?,
                    callback: u(callback)?,
                }
            }
            CrossCallFields::IpiSendMask(fields) => {
                let [mask, callsite, callback] = fields.as_ref();
                KernelEvent::IpiSendMask {
                    mask: payload.content(mask)?,
                    callsite: u(callsite)?,
                    callback: u(callback)?,
                }
            }
            CrossCallFields::Reschedules(cpu, callsite) => KernelEvent::IpiSend {
                cpu: u(cpu)? as u32,
                callsite: u(callsite)?,
                callback: 0,
            },
            CrossCallFields::Asks(fields, flags) => {
                let [function, callsite, call] = fields.as_ref();
                KernelEvent::CallRequest {
                    what: callee(payload, function, flags.as_ref())?,
                    callsite: u(callsite)?,
                    call: u(call)?,
                }
            }
            CrossCallFields::AsksMany(function, callsite) => KernelEvent::CallRequest {
                what: Callee::Function(u(function)?),
                callsite: u(callsite)?,
                call: 0,
            },
            CrossCallFields::AskSend(cpu, callsite) => KernelEvent::CallInterrupt {
                cpu: u(cpu)? as u32,
                callsite: u(callsite)?,
            },
            CrossCallFields::AskSendMask(mask, callsite) => KernelEvent::CallInterruptMask {
                mask: payload.bytes(mask)?,
                callsite: u(callsite)?,
            },
            CrossCallFields::CsdQueue(callsite, call) => KernelEvent::CsdQueue {
                callsite: u(callsite)?,
                call: u(call)?,
            },
            CrossCallFields::CsdEntry(function, call) => KernelEvent::CsdEntry {
                function: u(function)?,
                call: call.as_ref().and_then(u).unwrap_or(0),
            },
            CrossCallFields::CsdExit => KernelEvent::CsdExit,
            CrossCallFields::TlbFlush(reason) => KernelEvent::TlbFlush {
                reason: payload.number(reason)?,
            },
        })
    }
}

/// What is requested: a call of this function, or to run a woken thread.
#[inline]
fn callee(payload: Payload, function: &Field, flags: Option<&Field>) -> Option<Callee> {
    let flags = flags.and_then(|flags| payload.unsigned(flags));
    match flags.is_some_and(|flags| flags & TYPE == TYPE_WOKEN) {
        true => Some(Callee::Woken),
        false => payload.unsigned(function).map(Callee::Function),
    }
}
