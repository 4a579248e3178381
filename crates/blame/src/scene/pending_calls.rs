//! Matches interrupts between CPUs: the sender of the one that starts, and its purpose.

use super::{BlameState, EventPosition, IN_INTERRUPT};
use crate::answer::{Confidence, Culprit};
use crate::context::ExecutionContext;
use crate::kernel_event::Callee;
use crate::origins::{IpiReason, SentIpi};
use observe::Class;

/// Maximum time from requesting a function call to sending its interrupt, even if an emulator stops the CPU in between.
const MAX_REQUEST_NS: u64 = 200_000_000;

/// A function call that a CPU is requesting, before it interrupts the targets.
pub(super) struct PendingCall {
    at: u64,
    pid: i32,
    call: u64,
    pub(super) to: IpiReason,
    pub(super) by: Culprit,
}

impl BlameState<'_> {
    /// An interrupt is sent to a CPU.
    pub(super) fn sent(&mut self, now: &EventPosition, cpu: u32, to: IpiReason, by: Culprit) {
        let (at, requested_at) = (now.at, now.at);
        let send = SentIpi {
            at,
            requested_at,
            to,
            by,
        };
        self.origins.sent(cpu, send);
    }

    /// An interrupt is sent to a CPU for an earlier request.
    pub(super) fn sent_for(&mut self, now: &EventPosition, cpu: u32, pending: &PendingCall, by: Culprit) {
        let (at, requested_at, to) = (now.at, pending.at, pending.to);
        self.origins.sent(
            cpu,
            SentIpi {
                at,
                requested_at,
                to,
                by,
            },
        );
    }

    /// Another thread has requested a function call since, and sent no interrupt because one was already pending.
    fn has_concurrent_request(&self, send: &SentIpi) -> bool {
        let mut waiting = self.pending_calls.values();
        waiting.any(|pending| pending.at >= send.requested_at && pending.pid != send.by.pid)
    }

    /// A thread requests a function call.
    pub(super) fn request_call(&mut self, now: &EventPosition, what: Callee, callsite: u64, call: u64) {
        let place = (now.cpu, now.common.flags & IN_INTERRUPT);
        let is_same = |pending: &PendingCall| pending.call == call && pending.pid == now.common.pid;
        // The function that queues a request is called by the one that received it, and that one's caller is more informative.
        if call != 0 && self.pending_calls.get(&place).is_some_and(is_same) {
            return;
        }
        let by = self.caller(now, callsite);
        let to = match what {
            Callee::Woken => IpiReason::TakeWoken,
            // If a kernel lays out requests differently, this is not a function.
            Callee::Function(address) => match self.names.symbol(address) {
                Some(symbol) if symbol.offset > 0 => IpiReason::CallSome,
                None if address == 0 => IpiReason::CallSome,
                _ => IpiReason::Call(address),
            },
        };
        let (at, pid) = (now.at, now.common.pid);
        self.pending_calls.insert(place, PendingCall { at, pid, call, to, by });
    }

    /// The request for which a CPU is interrupted now.
    pub(super) fn pending_request(&mut self, now: &EventPosition, callsite: u64) -> PendingCall {
        let pending = self.pending_calls.remove(&(now.cpu, now.common.flags & IN_INTERRUPT));
        let is_it = |pending_call: &PendingCall| {
            pending_call.pid == now.common.pid && now.at.saturating_sub(pending_call.at) <= MAX_REQUEST_NS
        };
        pending.filter(is_it).unwrap_or_else(|| PendingCall {
            at: now.at,
            pid: now.common.pid,
            call: 0,
            to: IpiReason::CallSome,
            by: self.caller(now, callsite),
        })
    }

    /// Sets the sender of the interrupt that starts.
    pub(super) fn sender_of(&mut self, context: &mut ExecutionContext, now: &EventPosition) {
        let found = match context.class {
            Class::Reschedule => self
                .origins
                .sender(now.cpu, now.at, |send| send.to == IpiReason::Reschedule),
            Class::FunctionCall => self
                .origins
                .sender(now.cpu, now.at, |send| send.to != IpiReason::Reschedule),
            Class::Tick => {
                if let Some(reason) = self.tick_reasons.get(&now.cpu) {
                    context.detail(format!("kept for {reason}"));
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
            && !self.reported.calls
            && (others_sent || self.has_concurrent_request(&send));
        match send.to {
            IpiReason::Call(callback) => {
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
            IpiReason::TakeWoken => context.detail("sched_ttwu_pending".to_owned()),
            IpiReason::Reschedule | IpiReason::CallSome => {}
        }
        context.culprit = Some(send.by);
        if !self.reported.sends || is_shared {
            context.confidence = Confidence::Inferred;
        }
    }

    /// Sets the sender of the flush request, on a kernel that does not report senders of interrupts.
    pub(super) fn flusher_of(&self, context: &mut ExecutionContext, now: &EventPosition) {
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
