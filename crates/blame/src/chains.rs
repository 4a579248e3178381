//! Follows causes back to the first one: the thread that sent the disk request whose interrupt raised the softirq, the
//! system call that the sender of an interrupt was in, the thread that the interrupt was to wake.

use crate::answer::{Culprit, Link};
use crate::kernel_numbers;
use std::collections::HashMap;

/// Maximum nesting of interrupts and softirqs. Lost end events must not grow this list.
const DEEPEST: usize = 8;
/// Maximum number of links in a chain.
const LONGEST: usize = 16;
/// Maximum number of threads whose system call is remembered.
const MOST_CALLS: usize = 65_536;
/// Maximum time from waking a thread to interrupting its CPU.
const WAKING_NS: u64 = 20_000;

/// An interrupt or softirq in progress.
#[derive(Clone, Debug)]
pub(crate) struct ActiveHandler {
    /// The thread that it interrupted; it stays in that thread.
    pid: i32,
    pub(crate) name: String,
    /// Its cause, which is passed on to what it does.
    pub(crate) cause: Option<Culprit>,
}

/// What is in progress on every CPU.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    busy: HashMap<u32, Vec<ActiveHandler>>,
    calls: HashMap<i32, &'static str>,
    woken: HashMap<u32, WakeUpRecord>,
}

#[derive(Debug)]
struct WakeUpRecord {
    at: u64,
    target_cpu: u32,
    comm: String,
}

impl Chains {
    /// What that thread has in progress there. With PREEMPT_RT another thread may run before a softirq has ended, and does its
    /// own work; without traced switches no other event shows that.
    pub(crate) fn innermost(&self, cpu: u32, pid: i32) -> Option<&ActiveHandler> {
        self.busy.get(&cpu)?.last().filter(|busy| busy.pid == pid)
    }

    pub(crate) fn start(&mut self, cpu: u32, pid: i32, name: String, cause: Option<Culprit>) {
        let busy = self.busy.entry(cpu).or_default();
        if busy.len() < DEEPEST {
            busy.push(ActiveHandler { pid, name, cause });
        }
    }

    pub(crate) fn end(&mut self, cpu: u32) {
        if let Some(busy) = self.busy.get_mut(&cpu) {
            busy.pop();
        }
    }

    /// Another thread runs there: its work in progress is empty.
    pub(crate) fn clear(&mut self, cpu: u32) {
        self.busy.remove(&cpu);
    }

    /// Events of that CPU are missing: what was in progress there has ended, and a system call may have ended.
    pub(crate) fn lost(&mut self, cpu: u32) {
        self.busy.remove(&cpu);
        self.woken.remove(&cpu);
        self.calls.clear();
    }

    /// The cause of what is in progress there is now known.
    pub(crate) fn caused(&mut self, cpu: u32, pid: i32, by: &Culprit) {
        let innermost = self.busy.get_mut(&cpu).and_then(|busy| busy.last_mut());
        if let Some(busy) = innermost.filter(|busy| busy.pid == pid) {
            busy.cause = Some(by.clone());
        }
    }

    pub(crate) fn start_call(&mut self, pid: i32, nr: i64) {
        self.calls.remove(&pid);
        if let Some(name) = kernel_numbers::call_name(nr).filter(|_| self.calls.len() < MOST_CALLS) {
            self.calls.insert(pid, name);
        }
    }

    pub(crate) fn call_ends(&mut self, pid: i32) {
        self.calls.remove(&pid);
    }

    pub(crate) fn wakes(&mut self, cpu: u32, at: u64, target_cpu: u32, comm: String) {
        self.woken.insert(cpu, WakeUpRecord { at, target_cpu, comm });
    }

    /// What a thread does while it sends an interrupt: its system call.
    pub(crate) fn in_call(&self, by: Culprit) -> Culprit {
        match self.calls.get(&by.pid) {
            Some(call) if by.pid != 0 && by.via.is_none() => by.with_own_work(call),
            _ => by,
        }
    }

    /// What a CPU does while it makes another one check its run queue: it wakes a thread there.
    pub(crate) fn in_waking(&self, by: Culprit, from: u32, at: u64, to: u32) -> Culprit {
        let woken = self
            .woken
            .get(&from)
            .filter(|woken| woken.target_cpu == to && at.saturating_sub(woken.at) <= WAKING_NS);
        match woken {
            Some(woken) => by.with_own_work(&format!("wakes {}", woken.comm)),
            None => by,
        }
    }
}

impl Culprit {
    /// The kernel itself, which throttles a real-time thread that has used up its share of a period
    /// (`/proc/sys/kernel/sched_rt_runtime_us`): a CPU with a runnable real-time thread idles for no other reason.
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

    /// Its chain; a direct cause is its own only link.
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

    /// Appends its own work to its chain.
    pub(crate) fn with_own_work(mut self, what: &str) -> Culprit {
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

    /// This cause, through an interrupt or softirq on a CPU.
    pub(crate) fn through(&self, via: &str, cpu: u32, callsite: Option<String>) -> Culprit {
        let mut chain = self.links();
        let is_there = |link: &Link| link.cpu == cpu && link.what == via;
        // A softirq that raises itself repeatedly is one link.
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

    /// Prepends this cause to the chain of `later`, unless `later` is itself a thread.
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
