//! What each event means for the CPUs that were asked about, with all that happened before.

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

/// `TLB_REMOTE_SEND_IPI` (`include/linux/mm_types.h`): others are told to forget translations.
const TLB_REMOTE_SEND_IPI: i64 = 4;
/// `common_flags`: in a hard interrupt, in a softirq.
const IN_INTERRUPT: u8 = 0x08 | 0x10;
/// States of a thread that could have gone on have none of these bits (`kernel/sched`, `__trace_sched_switch_state`).
const SLEEPS: u64 = 0xff;

/// `EXIT_DEAD` and `EXIT_ZOMBIE` (`include/linux/sched.h`): it will never run again.
const DEAD: u64 = 0x30;

/// Whether a thread that a CPU left could have gone on: it was preempted, it did not sleep.
#[must_use]
pub const fn could_go_on(prev_state: u64) -> bool {
    prev_state & SLEEPS == 0
}

/// What is known of the machine besides what runs on the CPUs that are asked about.
pub(crate) struct Scene<'n> {
    names: &'n dyn Names,
    tells: Tells,
    /// Names that were known beforehand.
    comms: HashMap<i32, String>,
    /// Names that events have.
    recent_comms: Memory<i32, String>,
    /// Events have been lost: births may be among them.
    has_lost: bool,
    /// Threads that were first heard of after that, and by nothing that tells who made them.
    unborn: Memory<i32, ()>,
    origins: Origins,
    chains: Chains,
    /// Who caused the interrupt or softirq that begins with this event.
    entered: Option<Culprit>,
    /// The last shootdown that somebody told others about.
    flush: Option<(u64, Culprit)>,
    tick_kept: HashMap<u32, &'static str>,
    /// Function calls that are being asked for, by CPU and what it is in the middle of.
    asking: HashMap<(u32, u8), PendingCall>,
}

/// Where and when something happens.
pub(crate) struct Now {
    pub(crate) cpu: u32,
    pub(crate) at: u64,
    pub(crate) common: Common,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'n> Scene<'n> {
    /// Nothing has happened yet.
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

    /// Something happened.
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

    /// Who does something now.
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
        // Whose time an interrupt takes has nothing to do with what it does.
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

    /// What may become a cause later.
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

    /// Events of a CPU are missing: what waits for one of them must not be taken for the cause of a later one.
    pub(crate) fn lost(&mut self, cpus: &mut [Cpu], cpu: u32, count: u64) {
        self.has_lost = true;
        self.asking.retain(|(on, _), _| *on != cpu);
        self.chains.lost(cpu);
        self.origins.lost(cpu);
        if let Some(target) = cpus.iter_mut().find(|target| target.cpu == cpu) {
            target.lost(count);
        }
    }

    /// Who makes a disk request now.
    fn requester(&mut self, now: &Now, request: &Request) -> Culprit {
        if now.common.pid != 0 && !request.comm.is_empty() {
            self.recent_comms.put(now.common.pid, text(request.comm));
        }
        self.culprit(now, None).doing(request.what())
    }

    /// The thread that does it to itself, when events alone have to tell.
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

    /// What changes on a CPU that is asked about.
    fn act(&mut self, cpu: &mut Cpu, now: &Now, event: &KernelEvent) {
        if let KernelEvent::Nmi { handler, delta_ns } = *event {
            // The event comes when the handler has ended.
            cpu.charge(now.at.saturating_sub(delta_ns));
            let function = self.function(handler);
            if let Some(context) = cpu.begin_irq(What::Nmi) {
                context.detail(function);
            }
            cpu.charge(now.at);
            return cpu.end_irq(|what| *what == What::Nmi);
        }
        // Between a switch and its end the former thread is still current, and the memory is changed there.
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
                // Where nothing tells when it ends, it would take the time of the program, or of its system call: it is
                // counted.
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

    /// Notes what the CPU is in the middle of, for what comes next.
    fn follow(&mut self, now: &Now, event: &KernelEvent) {
        let name = match *event {
            KernelEvent::IrqEntry { irq, name } => format!("irq {irq} {}", text(name)),
            KernelEvent::VectorEntry { name } => text(name),
            KernelEvent::SoftirqEntry { vec } => {
                // On a CPU that is not asked about nobody has looked who raised it.
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
