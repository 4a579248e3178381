//! Interprets each event for the requested CPUs, in view of all earlier events.

mod functions;
mod pending_calls;
mod thread_names;

use crate::answer::Culprit;
use crate::chains::Chains;
use crate::context::{What, dependency_name};
use crate::cpu::{self, Cpu};
use crate::kernel_event::{KernelEvent, Request, cpus_of};
use crate::kernel_numbers;
use crate::origins::{Memory, Origins, To};
use crate::senders::Tells;
use events::{Common, Names};
use observe::Class;
use pending_calls::PendingCall;
use std::collections::HashMap;

/// `TLB_REMOTE_SEND_IPI` (`include/linux/mm_types.h`): a request to others to flush translations.
const TLB_REMOTE_SEND_IPI: i64 = 4;
/// `common_flags`: in a hard interrupt, in a softirq.
const IN_INTERRUPT: u8 = 0x08 | 0x10;
/// States of a thread that could have continued have none of these bits (`kernel/sched`, `__trace_sched_switch_state`).
const SLEEPS: u64 = 0xff;

/// `EXIT_DEAD` and `EXIT_ZOMBIE` (`include/linux/sched.h`): it will never run again.
const DEAD: u64 = 0x30;

/// Whether the previous thread of a switch could have continued: it was preempted, and did not sleep.
#[must_use]
pub const fn could_go_on(prev_state: u64) -> bool {
    prev_state & SLEEPS == 0
}

/// State of the machine besides what runs on the requested CPUs.
pub(crate) struct Scene<'n> {
    names: &'n dyn Names,
    tells: Tells,
    /// Names known beforehand.
    comms: HashMap<i32, String>,
    /// Names from events.
    recent_comms: Memory<i32, String>,
    /// Events have been lost, possibly including thread creations.
    has_lost: bool,
    /// Threads that first appeared after a loss, without an event that reports their creator.
    unborn: Memory<i32, ()>,
    origins: Origins,
    chains: Chains,
    /// The cause of the interrupt or softirq that starts with this event.
    entered: Option<Culprit>,
    /// The last TLB shootdown requested from other CPUs.
    flush: Option<(u64, Culprit)>,
    tick_kept: HashMap<u32, &'static str>,
    /// Function calls being requested, by CPU and its interrupt context.
    asking: HashMap<(u32, u8), PendingCall>,
}

