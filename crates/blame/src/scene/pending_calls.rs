//! Matches interrupts between CPUs: the sender of the one that starts, and its purpose.

use super::{IN_INTERRUPT, Now, Scene};
use crate::answer::{Confidence, Culprit};
use crate::context::Context;
use crate::kernel_event::Callee;
use crate::origins::{Send, To};
use observe::Class;

/// Maximum time from requesting a function call to sending its interrupt, even if an emulator stops the CPU in between.
const ASKING_NS: u64 = 200_000_000;

/// A function call that a CPU is requesting, before it interrupts the targets.
pub(super) struct PendingCall {
    at: u64,
    pid: i32,
    call: u64,
    pub(super) to: To,
    pub(super) by: Culprit,
}

impl Scene<'_> {
    /// An interrupt is sent to a CPU.
    pub(super) fn sent(&mut self, now: &Now, cpu: u32, to: To, by: Culprit) {
        let (at, asked) = (now.at, now.at);
        self.origins.sent(cpu, Send { at, asked, to, by });
    }

    /// An interrupt is sent to a CPU for an earlier request.
    pub(super) fn sent_for(&mut self, now: &Now, cpu: u32, asking: &PendingCall, by: Culprit) {
        let (at, asked, to) = (now.at, asking.at, asking.to);
        self.origins.sent(cpu, Send { at, asked, to, by });
    }

    /// Another thread has requested a function call since, and sent no interrupt because one was already pending.
    fn asked_beside(&self, send: &Send) -> bool {
        let mut waiting = self.asking.values();
        waiting.any(|asking| asking.at >= send.asked && asking.pid != send.by.pid)
    }

    /// A thread requests a function call.
    pub(super) fn asks(&mut self, now: &Now, what: Callee, callsite: u64, call: u64) {
        let place = (now.cpu, now.common.flags & IN_INTERRUPT);
        let is_same = |asking: &PendingCall| asking.call == call && asking.pid == now.common.pid;
        // The function that queues a request is called by the one that received it, and that one's caller is more informative.
        if call != 0 && self.asking.get(&place).is_some_and(is_same) {
            return;
        }
        let by = self.caller(now, callsite);
        let to = match what {
            Callee::Woken => To::TakeWoken,
            // If a kernel lays out requests differently, this is not a function.
            Callee::Function(address) => match self.names.symbol(address) {
                Some(symbol) if symbol.offset > 0 => To::CallSome,
                None if address == 0 => To::CallSome,
                _ => To::Call(address),
            },
        };
        let (at, pid) = (now.at, now.common.pid);
        self.asking.insert(
            place,
            PendingCall {
                at,
                pid,
                call,
                to,
                by,
            },
        );
    }

    /// The request for which a CPU is interrupted now.
    pub(super) fn asked(&mut self, now: &Now, callsite: u64) -> PendingCall {
        let asking = self.asking.remove(&(now.cpu, now.common.flags & IN_INTERRUPT));
        let is_it = |asking: &PendingCall| {
            asking.pid == now.common.pid && now.at.saturating_sub(asking.at) <= ASKING_NS
        };
        asking.filter(is_it).unwrap_or_else(|| PendingCall {
            at: now.at,
            pid: now.common.pid,
            call: 0,
            to: To::CallSome,
            by: self.caller(now, callsite),
        })
    }

    /// Sets the sender of the interrupt that starts.
    pub(super) fn sender_of(&mut self, context: &mut Context, now: &Now) {
        let found = match context.class {
            Class::Reschedule => self
                .origins
                .sender(now.cpu, now.at, |send| send.to == To::Reschedule),
            Class::FunctionCall => self
                .origins
                .sender(now.cpu, now.at, |send| send.to != To::Reschedule),
            Class::Tick => {
                if let Some(kept) = self.tick_kept.get(&now.cpu) {
                    context.detail(format!("kept for {kept}"));
                }
                None
            }
            _ => None,
        };
        let Some((send, others_sent)) = found else {
            return;
        };
        // Without events of the called functions, it is unknown which thread caused the time of each.
        let is_shared = context.class == Class::FunctionCall
            && !self.tells.calls
            && (others_sent || self.asked_beside(&send));
        match send.to {
            To::Call(callback) => {
                let function = self.function(callback);
                if function.contains("flush_tlb") {
                    context.class = Class::TlbShootdown;
                }
                // The dispatcher is not informative; the functions that it calls have events of their own.
                if !function.starts_with("generic_smp_call_function") {
                    context.detail(function);
                }
            }
            // The kernel function that enqueues woken threads.
            To::TakeWoken => context.detail("sched_ttwu_pending".to_owned()),
            To::Reschedule | To::CallSome => {}
        }
        context.culprit = Some(send.by);
        if !self.tells.sends || is_shared {
            context.confidence = Confidence::Inferred;
        }
    }

    /// Sets the sender of the flush request, on a kernel that does not report senders of interrupts.
    pub(super) fn flusher_of(&self, context: &mut Context, now: &Now) {
        const FLIGHT_NS: u64 = 1_000_000;
        let flush = self.flush.as_ref().filter(|(at, by)| {
            by.cpu != now.cpu && now.at.saturating_sub(*at) <= FLIGHT_NS && context.culprit.is_none()
        });
        if let Some((_, by)) = flush {
            context.culprit = Some(by.clone());
            context.confidence = Confidence::Inferred;
        }
    }
}
