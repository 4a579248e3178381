//! Remembers what may become the cause of a later interruption: names, wake-ups, sent interrupts, timers, work and requests.

use super::{Now, Scene, text};
use crate::answer::Culprit;
use crate::kernel_event::{KernelEvent, Request, Thread, cpus_of};
use crate::origins::To;

/// `TLB_REMOTE_SEND_IPI` (`include/linux/mm_types.h`): a request to others to flush translations.
const TLB_REMOTE_SEND_IPI: i64 = 4;

impl Scene<'_> {
    /// Remembers what an event may cause.
    pub(super) fn remember(&mut self, now: &Now, event: &KernelEvent) {
        self.hear_of(now.common.pid);
        match *event {
            KernelEvent::Switch { prev, next, .. } => self.names_of_switch(prev, next),
            KernelEvent::Born { thread, .. } => {
                self.unborn.take(&thread.pid);
                self.recent_comms.put(thread.pid, text(thread.comm));
            }
            KernelEvent::Renamed { thread } => self.recent_comms.put(thread.pid, text(thread.comm)),
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
            KernelEvent::Asks { what, callsite, call } => self.asks(now, what, callsite, call),
            KernelEvent::AskSend { cpu, callsite } => self.ask_send(now, cpu, callsite),
            KernelEvent::AskSendMask { mask, callsite } => self.ask_send_mask(now, mask, callsite),
            KernelEvent::CsdQueue { callsite, call } => {
                let by = self.caller(now, callsite);
                self.origins.asked(call, by);
            }
            KernelEvent::TlbFlush {
                reason: TLB_REMOTE_SEND_IPI,
            } => self.flush = Some((now.at, self.chains.in_call(self.culprit(now, None)))),
            KernelEvent::SyscallEntry { nr } => self.chains.call_begins(now.common.pid, nr),
            KernelEvent::SyscallExit => self.chains.call_ends(now.common.pid),
            _ => self.remember_deferred(now, event),
        }
    }

    /// Remembers who starts what another context finishes.
    #[inline]
    fn remember_deferred(&mut self, now: &Now, event: &KernelEvent) {
        match *event {
            KernelEvent::TimerStart { timer, .. } => {
                let by = self.culprit(now, None);
                self.origins.timer_set(timer, by);
            }
            KernelEvent::WorkQueue { work, .. } => {
                let by = self.culprit(now, None);
                self.origins.queued(work, by);
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
    fn names_of_switch(&mut self, prev: Thread, next: Thread) {
        self.hear_of(prev.pid);
        self.hear_of(next.pid);
        for thread in [prev, next] {
            if thread.pid != 0 {
                self.recent_comms.put(thread.pid, text(thread.comm));
            }
        }
    }

    #[inline]
    fn waking(&mut self, now: &Now, thread: Thread, target_cpu: u32) {
        self.hear_of(thread.pid);
        self.recent_comms.put(thread.pid, text(thread.comm));
        let by = self.culprit(now, None);
        self.chains.wakes(now.cpu, now.at, target_cpu, text(thread.comm));
        if !self.tells.sends && target_cpu != now.cpu {
            self.sent(now, target_cpu, To::Reschedule, by.clone());
        }
        self.origins.woken(thread.pid, by);
    }

    fn ipi_send(&mut self, now: &Now, cpu: u32, callsite: u64, callback: u64) {
        let by = self.culprit(now, Some(self.callsite(callsite)));
        let (by, to) = match callback {
            0 => (self.chains.in_waking(by, now.cpu, now.at, cpu), To::Reschedule),
            _ => (self.chains.in_call(by), To::Call(callback)),
        };
        self.sent(now, cpu, to, by);
    }

    fn ipi_send_mask(&mut self, now: &Now, mask: &[u8], callsite: u64, callback: u64) {
        let by = self.caller(now, callsite);
        for cpu in cpus_of(mask) {
            self.sent(now, cpu, To::Call(callback), by.clone());
        }
    }

    fn ask_send(&mut self, now: &Now, cpu: u32, callsite: u64) {
        let asking = self.asked(now, callsite);
        let by = match asking.to {
            To::TakeWoken => self.chains.in_waking(asking.by.clone(), now.cpu, now.at, cpu),
            _ => asking.by.clone(),
        };
        self.sent_for(now, cpu, &asking, by);
    }

    fn ask_send_mask(&mut self, now: &Now, mask: &[u8], callsite: u64) {
        let asking = self.asked(now, callsite);
        for cpu in cpus_of(mask) {
            self.sent_for(now, cpu, &asking, asking.by.clone());
        }
    }

    /// The current thread in its system call, as culprit of a function call on another CPU.
    pub(super) fn caller(&self, now: &Now, callsite: u64) -> Culprit {
        self.chains
            .in_call(self.culprit(now, Some(self.callsite(callsite))))
    }

    /// The current creator of a disk request.
    fn requester(&mut self, now: &Now, request: &Request) -> Culprit {
        if now.common.pid != 0 && !request.comm.is_empty() {
            self.recent_comms.put(now.common.pid, text(request.comm));
        }
        self.culprit(now, None).doing(request.what())
    }
}
