//! Remembers possible causes of later events: sent interrupts, woken threads, set timers, queued work. All are bounded: the
//! oldest entry is dropped.

use crate::answer::Culprit;
use std::collections::{HashMap, VecDeque};

/// Maximum number of entries of each kind.
const MOST: usize = 65_536;
/// Maximum number of sends per CPU that wait for their interrupt.
const MOST_SENDS: usize = 256;
/// Maximum time from a send to its interrupt; a CPU with interrupts off for longer has another problem.
const LONGEST_FLIGHT_NS: u64 = 100_000_000;

/// A sent interrupt.
#[derive(Clone, Debug)]
pub(crate) struct SentIpi {
    pub(crate) at: u64,
    /// Time at which the sender requested the work, before it sent the interrupt.
    pub(crate) requested_at: u64,
    pub(crate) to: IpiReason,
    pub(crate) by: Culprit,
}

/// The reason for interrupting a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpiReason {
    /// Check the run queue.
    Reschedule,
    /// Call this function.
    Call(u64),
    /// Put a woken thread into the run queue, by a function call.
    TakeWoken,
    /// Call an unknown function.
    CallSome,
}

/// Remembered events.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    sends: HashMap<u32, VecDeque<SentIpi>>,
    /// Who woke a thread.
    pub(crate) wakers: BoundedMap<i32, Culprit>,
    /// Who set a timer.
    pub(crate) timers: BoundedMap<u64, Culprit>,
    /// Who queued work.
    pub(crate) works: BoundedMap<u64, Culprit>,
    /// Who requested a CPU to call a function.
    pub(crate) calls: BoundedMap<u64, Culprit>,
    raised: HashMap<(u32, u32), Culprit>,
    requests: BoundedMap<(u64, u64), RequestOrigin>,
}

/// A disk request in progress.
#[derive(Debug)]
struct RequestOrigin {
    by: Culprit,
    /// The driver has received it.
    issued: bool,
}

/// A map that drops its oldest entries when full, at twice the number that it must keep.
#[derive(Debug)]
pub(crate) struct BoundedMap<K, V> {
    now: HashMap<K, V>,
    before: HashMap<K, V>,
}

impl<K, V> Default for BoundedMap<K, V> {
    fn default() -> Self {
        BoundedMap {
            now: HashMap::new(),
            before: HashMap::new(),
        }
    }
}

impl<K: std::hash::Hash + Eq, V> BoundedMap<K, V> {
    pub(crate) fn insert(&mut self, key: K, value: V) {
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
    pub(crate) fn sent(&mut self, to: u32, send: SentIpi) {
        let sends = self.sends.entry(to).or_default();
        if sends.len() >= MOST_SENDS {
            sends.pop_front();
        }
        sends.push_back(send);
    }

    /// The sender of the interrupt that starts now, and whether other threads sent one too: several sends before it arrive as
    /// one interrupt, and the first is to blame.
    pub(crate) fn sender(&mut self, cpu: u32, at: u64, is: impl Fn(&SentIpi) -> bool) -> Option<(SentIpi, bool)> {
        let sends = self.sends.get_mut(&cpu)?;
        sends.retain(|send| at.saturating_sub(send.at) <= LONGEST_FLIGHT_NS);
        let came = |send: &SentIpi| send.at <= at && is(send);
        let first = sends.iter().find(|send| came(send)).cloned()?;
        let is_shared = sends.iter().any(|send| came(send) && send.by.pid != first.by.pid);
        sends.retain(|send| !came(send));
        Some((first, is_shared))
    }

    /// Events of a CPU are missing: interrupts and softirqs pending there may have arrived, and woken threads may have run.
    pub(crate) fn lost(&mut self, cpu: u32) {
        self.sends.remove(&cpu);
        self.raised.retain(|(on, _), _| *on != cpu);
        self.wakers = BoundedMap::default();
        self.requests = BoundedMap::default();
        // The kernel reuses a request for the next call.
        self.calls = BoundedMap::default();
    }

    /// A softirq was raised on a CPU.
    pub(crate) fn raised(&mut self, cpu: u32, vec: u32, by: Culprit) {
        self.raised.entry((cpu, vec)).or_insert(by);
    }

    pub(crate) fn raiser(&mut self, cpu: u32, vec: u32) -> Option<Culprit> {
        self.raised.remove(&(cpu, vec))
    }

    /// A disk request was created, identified by its device and first sector.
    pub(crate) fn requested(&mut self, key: (u64, u64), by: Culprit) {
        let known = self.requests.get_mut(&key).is_some_and(|request| !request.issued);
        if !known {
            self.requests.insert(key, RequestOrigin { by, issued: false });
        }
    }

    /// The driver received a disk request: the thread that hands it over may not be the one that created it.
    pub(crate) fn issued(&mut self, key: (u64, u64), by: Culprit) {
        match self.requests.get_mut(&key) {
            Some(request) if !request.issued => request.issued = true,
            _ => self.requests.insert(key, RequestOrigin { by, issued: true }),
        }
    }

    pub(crate) fn requester(&mut self, key: (u64, u64)) -> Option<Culprit> {
        self.requests.take(&key).map(|request| request.by)
    }
}
