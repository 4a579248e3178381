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
pub struct Step<'a> {
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
            ThreadFilter::Pid(wanted) => pid == *wanted,
        }
    }

    fn is(&self, pid: i32, comm: &str) -> bool {
        match self {
            ThreadFilter::Any => pid != 0,
            ThreadFilter::Pid(wanted) => pid == *wanted,
            ThreadFilter::Comm(wanted) => pid != 0 && comm == wanted,
        }
    }
}

/// A period of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
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
    pub taken_by: Option<(i32, String)>,
}

impl Stretch {
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
    whose: ThreadFilter,
    last: HashMap<u32, (u64, i32)>,
    longest: HashMap<u32, Stretch>,
}

impl LongestRun {
    /// Selects these threads.
    #[must_use]
    pub fn of(whose: ThreadFilter) -> LongestRun {
        LongestRun {
            whose,
            last: HashMap::new(),
            longest: HashMap::new(),
        }
    }

    /// Processes the next event.
    pub fn step(&mut self, step: &Step) {
        if step.what == ThreadChange::Lost {
            self.last.remove(&step.cpu);
            return;
        }
        let before = self.last.get(&step.cpu).copied();
        if let Some((since, running)) = before.filter(|_| self.whose.is(step.pid, step.comm)) {
            let longest = self.longest.get(&step.cpu).map_or(0, Stretch::len);
            // A thread that is current at both events was current in between, too.
            if running == step.pid && step.at.saturating_sub(since) > longest {
                let stretch = Stretch {
                    cpu: step.cpu,
                    pid: step.pid,
                    comm: step.comm.to_owned(),
                    start: since,
                    end: step.at,
                    taken_by: None,
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
    pub fn end(self) -> Vec<Stretch> {
        let mut all: Vec<Stretch> = self.longest.into_values().collect();
        all.sort_by_key(|stretch| stretch.cpu);
        all
    }
}

/// Finds the longest waits for a CPU: from preemption, or wake-up, to running.
#[derive(Clone, Debug)]
pub struct LongestWaits {
    whose: ThreadFilter,
    most: usize,
    waiting: HashMap<i32, Stretch>,
    longest: Vec<Stretch>,
}

impl LongestWaits {
    /// Keeps the `most` longest waits of these threads.
    #[must_use]
    pub fn of(whose: ThreadFilter, most: usize) -> LongestWaits {
        LongestWaits {
            whose,
            most,
            waiting: HashMap::new(),
            longest: Vec::new(),
        }
    }

    /// Processes the next event.
    pub fn step(&mut self, step: &Step) {
        match step.what {
            ThreadChange::Nothing => {}
            // The thread that got the CPU since then is no longer known.
            ThreadChange::Lost => self.waiting.clear(),
            ThreadChange::Woken { pid } => {
                self.waiting.entry(pid).or_insert_with(|| Stretch {
                    cpu: step.cpu,
                    pid,
                    comm: String::new(),
                    start: step.at,
                    end: step.at,
                    taken_by: None,
                });
            }
            ThreadChange::Switch {
                preempted,
                next_pid,
                next_comm,
            } => {
                if preempted && step.pid != 0 {
                    let wait = Stretch {
                        cpu: step.cpu,
                        pid: step.pid,
                        comm: step.comm.to_owned(),
                        start: step.at,
                        end: step.at,
                        taken_by: Some((next_pid, next_comm.to_owned())),
                    };
                    self.waiting.insert(step.pid, wait);
                }
                if let Some(mut wait) = self
                    .waiting
                    .remove(&next_pid)
                    .filter(|_| self.whose.is(next_pid, next_comm))
                {
                    wait.end = step.at;
                    wait.cpu = step.cpu;
                    wait.comm = next_comm.to_owned();
                    self.keep(wait);
                }
            }
        }
    }

    fn keep(&mut self, wait: Stretch) {
        let at = self.longest.partition_point(|other| other.len() >= wait.len());
        if at < self.most {
            self.longest.insert(at, wait);
            self.longest.truncate(self.most);
        }
    }

    /// The longest waits, longest first.
    #[must_use]
    pub fn end(self) -> Vec<Stretch> {
        self.longest
    }
}