/// Place and time of an event.
pub(crate) struct Now {
    pub(crate) cpu: u32,
    pub(crate) at: u64,
    pub(crate) common: Common,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'n> Scene<'n> {
    /// Starts without events.
    pub(crate) fn new(names: &'n dyn Names, tells: Tells, comms: HashMap<i32, String>) -> Scene<'n> {
        Scene {
            names,
            tells,
            comms,
            recent_comms: Memory::default(),
            has_lost: false,
            unborn: Memory::default(),
            origins: Origins::default(),
            chains: Chains::default(),
            entered: None,
            flush: None,
            tick_kept: HashMap::new(),
            asking: HashMap::new(),
        }
    }

    /// Processes an event.
    pub(crate) fn happens(&mut self, cpus: &mut [Cpu], now: &Now, event: &KernelEvent) {
        self.remember(now, event);
        cpu::follow(cpus, (now.cpu, now.common.pid, now.at), event);
        if let Some(target) = cpus.iter_mut().find(|target| target.cpu == now.cpu) {
            self.act(target, now, event);
        }
        self.follow(now, event);
    }
}

impl Scene<'_> {
    fn function(&self, address: u64) -> String {
        let symbol = self.names.symbol(address);
        symbol.map_or_else(|| format!("{address:#x}"), |symbol| symbol.function.to_owned())
    }

    fn callsite(&self, address: u64) -> String {
        match self.names.symbol(address) {
            Some(symbol) => format!("{}+{:#x}", symbol.function, symbol.offset),
            None => format!("{address:#x}"),
        }
    }

    /// The current thread as culprit.
    fn culprit(&self, now: &Now, callsite: Option<String>) -> Culprit {
        let busy = self.chains.innermost(now.cpu, now.common.pid);
        if let Some((cause, busy)) = busy.and_then(|busy| Some((busy.cause.as_ref()?, busy))) {
            return cause.through(&busy.name, now.cpu, callsite);
        }
        let in_interrupt = now.common.flags & IN_INTERRUPT != 0;
        let via = match busy {
            Some(busy) => Some(busy.name.clone()),
            None if in_interrupt => Some("an interrupt".to_owned()),
            None => None,
        };
        // The interrupted thread is unrelated to what an interrupt does.
        let pid = if via.is_some() { 0 } else { now.common.pid };
        Culprit {
            pid,
            comm: if via.is_some() {
                String::new()
            } else {
                self.comm(pid)
            },
            threads: 1,
            cpu: now.cpu,
            callsite,
            via,
            chain: Vec::new(),
        }
    }

    /// Remembers what may become a cause later.
    fn remember(&mut self, now: &Now, event: &KernelEvent) {
        self.hear_of(now.common.pid);
        match *event {
            KernelEvent::Switch { prev, next, .. } => {
                self.hear_of(prev.pid);
                self.hear_of(next.pid);
                for thread in [prev, next] {
                    if thread.pid != 0 {
                        self.recent_comms.put(thread.pid, text(thread.comm));
                    }
                }
            }
            KernelEvent::Born { thread, .. } => {
                self.unborn.take(&thread.pid);
                self.recent_comms.put(thread.pid, text(thread.comm));
            }
            KernelEvent::Renamed { thread } => {
                self.recent_comms.put(thread.pid, text(thread.comm));
            }
            KernelEvent::Waking { thread, target_cpu } => {
                self.hear_of(thread.pid);
                self.recent_comms.put(thread.pid, text(thread.comm));
                let by = self.culprit(now, None);
                self.chains.wakes(now.cpu, now.at, target_cpu, text(thread.comm));
                if !self.tells.sends && target_cpu != now.cpu {
                    self.sent(now, target_cpu, To::Reschedule, by.clone());
                }
                self.origins.woken(thread.pid, by);
            }
            KernelEvent::IpiSend {
                cpu,
                callsite,
                callback,
            } => {
                let by = self.culprit(now, Some(self.callsite(callsite)));
                let (by, to) = match callback {
                    0 => (self.chains.in_waking(by, now.cpu, now.at, cpu), To::Reschedule),
                    _ => (self.chains.in_call(by), To::Call(callback)),
                };
                self.sent(now, cpu, to, by);
            }
            KernelEvent::IpiSendMask {
                mask,
                callsite,
                callback,
            } => {
                let by = self.culprit(now, Some(self.callsite(callsite)));
                let by = self.chains.in_call(by);
                for cpu in cpus_of(mask) {
                    self.sent(now, cpu, To::Call(callback), by.clone());
                }
            }
            KernelEvent::Asks { what, callsite, call } => self.asks(now, what, callsite, call),
            KernelEvent::AskSend { cpu, callsite } => {
                let asking = self.asked(now, callsite);
                let by = match asking.to {
                    To::TakeWoken => self.chains.in_waking(asking.by.clone(), now.cpu, now.at, cpu),
                    _ => asking.by.clone(),
                };
                self.sent_for(now, cpu, &asking, by);
            }
            KernelEvent::AskSendMask { mask, callsite } => {
                let asking = self.asked(now, callsite);
                for cpu in cpus_of(mask) {
                    self.sent_for(now, cpu, &asking, asking.by.clone());
                }
            }
            KernelEvent::TimerStart { timer, .. } => {
                let by = self.culprit(now, None);
                self.origins.timer_set(timer, by);
            }
            KernelEvent::WorkQueue { work, .. } => {
                let by = self.culprit(now, None);
                self.origins.queued(work, by);
            }
            KernelEvent::CsdQueue { callsite, call } => {
                let by = self.culprit(now, Some(self.callsite(callsite)));
                let by = self.chains.in_call(by);
                self.origins.asked(call, by);
            }
            KernelEvent::SoftirqRaise { vec } => {
                let by = self.culprit(now, None);
                self.origins.raised(now.cpu, vec, by);
            }
            KernelEvent::TlbFlush {
                reason: TLB_REMOTE_SEND_IPI,
            } => {
                self.flush = Some((now.at, self.chains.in_call(self.culprit(now, None))));
            }
            KernelEvent::SyscallEntry { nr } => self.chains.call_begins(now.common.pid, nr),
            KernelEvent::SyscallExit => self.chains.call_ends(now.common.pid),
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

    /// Events of a CPU are missing: what waits for one of them must not become the cause of a later one.
    pub(crate) fn lost(&mut self, cpus: &mut [Cpu], cpu: u32, count: u64) {
        self.has_lost = true;
        self.asking.retain(|(on, _), _| *on != cpu);
        self.chains.lost(cpu);
        self.origins.lost(cpu);
        if let Some(target) = cpus.iter_mut().find(|target| target.cpu == cpu) {
            target.lost(count);
        }
    }

    /// The current creator of a disk request.
    fn requester(&mut self, now: &Now, request: &Request) -> Culprit {
        if now.common.pid != 0 && !request.comm.is_empty() {
            self.recent_comms.put(now.common.pid, text(request.comm));
        }
        self.culprit(now, None).doing(request.what())
    }

    /// The thread as its own culprit, if events are the only source.
    fn own(&self, cpu: &Cpu, now: &Now) -> Option<Culprit> {
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

    /// Updates a requested CPU.
    fn act(&mut self, cpu: &mut Cpu, now: &Now, event: &KernelEvent) {
        if let KernelEvent::Nmi { handler, delta_ns } = *event {
            // The event is recorded at the end of the handler.
            cpu.charge(now.at.saturating_sub(delta_ns));
            let function = self.function(handler);
            if let Some(context) = cpu.begin_irq(What::Nmi) {
                context.detail(function);
            }
            cpu.charge(now.at);
            return cpu.end_irq(|what| *what == What::Nmi);
        }
        // Until a switch ends, the previous thread is still current, and the memory map is switched in between.
        if !matches!(event, KernelEvent::TlbFlush { .. })
            && cpu.left_idle(now.common.pid, || self.comm(now.common.pid))
        {
            self.may_be_child(cpu, now.common.pid);
        }
        cpu.charge(now.at);
        if !matches!(event, KernelEvent::Switch { .. } | KernelEvent::TlbFlush { .. }) {
            let comm = self.comm(now.common.pid);
            if cpu.seen(now.common.pid, &comm) {
                self.may_be_child(cpu, now.common.pid);
            }
        }
        let of_victim = cpu.is_victim(now.common.pid);
        match *event {
            KernelEvent::Switch {
                prev,
                prev_state,
                next,
            } => {
                let woken_by = if cpu.is_victim(next.pid) {
                    None
                } else {
                    self.origins.waker(next.pid)
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
                        _ => task.let_in = !next.is_real_time(),
                    }
                }
                if prev_state & DEAD != 0 {
                    cpu.dead(prev.pid);
                }
            }
            KernelEvent::IrqEntry { irq, name } => {
                cpu.begin_irq(What::Irq {
                    irq,
                    name: text(name),
                });
            }
            KernelEvent::IrqExit => cpu.end_irq(|what| matches!(what, What::Irq { .. })),
            KernelEvent::VectorEntry { name } => {
                let name = text(name);
                if let Some(context) = cpu.begin_irq(What::Vector { name }) {
                    self.sender_of(context, now);
                    self.entered = context.culprit.clone();
                }
            }
            KernelEvent::VectorExit => cpu.end_irq(|what| matches!(what, What::Vector { .. })),
            KernelEvent::SoftirqEntry { vec } => {
                let raiser = self.origins.raiser(now.cpu, vec);
                if let Some(context) = cpu.begin_in_task(What::Softirq { vec }) {
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
            KernelEvent::RequestDone(request) => {
                if let Some(by) = self.origins.requester(request.key()) {
                    cpu.completed(&by);
                    self.chains.caused(now.cpu, now.common.pid, &by);
                }
            }
            KernelEvent::SyscallEntry { nr } if of_victim => {
                cpu.end_in_task(|what| *what == What::Fault);
                let own = self.own(cpu, now);
                if let Some(context) = cpu.begin_in_task(What::Syscall { nr }) {
                    context.culprit = own;
                }
            }
            KernelEvent::SyscallExit if of_victim => {
                cpu.end_in_task(|what| matches!(what, What::Syscall { .. }))
            }
            KernelEvent::Fault { .. } if of_victim => {
                cpu.end_in_task(|what| *what == What::Fault);
                let own = self.own(cpu, now);
                if let Some(context) = cpu.begin_in_task(What::Fault) {
                    context.culprit = own;
                }
                // Without an event for its end, it would take the time of the program or of its system call, so it is only counted.
                if !cpu.is_measured() && (!cpu.is_tracked || cpu.is_in_call()) {
                    cpu.end_in_task(|what| *what == What::Fault);
                }
            }
            KernelEvent::UserExit | KernelEvent::UserEnter => {
                cpu.is_tracked = true;
                match (of_victim, event) {
                    (true, KernelEvent::UserExit) => cpu.leaves_user(now.common.pid),
                    (true, _) => cpu.enters_user(now.common.pid),
                    (false, _) => {}
                }
            }
            KernelEvent::TimerEntry { timer, function } => self.timer(cpu, timer, function),
            KernelEvent::WorkStart { work, function } if !of_victim => {
                let (queuer, function) = (self.origins.queuer(work), self.function(function));
                let worker = self.comm(now.common.pid);
                if let Some(context) = cpu.begin_in_task(What::Work { function, worker }) {
                    context.culprit = queuer;
                }
            }
            KernelEvent::WorkEnd => cpu.end_in_task(|what| matches!(what, What::Work { .. })),
            KernelEvent::CsdEntry { function, call } => self.call(cpu, call, function),
            KernelEvent::TlbFlush { .. } => {
                if let Some(context) = cpu
                    .innermost()
                    .filter(|context| context.class == Class::FunctionCall)
                {
                    context.class = Class::TlbShootdown;
                    self.flusher_of(context, now);
                }
            }
            KernelEvent::TickStop { success, dependency } => {
                if success {
                    self.tick_kept.remove(&now.cpu);
                } else {
                    self.tick_kept.insert(now.cpu, dependency_name(dependency));
                }
            }
            _ => {}
        }
    }

    /// Records what the CPU is doing, for later events.
    fn follow(&mut self, now: &Now, event: &KernelEvent) {
        let name = match *event {
            KernelEvent::IrqEntry { irq, name } => format!("irq {irq} {}", text(name)),
            KernelEvent::VectorEntry { name } => text(name),
            KernelEvent::SoftirqEntry { vec } => {
                // On other than the requested CPUs the raiser has not been looked up yet.
                let raiser = self.origins.raiser(now.cpu, vec);
                self.entered = self
                    .entered
                    .take()
                    .or(raiser.filter(|_| kernel_numbers::serves_thread(vec)));
                format!("softirq {}", kernel_numbers::softirq_name(vec))
            }
            KernelEvent::IrqExit | KernelEvent::VectorExit | KernelEvent::SoftirqExit => {
                return self.chains.end(now.cpu);
            }
            KernelEvent::Switch { .. } => return self.chains.clear(now.cpu),
            _ => return,
        };
        let cause = self.entered.take();
        self.chains.begin(now.cpu, now.common.pid, name, cause);
    }
}
