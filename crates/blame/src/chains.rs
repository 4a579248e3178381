//! From what happened here back to what was first: the thread that sent the disk request whose interrupt raised the softirq,
//! the system call that the sender of an interrupt was in, the thread that was to be woken by it.

use crate::answer::{Culprit, Link};
use crate::kernel_numbers;
use std::collections::HashMap;

/// Most interrupts and softirqs that nest. An end that was lost must not make this grow.
const DEEPEST: usize = 8;
/// Most links of a chain.
const LONGEST: usize = 16;
/// Most threads whose system call is remembered.
const MOST_CALLS: usize = 65_536;
/// From waking a thread to interrupting its CPU no more time passes.
const WAKING_NS: u64 = 20_000;

/// An interrupt or softirq in progress.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    /// The thread it came into, which it does not leave.
    pid: i32,
    pub(crate) name: String,
    /// Who caused it; it passes that on to what it does.
    pub(crate) cause: Option<Culprit>,
}

/// What every CPU is in the middle of.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    busy: HashMap<u32, Vec<Busy>>,
    calls: HashMap<i32, &'static str>,
    woken: HashMap<u32, Woken>,
}

#[derive(Debug)]
struct Woken {
    at: u64,
    target_cpu: u32,
    comm: String,
}

impl Chains {
    /// What that thread is in the middle of there. With PREEMPT_RT another thread may run before a softirq has ended, and what
    /// that does is its own; where switches are not traced nothing else tells.
    pub(crate) fn innermost(&self, cpu: u32, pid: i32) -> Option<&Busy> {
        self.busy.get(&cpu)?.last().filter(|busy| busy.pid == pid)
    }

    pub(crate) fn begin(&mut self, cpu: u32, pid: i32, name: String, cause: Option<Culprit>) {
        let busy = self.busy.entry(cpu).or_default();
        if busy.len() < DEEPEST {
            busy.push(Busy { pid, name, cause });
        }
    }

    pub(crate) fn end(&mut self, cpu: u32) {
        if let Some(busy) = self.busy.get_mut(&cpu) {
            busy.pop();
        }
    }

    /// Another thread runs there: nothing is in progress.
    pub(crate) fn clear(&mut self, cpu: u32) {
        self.busy.remove(&cpu);
    }

    /// Events of that CPU are missing: what was in progress there has ended, and a system call may have.
    pub(crate) fn lost(&mut self, cpu: u32) {
        self.busy.remove(&cpu);
        self.woken.remove(&cpu);
        self.calls.clear();
    }

    /// What is in progress there turns out to be somebody's doing.
    pub(crate) fn caused(&mut self, cpu: u32, pid: i32, by: &Culprit) {
        let innermost = self.busy.get_mut(&cpu).and_then(|busy| busy.last_mut());
        if let Some(busy) = innermost.filter(|busy| busy.pid == pid) {
            busy.cause = Some(by.clone());
        }
    }

    pub(crate) fn call_begins(&mut self, pid: i32, nr: i64) {
        self.calls.remove(&pid);
        if let Some(name) = kernel_numbers::call_name(nr).filter(|_| self.calls.len() < MOST_CALLS) {
            self.calls.insert(pid, name);
        }
    }

    pub(crate) fn call_ends(&mut self, pid: i32) {
        self.calls.remove(&pid);
    }

    pub(crate) fn wakes(&mut self, cpu: u32, at: u64, target_cpu: u32, comm: String) {
        self.woken.insert(cpu, Woken { at, target_cpu, comm });
    }

    /// What a thread is doing while it sends an interrupt: its system call.
    pub(crate) fn in_call(&self, by: Culprit) -> Culprit {
        match self.calls.get(&by.pid) {
            Some(call) if by.pid != 0 && by.via.is_none() => by.doing(call),
            _ => by,
        }
    }

    /// What a CPU is doing while it makes another one look at its run queue: it wakes somebody there.
    pub(crate) fn in_waking(&self, by: Culprit, from: u32, at: u64, to: u32) -> Culprit {
        let woken = self
            .woken
            .get(&from)
            .filter(|woken| woken.target_cpu == to && at.saturating_sub(woken.at) <= WAKING_NS);
        match woken {
            Some(woken) => by.doing(&format!("wakes {}", woken.comm)),
            None => by,
        }
    }
}

impl Culprit {
    /// The kernel itself, which stops a real-time thread that has used up its share of a period
    /// (`/proc/sys/kernel/sched_rt_runtime_us`): nothing else lets a CPU idle on which one could run.
    pub(crate) fn throttling(cpu: u32) -> Culprit {
        Culprit {
            pid: 0,
            comm: String::new(),
            threads: 0,
            cpu,
            callsite: None,
            via: Some("real-time throttling".to_owned()),
            chain: Vec::new(),
        }
    }

    /// How it came, with itself as the only link where it came at once.
    pub(crate) fn links(&self) -> Vec<Link> {
        if !self.chain.is_empty() {
            return self.chain.clone();
        }
        vec![Link {
            what: self.via.clone().unwrap_or_default(),
            comm: self.comm.clone(),
            pid: self.pid,
            cpu: self.cpu,
        }]
    }

    /// With what it does at the end of its chain.
    pub(crate) fn doing(mut self, what: &str) -> Culprit {
        let mut chain = self.links();
        match chain.last_mut() {
            Some(last) if last.what.is_empty() => what.clone_into(&mut last.what),
            _ => chain.push(Link {
                what: what.to_owned(),
                comm: String::new(),
                pid: 0,
                cpu: self.cpu,
            }),
        }
        self.chain = chain;
        self
    }

    /// This one, by way of an interrupt or softirq on a CPU.
    pub(crate) fn through(&self, via: &str, cpu: u32, callsite: Option<String>) -> Culprit {
        let mut chain = self.links();
        let is_there = |link: &Link| link.cpu == cpu && link.what == via;
        // A softirq that asks for itself again and again is one link.
        if chain.len() < LONGEST && !chain.last().is_some_and(is_there) {
            chain.push(Link {
                what: via.to_owned(),
                comm: String::new(),
                pid: 0,
                cpu,
            });
        }
        Culprit {
            via: Some(via.to_owned()),
            callsite,
            chain,
            ..self.clone()
        }
    }

    /// The first cause of what was known to come from `later`, unless that is a thread itself.
    pub(crate) fn before(&self, later: Option<&Culprit>) -> Culprit {
        match later {
            None => self.clone(),
            Some(later) if later.pid != 0 => later.clone(),
            Some(later) => {
                let mut chain = self.links();
                chain.extend(later.links());
                Culprit {
                    via: later.via.clone(),
                    callsite: later.callsite.clone(),
                    chain,
                    ..self.clone()
                }
            }
        }
    }
}
