//! Interprets each event for the requested CPUs, in view of all earlier events.

mod causes;
mod contexts;
mod functions;
mod pending_calls;
mod thread_names;

use crate::answer::Culprit;
use crate::chains::Chains;
use crate::cpu::{self, CpuTracker};
use crate::kernel_event::KernelEvent;
use crate::kernel_numbers;
use crate::origins::{BoundedMap, Origins};
use crate::senders::SenderSupport;
use events::{AddressNames, CommonValues};
use pending_calls::PendingCall;
use std::collections::HashMap;

/// `common_flags`: in a hard interrupt, in a softirq.
const IN_INTERRUPT: u8 = 0x08 | 0x10;
/// States of a thread that could have continued have none of these bits (`kernel/sched`, `__trace_sched_switch_state`).
const SLEEPS: u64 = 0xff;

/// Whether the previous thread of a switch could have continued: it was preempted, and did not sleep.
#[must_use]
pub const fn could_go_on(prev_state: u64) -> bool {
    prev_state & SLEEPS == 0
}

/// State of the machine besides what runs on the requested CPUs.
pub(crate) struct BlameState<'n> {
    names: &'n dyn AddressNames,
    reported: SenderSupport,
    /// Names known beforehand.
    comms: HashMap<i32, String>,
    /// Names from events.
    recent_comms: BoundedMap<i32, String>,
    /// Events have been lost, possibly including thread creations.
    has_lost: bool,
    /// Threads that first appeared after a loss, without an event that reports their creator.
    first_seen_after_loss: BoundedMap<i32, ()>,
    origins: Origins,
    chains: Chains,
    /// The cause of the interrupt or softirq that starts with this event.
    entered: Option<Culprit>,
    /// The last TLB shootdown requested from other CPUs.
    flush: Option<(u64, Culprit)>,
    tick_reasons: HashMap<u32, &'static str>,
    /// Function calls being requested, by CPU and its interrupt context.
    pending_calls: HashMap<(u32, u8), PendingCall>,
}

/// Place and time of an event.
pub(crate) struct EventPosition {
    pub(crate) cpu: u32,
    pub(crate) at: u64,
    pub(crate) common: CommonValues,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'n> BlameState<'n> {
    /// Starts without events.
    pub(crate) fn new(
        names: &'n dyn AddressNames,
        tells: SenderSupport,
        comms: HashMap<i32, String>,
    ) -> BlameState<'n> {
        BlameState {
            names,
            reported: tells,
            comms,
            recent_comms: BoundedMap::default(),
            has_lost: false,
            first_seen_after_loss: BoundedMap::default(),
            origins: Origins::default(),
            chains: Chains::default(),
            entered: None,
            flush: None,
            tick_reasons: HashMap::new(),
            pending_calls: HashMap::new(),
        }
    }

    /// Processes an event.
    pub(crate) fn process(&mut self, cpus: &mut [CpuTracker], now: &EventPosition, event: &KernelEvent) {
        self.remember(now, event);
        cpu::follow(cpus, (now.cpu, now.common.pid, now.at), event);
        if let Some(target) = cpus.iter_mut().find(|target| target.cpu == now.cpu) {
            self.act(target, now, event);
        }
        self.follow(now, event);
    }
}

impl BlameState<'_> {
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
    fn culprit(&self, now: &EventPosition, callsite: Option<String>) -> Culprit {
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
            comm: if via.is_some() { String::new() } else { self.comm(pid) },
            threads: 1,
            cpu: now.cpu,
            callsite,
            via,
            chain: Vec::new(),
        }
    }

    /// Events of a CPU are missing: what waits for one of them must not become the cause of a later one.
    pub(crate) fn lost(&mut self, cpus: &mut [CpuTracker], cpu: u32, count: u64) {
        self.has_lost = true;
        self.pending_calls.retain(|(on, _), _| *on != cpu);
        self.chains.lost(cpu);
        self.origins.lost(cpu);
        if let Some(target) = cpus.iter_mut().find(|target| target.cpu == cpu) {
            target.lost(count);
        }
    }

    /// Records what the CPU is doing, for later events.
    fn follow(&mut self, now: &EventPosition, event: &KernelEvent) {
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
        self.chains.start(now.cpu, now.common.pid, name, cause);
    }
}
