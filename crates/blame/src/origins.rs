//! What happened before and may turn out to be the cause: interrupts that were sent, threads that were woken, timers that
//! were set, work that was queued. All of it bounded: the oldest is forgotten.

use crate::answer::Culprit;
use std::collections::{HashMap, VecDeque};

/// Most that is remembered of each kind.
const MOST: usize = 65_536;
/// Most sends per CPU that wait for their interrupt.
const MOST_SENDS: usize = 256;
/// Longest time from a send to its interrupt; a CPU with interrupts off for longer has another problem.
const LONGEST_FLIGHT_NS: u64 = 100_000_000;

/// A send.
#[derive(Clone, Debug)]
pub(crate) struct Send {
    pub(crate) at: u64,
    /// Since when it was on its way to that: what it is for was asked before it was sent.
    pub(crate) asked: u64,
    pub(crate) to: To,
    pub(crate) by: Culprit,
}

/// What a CPU is interrupted to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// To look at its run queue.
    Reschedule,
    /// To call this function.
    Call(u64),
    /// To put a woken thread into its run queue, by way of a function call.
    TakeWoken,
    /// To call a function, nothing says which.
    CallSome,
}

/// What is remembered.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    sends: HashMap<u32, VecDeque<Send>>,
    wakers: Memory<i32, Culprit>,
    timers: Memory<u64, Culprit>,
    works: Memory<u64, Culprit>,
    calls: Memory<u64, Culprit>,
    raised: HashMap<(u32, u32), Culprit>,
    requests: Memory<(u64, u64), Request>,
}

/// A disk request on its way.
#[derive(Debug)]
struct Request {
    by: Culprit,
    /// The driver has it.
    issued: bool,
}

/// A map that forgets everything when it is full, twice as much as it must keep.
#[derive(Debug)]
pub(crate) struct Memory<K, V> {
    now: HashMap<K, V>,
    before: HashMap<K, V>,
}

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Memory {
            now: HashMap::new(),
            before: HashMap::new(),
        }
    }
}

impl<K: std::hash::Hash + Eq, V> Memory<K, V> {
    pub(crate) fn put(&mut self, key: K, value: V) {
        if self.now.len() >= MOST {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.insert(key, value);
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.now.get(key).or_else(|| self.before.get(key))
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self.now.get_mut(key) {
            Some(value) => Some(value),
            None => self.before.get_mut(key),
        }
    }

    pub(crate) fn take(&mut self, key: &K) -> Option<V> {
        let now = self.now.remove(key);
        let before = self.before.remove(key);
        now.or(before)
    }
}

impl Origins {
    pub(crate) fn sent(&mut self, to: u32, send: Send) {
        let sends = self.sends.entry(to).or_default();
        if sends.len() >= MOST_SENDS {
            sends.pop_front();
        }
        sends.push_back(send);
    }

    /// Who sent the interrupt that now begins, and whether others sent one too: several sends before it come as one
    /// interrupt, and the first is to blame.
    pub(crate) fn sender(&mut self, cpu: u32, at: u64, is: impl Fn(&Send) -> bool) -> Option<(Send, bool)> {
        let sends = self.sends.get_mut(&cpu)?;
        sends.retain(|send| at.saturating_sub(send.at) <= LONGEST_FLIGHT_NS);
        let came = |send: &Send| send.at <= at && is(send);
        let first = sends.iter().find(|send| came(send)).cloned()?;
        let is_shared = sends.iter().any(|send| came(send) && send.by.pid != first.by.pid);
        sends.retain(|send| !came(send));
        Some((first, is_shared))
    }

    /// Events of a CPU are missing: interrupts and softirqs that wait there may have come, and threads that were woken may
    /// have run.
    pub(crate) fn lost(&mut self, cpu: u32) {
        self.sends.remove(&cpu);
        self.raised.retain(|(on, _), _| *on != cpu);
        self.wakers = Memory::default();
        self.requests = Memory::default();
        // A request is used again for the next call.
        self.calls = Memory::default();
    }

    pub(crate) fn woken(&mut self, pid: i32, by: Culprit) {
        self.wakers.put(pid, by);
    }

    pub(crate) fn waker(&mut self, pid: i32) -> Option<Culprit> {
        self.wakers.take(&pid)
    }

    pub(crate) fn timer_set(&mut self, timer: u64, by: Culprit) {
        self.timers.put(timer, by);
    }

    pub(crate) fn timer_setter(&mut self, timer: u64) -> Option<Culprit> {
        self.timers.take(&timer)
    }

    pub(crate) fn queued(&mut self, work: u64, by: Culprit) {
        self.works.put(work, by);
    }

    pub(crate) fn queuer(&mut self, work: u64) -> Option<Culprit> {
        self.works.take(&work)
    }

    /// A CPU was asked to call a function.
    pub(crate) fn asked(&mut self, call: u64, by: Culprit) {
        self.calls.put(call, by);
    }

    pub(crate) fn asker(&mut self, call: u64) -> Option<Culprit> {
        self.calls.take(&call)
    }

    /// A softirq was asked for on a CPU.
    pub(crate) fn raised(&mut self, cpu: u32, vec: u32, by: Culprit) {
        self.raised.entry((cpu, vec)).or_insert(by);
    }

    pub(crate) fn raiser(&mut self, cpu: u32, vec: u32) -> Option<Culprit> {
        self.raised.remove(&(cpu, vec))
    }

    /// A disk request was made, known by its device and first sector.
    pub(crate) fn requested(&mut self, key: (u64, u64), by: Culprit) {
        let known = self.requests.get_mut(&key).is_some_and(|request| !request.issued);
        if !known {
            self.requests.put(key, Request { by, issued: false });
        }
    }

    /// The driver got a disk request: whoever hands it over may not be the one who made it.
    pub(crate) fn issued(&mut self, key: (u64, u64), by: Culprit) {
        match self.requests.get_mut(&key) {
            Some(request) if !request.issued => request.issued = true,
            _ => self.requests.put(key, Request { by, issued: true }),
        }
    }

    pub(crate) fn requester(&mut self, key: (u64, u64)) -> Option<Culprit> {
        self.requests.take(&key).map(|request| request.by)
    }
}
