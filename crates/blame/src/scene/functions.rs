//! Handles functions that an interrupt or softirq runs on behalf of a thread: timer functions and functions that another CPU
//! requested. One interrupt may run several, each with its own culprit and its own part of the time.

use super::BlameState;
use crate::context::ContextKind;
use crate::cpu::CpuTracker;
use observe::Class;

impl BlameState<'_> {
    /// A timer function runs in the current interrupt or softirq. Each of several has its own culprit.
    pub(super) fn timer(&mut self, cpu: &mut CpuTracker, timer: u64, function: u64) {
        let function = self.function(function);
        // The tick re-arms itself; the thread current at that time is unrelated.
        let setter = self
            .origins
            .timers
            .take(&timer)
            .filter(|_| !function.starts_with("tick_"));
        let Some(context) = cpu.innermost() else {
            return;
        };
        if !matches!(
            context.what,
            ContextKind::Vector { .. } | ContextKind::Irq { .. } | ContextKind::Softirq { .. }
        ) {
            return;
        }
        let is_anothers = context.has_functions && context.functions_of != setter;
        let context = if is_anothers { cpu.split() } else { Some(context) };
        if let Some(context) = context {
            context.timer(function, setter);
        }
    }

    /// A function that another CPU requested runs.
    pub(super) fn call(&mut self, cpu: &mut CpuTracker, call: u64, function: u64) {
        let requester = self.origins.calls.take(&call);
        let function = self.function(function);
        let Some(context) = cpu
            .innermost()
            .filter(|context| matches!(context.class, Class::FunctionCall | Class::TlbShootdown))
        else {
            return;
        };
        let is_anothers = context.has_functions && context.functions_of != requester;
        let context = if is_anothers { cpu.split() } else { Some(context) };
        if let Some(context) = context {
            context.call(function, requester);
        }
    }
}
