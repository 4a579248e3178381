//! Answers two common questions about a trace: how long did a thread run without the kernel, and how long did it wait for its
//! CPU.
//!
//! The first is the `awk` script of many articles ("Max uninterrupted exec"): the longest time between two events of one CPU.
//! Here it only counts if the thread was current at both ends, and no events were lost in between.

mod pages;

pub use pages::{RunsOfCpu, longest_run_of_pages};

use std::collections::HashMap;

/// One event, reduced to what these questions need, from a trace in any format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadEvent<'a> {
    /// CPU that recorded it.
    pub cpu: u32,
    /// Timestamp, in units of the trace clock.
    pub at: u64,
    /// Thread that was current; 0 is the idle task.
    pub pid: i32,
    /// Its name.
    pub comm: &'a str,
    /// Its effect on threads.
    pub what: ThreadChange<'a>,
}

/// Effect of an event on threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadChange<'a> {
    /// Nothing.
    Nothing,
    /// The CPU switched to another thread.
    Switch {
        /// Whether the previous thread could have continued.
        preempted: bool,
        /// The next thread.
        next_pid: i32,
        /// Its name.
        next_comm: &'a str,
    },
    /// A thread was woken.
    Woken {
        /// The woken thread.
        pid: i32,
    },
    /// Events of this CPU are missing here.
    Lost,
}

/// Selects threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadFilter {
    /// Any but the idle task.
    Any,
    /// The one with that number.
    Pid(i32),
    /// Those with this name.
    Comm(String),
}

impl ThreadFilter {
    /// Whether a thread with this number can match, regardless of its name.
    const fn may_be(&self, pid: i32) -> bool {
        match self {
            ThreadFilter::Any | ThreadFilter::Comm(_) => pid != 0,
            ThreadFilter::Pid(number) => pid == *number,
        }
    }

    fn is(&self, pid: i32, comm: &str) -> bool {
        match self {
            ThreadFilter::Any => pid != 0,
            ThreadFilter::Pid(number) => pid == *number,
            ThreadFilter::Comm(name) => pid != 0 && comm == name,
        }
    }
}

/// A period of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPeriod {
    /// Its CPU.
    pub cpu: u32,
    /// Its thread.
    pub pid: i32,
    /// Its name.
    pub comm: String,
    /// First moment.
    pub start: u64,
    /// Last moment.
    pub end: u64,
    /// The first thread that had the CPU during the wait; only for a wait after preemption.
    pub first_runner: Option<(i32, String)>,
}

impl ThreadPeriod {
    /// Its length.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether its length is zero.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Finds the longest run of each CPU, one event at a time.
#[derive(Clone, Debug)]
pub struct LongestRun {
    threads: ThreadFilter,
    last: HashMap<u32, (u64, i32)>,
    longest: HashMap<u32, ThreadPeriod>,
}

impl LongestRun {
    /// Selects these threads.
    #[must_use]
    pub fn of(threads: ThreadFilter) -> LongestRun {
        LongestRun {
            threads,
            last: HashMap::new(),
            longest: HashMap::new(),
        }
    }

    /// Processes the next event.
    pub fn step(&mut self, step: &ThreadEvent) {
        if step.what == ThreadChange::Lost {
            self.last.remove(&step.cpu);
            return;
        }
        let before = self.last.get(&step.cpu).copied();
        if let Some((since, running)) = before.filter(|_| self.threads.is(step.pid, step.comm)) {
            let longest = self.longest.get(&step.cpu).map_or(0, ThreadPeriod::len);
            // A thread that is current at both events was current in between, too.
            if running == step.pid && step.at.saturating_sub(since) > longest {
                let stretch = ThreadPeriod {
                    cpu: step.cpu,
                    pid: step.pid,
                    comm: step.comm.to_owned(),
                    start: since,
                    end: step.at,
                    first_runner: None,
                };
                self.longest.insert(step.cpu, stretch);
            }
        }
        let running = match step.what {
            ThreadChange::Switch { next_pid, .. } => next_pid,
            _ => step.pid,
        };
        self.last.insert(step.cpu, (step.at, running));
    }

    /// The longest run of each CPU that had one, by CPU.
    #[must_use]
    pub fn end(self) -> Vec<ThreadPeriod> {
        let mut all: Vec<ThreadPeriod> = self.longest.into_values().collect();
        all.sort_unstable_by_key(|stretch| stretch.cpu);
        all
    }
}

/// Finds the longest waits for a CPU: from preemption, or wake-up, to running.
#[derive(Clone, Debug)]
pub struct LongestWaits {
    threads: ThreadFilter,
    most: usize,
    waiting: HashMap<i32, ThreadPeriod>,
    longest: Vec<ThreadPeriod>,
}

impl LongestWaits {
    /// Keeps the `most` longest waits of these threads.
    #[must_use]
    pub fn of(threads: ThreadFilter, most: usize) -> LongestWaits {
        LongestWaits {
            threads,
            most,
            waiting: HashMap::new(),
            longest: Vec::new(),
        }
    }

    /// Processes the next event.
    pub fn step(&mut self, step: &ThreadEvent) {
        match step.what {
            ThreadChange::Nothing => {}
            // The thread that got the CPU since then is no longer known.
            ThreadChange::Lost => self.waiting.clear(),
            ThreadChange::Woken { pid } => {
                self.waiting.entry(pid).or_insert_with(|| ThreadPeriod {
                    cpu: step.cpu,
                    pid,
                    comm: String::new(),
                    start: step.at,
                    end: step.at,
                    first_runner: None,
                });
            }
            ThreadChange::Switch {
                preempted,
                next_pid,
                next_comm,
            } => {
                if preempted && step.pid != 0 {
                    let wait = ThreadPeriod {
                        cpu: step.cpu,
                        pid: step.pid,
                        comm: step.comm.to_owned(),
                        start: step.at,
                        end: step.at,
                        first_runner: Some((next_pid, next_comm.to_owned())),
                    };
                    self.waiting.insert(step.pid, wait);
                }
                if let Some(mut wait) = self
                    .waiting
                    .remove(&next_pid)
                    .filter(|_| self.threads.is(next_pid, next_comm))
                {
                    wait.end = step.at;
                    wait.cpu = step.cpu;
                    wait.comm = next_comm.to_owned();
                    self.insert(wait);
                }
            }
        }
    }

    fn insert(&mut self, wait: ThreadPeriod) {
        let at = self.longest.partition_point(|other| other.len() >= wait.len());
        if at < self.most {
            self.longest.insert(at, wait);
            self.longest.truncate(self.most);
        }
    }

    /// The longest waits, longest first.
    #[must_use]
    pub fn end(self) -> Vec<ThreadPeriod> {
        self.longest
    }
}
