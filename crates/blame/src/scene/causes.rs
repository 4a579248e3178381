//! Remembers what may become the cause of a later interruption: names, wake-ups, sent interrupts, timers, work and requests.

use super::{BlameState, EventPosition, text};
use crate::answer::Culprit;
use crate::kernel_event::{BlockRequest, EventThread, KernelEvent, cpus_of};
use crate::origins::IpiReason;

/// `TLB_REMOTE_SEND_IPI` (`include/linux/mm_types.h`): a request to others to flush translations.
const TLB_REMOTE_SEND_IPI: i64 = 4;

impl BlameState<'_> {
    /// Remembers what an event may cause.
    pub(super) fn remember(&mut self, now: &EventPosition, event: &KernelEvent) {
        self.record_unknown_thread(now.common.pid);
        match *event {
            KernelEvent::Switch { prev, next, .. } => self.names_of_switch(prev, next),
            KernelEvent::ThreadCreated { thread, .. } => {
                self.first_seen_after_loss.take(&thread.pid);
                self.recent_comms.insert(thread.pid, text(thread.comm));
            }
            KernelEvent::Renamed { thread } => self.recent_comms.insert(thread.pid, text(thread.comm)),
            KernelEvent::Waking { thread, target_cpu } => self.waking(now, thread, target_cpu),
            KernelEvent::IpiSend {
                cpu,
                callsite,
                callback,
            } => self.ipi_send(now, cpu, callsite, callback),
            KernelEvent::IpiSendMask {
                mask,
                callsite,
                callback,
            } => self.ipi_send_mask(now, mask, callsite, callback),
            KernelEvent::CallRequest { what, callsite, call } => self.request_call(now, what, callsite, call),
            KernelEvent::CallInterrupt { cpu, callsite } => self.ask_send(now, cpu, callsite),
            KernelEvent::CallInterruptMask { mask, callsite } => self.ask_send_mask(now, mask, callsite),
            KernelEvent::CsdQueue { callsite, call } => {
                let by = self.caller(now, callsite);
                self.origins.calls.insert(call, by);
            }
            KernelEvent::TlbFlush {
                reason: TLB_REMOTE_SEND_IPI,
            } => self.flush = Some((now.at, self.chains.in_call(self.culprit(now, None)))),
            KernelEvent::SyscallEntry { nr } => self.chains.start_call(now.common.pid, nr),
            KernelEvent::SyscallExit => self.chains.call_ends(now.common.pid),
            _ => self.remember_deferred(now, event),
        }
    }

    /// Remembers who starts what another context finishes.
    #[inline]
    fn remember_deferred(&mut self, now: &EventPosition, event: &KernelEvent) {
        match *event {
            KernelEvent::TimerStart { timer, .. } => {
                let by = self.culprit(now, None);
                self.origins.timers.insert(timer, by);
            }
            KernelEvent::WorkQueue { work, .. } => {
                let by = self.culprit(now, None);
                self.origins.works.insert(work, by);
            }
            KernelEvent::SoftirqRaise { vec } => {
                let by = self.culprit(now, None);
                self.origins.raised(now.cpu, vec, by);
            }
            KernelEvent::Request(request) => {
                let by = self.requester(now, &request);
                self.origins.requested(request.key(), by);
            }
            KernelEvent::RequestIssue(request) => {
                let by = self.requester(now, &request);
                self.origins.issued(request.key(), by);
            }
            _ => {}
        }
    }

    #[inline]
    fn names_of_switch(&mut self, prev: EventThread, next: EventThread) {
        self.record_unknown_thread(prev.pid);
        self.record_unknown_thread(next.pid);
        for thread in [prev, next] {
            if thread.pid != 0 {
                self.recent_comms.insert(thread.pid, text(thread.comm));
            }
        }
    }

    #[inline]
    fn waking(&mut self, now: &EventPosition, thread: EventThread, target_cpu: u32) {
        self.record_unknown_thread(thread.pid);
        self.recent_comms.insert(thread.pid, text(thread.comm));
        let by = self.culprit(now, None);
        self.chains.wakes(now.cpu, now.at, target_cpu, text(thread.comm));
        if !self.reported.sends && target_cpu != now.cpu {
            self.sent(now, target_cpu, IpiReason::Reschedule, by.clone());
        }
        self.origins.wakers.insert(thread.pid, by);
    }

    fn ipi_send(&mut self, now: &EventPosition, cpu: u32, callsite: u64, callback: u64) {
        let by = self.culprit(now, Some(self.callsite(callsite)));
        let (by, to) = match callback {
            0 => (self.chains.in_waking(by, now.cpu, now.at, cpu), IpiReason::Reschedule),
            _ => (self.chains.in_call(by), IpiReason::Call(callback)),
        };
        self.sent(now, cpu, to, by);
    }

    fn ipi_send_mask(&mut self, now: &EventPosition, mask: &[u8], callsite: u64, callback: u64) {
        let by = self.caller(now, callsite);
        for cpu in cpus_of(mask) {
            self.sent(now, cpu, IpiReason::Call(callback), by.clone());
        }
    }

    fn ask_send(&mut self, now: &EventPosition, cpu: u32, callsite: u64) {
        let asking = self.pending_request(now, callsite);
        let by = match asking.to {
            IpiReason::TakeWoken => self.chains.in_waking(asking.by.clone(), now.cpu, now.at, cpu),
            _ => asking.by.clone(),
        };
        self.sent_for(now, cpu, &asking, by);
    }

    fn ask_send_mask(&mut self, now: &EventPosition, mask: &[u8], callsite: u64) {
        let asking = self.pending_request(now, callsite);
        for cpu in cpus_of(mask) {
            self.sent_for(now, cpu, &asking, asking.by.clone());
        }
    }

    /// The current thread in its system call, as culprit of a function call on another CPU.
    pub(super) fn caller(&self, now: &EventPosition, callsite: u64) -> Culprit {
        self.chains.in_call(self.culprit(now, Some(self.callsite(callsite))))
    }

    /// The current creator of a disk request.
    fn requester(&mut self, now: &EventPosition, request: &BlockRequest) -> Culprit {
        if now.common.pid != 0 && !request.comm.is_empty() {
            self.recent_comms.insert(now.common.pid, text(request.comm));
        }
        self.culprit(now, None).with_own_work(request.what())
    }
}
