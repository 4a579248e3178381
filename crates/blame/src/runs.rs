//! Two questions that people ask of a trace by hand: how long did a thread run without the kernel, and how long did it wait
//! for its CPU.
//!
//! The first is the `awk` of many articles ("Max uninterrupted exec"): the longest time between two events of one CPU. Here
//! it only counts when the thread was current at both ends, and nothing was lost in between.

mod pages;

pub use pages::{RunsOfCpu, longest_run_of_pages};

use std::collections::HashMap;

/// One event, as far as these questions need it. Comes from a trace of any form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// CPU on which it was written.
    pub cpu: u32,
    /// When, in units of the trace clock.
    pub at: u64,
    /// Thread that was current; 0 is the idle task.
    pub pid: i32,
    /// Its name.
    pub comm: &'a str,
    /// What it says about threads.
    pub what: ThreadChange<'a>,
}

/// What an event says about threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadChange<'a> {
    /// Nothing.
    Nothing,
    /// The CPU went to another thread.
    Switch {
        /// Who left could have gone on.
        preempted: bool,
        /// Who runs now.
        next_pid: i32,
        /// Its name.
        next_comm: &'a str,
    },
    /// A thread was woken.
    Woken {
        /// Which.
        pid: i32,
    },
    /// Events of this CPU are missing here.
    Lost,
}

/// Which thread is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadFilter {
    /// Any but the idle task.
    Any,
    /// The one with that number.
    Pid(i32),
    /// Those with that name.
    Comm(String),
}

impl ThreadFilter {
    /// Whether a thread of this number can be one of them, as long as its name is not looked at.
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

/// A stretch of time of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Where.
    pub cpu: u32,
    /// Whose.
    pub pid: i32,
    /// Its name.
    pub comm: String,
    /// First moment.
    pub start: u64,
    /// Last moment.
    pub end: u64,
    /// Who had the CPU first meanwhile; only of a wait after a preemption.
    pub taken_by: Option<(i32, String)>,
}

impl Stretch {
    /// Its length.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it has no length.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Finds the longest run of each CPU, event by event.
#[derive(Clone, Debug)]
pub struct LongestRun {
    whose: ThreadFilter,
    last: HashMap<u32, (u64, i32)>,
    longest: HashMap<u32, Stretch>,
}

impl LongestRun {
    /// Of these threads.
    #[must_use]
    pub fn of(whose: ThreadFilter) -> LongestRun {
        LongestRun {
            whose,
            last: HashMap::new(),
            longest: HashMap::new(),
        }
    }

    /// The next event.
    pub fn step(&mut self, step: &Step) {
        if step.what == ThreadChange::Lost {
            self.last.remove(&step.cpu);
            return;
        }
        let before = self.last.get(&step.cpu).copied();
        if let Some((since, running)) = before.filter(|_| self.whose.is(step.pid, step.comm)) {
            let longest = self.longest.get(&step.cpu).map_or(0, Stretch::len);
            // Who was current before and is now was so in between, too.
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

    /// The longest of each CPU that had one, by CPU.
    #[must_use]
    pub fn end(self) -> Vec<Stretch> {
        let mut all: Vec<Stretch> = self.longest.into_values().collect();
        all.sort_by_key(|stretch| stretch.cpu);
        all
    }
}

/// Finds the longest waits for a CPU: from being preempted, or woken, to running.
#[derive(Clone, Debug)]
pub struct LongestWaits {
    whose: ThreadFilter,
    most: usize,
    waiting: HashMap<i32, Stretch>,
    longest: Vec<Stretch>,
}

impl LongestWaits {
    /// The `most` longest of these threads.
    #[must_use]
    pub fn of(whose: ThreadFilter, most: usize) -> LongestWaits {
        LongestWaits {
            whose,
            most,
            waiting: HashMap::new(),
            longest: Vec::new(),
        }
    }

    /// The next event.
    pub fn step(&mut self, step: &Step) {
        match step.what {
            ThreadChange::Nothing => {}
            // Who got the CPU meanwhile is not known any more.
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

    /// The longest, longest first.
    #[must_use]
    pub fn end(self) -> Vec<Stretch> {
        self.longest
    }
}
