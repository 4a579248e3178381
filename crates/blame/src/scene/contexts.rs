//! Updates the contexts of a requested CPU: what starts and ends on it, and the culprit of each.

use super::{BlameState, EventPosition, could_go_on, text};
use crate::answer::Culprit;
use crate::context::{ContextKind, dependency_name};
use crate::cpu::CpuTracker;
use crate::kernel_event::{EventThread, KernelEvent};
use crate::kernel_numbers;
use observe::Class;

/// `EXIT_DEAD` and `EXIT_ZOMBIE` (`include/linux/sched.h`): it will never run again.
const DEAD: u64 = 0x30;

impl BlameState<'_> {
    /// Updates a requested CPU.
    pub(super) fn act(&mut self, cpu: &mut CpuTracker, now: &EventPosition, event: &KernelEvent) {
        if let KernelEvent::Nmi { handler, delta_ns } = *event {
            return self.nmi(cpu, now, handler, delta_ns);
        }
        self.observe_thread(cpu, now, event);
        let of_victim = cpu.is_victim(now.common.pid);
        match *event {
            KernelEvent::Switch { prev, prev_state, next } => self.switch(cpu, now, prev, prev_state, next),
            KernelEvent::SyscallEntry { .. } | KernelEvent::SyscallExit | KernelEvent::Fault { .. } => {
                if of_victim {
                    self.victim_in_kernel(cpu, now, event);
                }
            }
            KernelEvent::UserExit => {
                cpu.is_tracked = true;
                if of_victim {
                    cpu.leaves_user(now.common.pid);
                }
            }
            KernelEvent::UserEnter => {
                cpu.is_tracked = true;
                if of_victim {
                    cpu.enters_user(now.common.pid);
                }
            }
            KernelEvent::TimerEntry { timer, function } => self.timer(cpu, timer, function),
            KernelEvent::WorkStart { work, function } if !of_victim => {
                self.work_start(cpu, now, work, function);
            }
            KernelEvent::WorkEnd => cpu.end_in_task(|what| matches!(what, ContextKind::Work { .. })),
            KernelEvent::CsdEntry { function, call } => self.call(cpu, call, function),
            KernelEvent::TlbFlush { .. } => self.tlb_flush(cpu, now),
            KernelEvent::RequestDone(request) => {
                if let Some(by) = self.origins.requester(request.key()) {
                    cpu.completed(&by);
                    self.chains.caused(now.cpu, now.common.pid, &by);
                }
            }
            KernelEvent::TickStop { success: true, .. } => {
                self.tick_reasons.remove(&now.cpu);
            }
            KernelEvent::TickStop { dependency, .. } => {
                self.tick_reasons.insert(now.cpu, dependency_name(dependency));
            }
            _ => self.interrupt(cpu, now, event),
        }
    }

    /// The event is recorded at the end of the handler.
    fn nmi(&mut self, cpu: &mut CpuTracker, now: &EventPosition, handler: u64, delta_ns: u64) {
        cpu.charge(now.at.saturating_sub(delta_ns));
        let function = self.function(handler);
        if let Some(context) = cpu.start_irq(ContextKind::Nmi) {
            context.detail(function);
        }
        cpu.charge(now.at);
        cpu.end_irq(|what| *what == ContextKind::Nmi);
    }

    /// Charges the time until this event, and updates the current thread.
    #[inline]
    fn observe_thread(&mut self, cpu: &mut CpuTracker, now: &EventPosition, event: &KernelEvent) {
        let pid = now.common.pid;
        // Until a switch ends, the previous thread is still current, and the memory map is switched in between.
        let is_flush = matches!(event, KernelEvent::TlbFlush { .. });
        if !is_flush && cpu.left_idle(pid, || self.comm(pid)) {
            self.may_be_child(cpu, pid);
        }
        cpu.charge(now.at);
        if !is_flush && !matches!(event, KernelEvent::Switch { .. }) && cpu.seen(pid, &self.comm(pid)) {
            self.may_be_child(cpu, pid);
        }
    }

    #[inline]
    fn switch(
        &mut self,
        cpu: &mut CpuTracker,
        now: &EventPosition,
        prev: EventThread,
        prev_state: u64,
        next: EventThread,
    ) {
        let woken_by = if cpu.is_victim(next.pid) {
            None
        } else {
            self.origins.wakers.take(&next.pid)
        };
        let comm = if next.pid == 0 {
            "<idle>".to_owned()
        } else {
            text(next.comm)
        };
        cpu.switch(prev.pid, could_go_on(prev_state), (next.pid, &comm), woken_by);
        self.may_be_child(cpu, next.pid);
        let pushed_aside = cpu.is_victim(prev.pid) && could_go_on(prev_state) && prev.is_real_time();
        if let Some(task) = cpu.instead().filter(|_| pushed_aside) {
            match next.pid {
                0 => task.culprit = Some(Culprit::throttling(now.cpu)),
                _ => task.is_admitted = !next.is_real_time(),
            }
        }
        if prev_state & DEAD != 0 {
            cpu.end_thread(prev.pid);
        }
    }

    /// An interrupt or softirq starts or ends.
    #[inline]
    fn interrupt(&mut self, cpu: &mut CpuTracker, now: &EventPosition, event: &KernelEvent) {
        match *event {
            KernelEvent::IrqEntry { irq, name } => {
                cpu.start_irq(ContextKind::Irq { irq, name: text(name) });
            }
            KernelEvent::IrqExit => cpu.end_irq(|what| matches!(what, ContextKind::Irq { .. })),
            KernelEvent::VectorEntry { name } => {
                let name = text(name);
                if let Some(context) = cpu.start_irq(ContextKind::Vector { name }) {
                    self.sender_of(context, now);
                    self.entered = context.culprit.clone();
                }
            }
            KernelEvent::VectorExit => cpu.end_irq(|what| matches!(what, ContextKind::Vector { .. })),
            KernelEvent::SoftirqEntry { vec } => {
                let raiser = self.origins.raiser(now.cpu, vec);
                if let Some(context) = cpu.start_in_task(ContextKind::Softirq { vec }) {
                    context.culprit = raiser;
                    if kernel_numbers::serves_thread(vec) {
                        self.entered = context.culprit.clone();
                    }
                }
            }
            KernelEvent::SoftirqExit => cpu.end_softirq(),
            KernelEvent::SoftirqRaise {
                vec: kernel_numbers::SOFTIRQ_BLOCK,
            } => {
                if let Some(context) = cpu.innermost() {
                    context.raised_block = true;
                }
            }
            _ => {}
        }
    }

    /// A system call or page fault of the victim.
    fn victim_in_kernel(&mut self, cpu: &mut CpuTracker, now: &EventPosition, event: &KernelEvent) {
        let what = match *event {
            KernelEvent::SyscallEntry { nr } => ContextKind::Syscall { nr },
            KernelEvent::Fault { .. } => ContextKind::Fault,
            _ => return cpu.end_in_task(|what| matches!(what, ContextKind::Syscall { .. })),
        };
        let is_fault = what == ContextKind::Fault;
        cpu.end_in_task(|what| *what == ContextKind::Fault);
        let own = self.own(cpu, now);
        if let Some(context) = cpu.start_in_task(what) {
            context.culprit = own;
        }
        // Without an event for its end, it would take the time of the program or of its system call, so it is only counted.
        if is_fault && !cpu.is_measured() && (!cpu.is_tracked || cpu.is_in_call()) {
            cpu.end_in_task(|what| *what == ContextKind::Fault);
        }
    }

    fn work_start(&mut self, cpu: &mut CpuTracker, now: &EventPosition, work: u64, function: u64) {
        let (queuer, function) = (self.origins.works.take(&work), self.function(function));
        let worker = self.comm(now.common.pid);
        if let Some(context) = cpu.start_in_task(ContextKind::Work { function, worker }) {
            context.culprit = queuer;
        }
    }

    fn tlb_flush(&mut self, cpu: &mut CpuTracker, now: &EventPosition) {
        let innermost = cpu.innermost();
        if let Some(context) = innermost.filter(|context| context.class == Class::FunctionCall) {
            context.class = Class::TlbShootdown;
            self.flusher_of(context, now);
        }
    }

    /// The thread as its own culprit, if events are the only source.
    fn own(&self, cpu: &CpuTracker, now: &EventPosition) -> Option<Culprit> {
        (!cpu.is_measured()).then(|| Culprit {
            pid: now.common.pid,
            comm: self.comm(now.common.pid),
            threads: 1,
            cpu: now.cpu,
            callsite: None,
            via: None,
            chain: Vec::new(),
        })
    }
}
