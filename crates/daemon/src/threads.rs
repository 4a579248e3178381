//! Polls the allowed CPUs of every known thread by system call, because no source reports a changed affinity mask.

use machine::{CpuSet, Task};
use root::{QueryResult, Root};
use std::collections::BTreeMap;
use std::time::Duration;
use watch::drift::{BucketLevel, Interval, Process, TokenBucket};

/// The maximum number of remembered threads; the rounds check the others.
const MOST: usize = 200_000;

/// The state of a thread.
struct ThreadState {
    /// Its CPUs among the isolated ones, as mask words.
    here: Vec<u64>,
    /// It did not inherit these, and was reported.
    is_odd: bool,
    /// It has ended. Until its parent reaps it, its number exists and `check` may find it.
    has_ended: bool,
}

/// The threads.
pub struct Threads {
    known: BTreeMap<u32, ThreadState>,
    isolated: Vec<u64>,
    words: Vec<u64>,
    quiet: Interval,
    busy: Interval,
    is_busy: bool,
    read_bucket: TokenBucket,
}

impl Default for Threads {
    fn default() -> Threads {
        Threads {
            known: BTreeMap::new(),
            isolated: Vec::new(),
            words: Vec::new(),
            quiet: Interval::SWEEPS,
            busy: Interval::BUSY_SWEEPS,
            is_busy: false,
            read_bucket: TokenBucket::SWEEPS,
        }
    }
}

impl Threads {
    /// The time of the next sweep.
    pub fn next_sweep(&self, now: Duration) -> Duration {
        match (self.is_busy, self.read_bucket.level(now)) {
            (true, BucketLevel::Ample) => self.busy.next_run().min(self.quiet.next_run()),
            _ => self.quiet.next_run(),
        }
    }

    /// Replaces the known threads.
    pub fn know(&mut self, root: &Root, tasks: &[Task], isolated: &CpuSet) {
        self.isolated = isolated.words();
        let before = std::mem::take(&mut self.known);
        for task in tasks.iter().take(MOST) {
            let tid = task.key.tid;
            self.recheck(root, tid);
            if let (Some(known), Some(before)) = (self.known.get_mut(&tid), before.get(&tid)) {
                (known.is_odd, known.has_ended) = (before.is_odd, before.has_ended);
            }
        }
    }

    /// Processes an event of one thread; returns whether it concerns isolated CPUs. A mask that was inherited was already
    /// reported with the parent. The rounds count such threads.
    pub fn process_event(&mut self, root: &Root, process: Process) -> bool {
        let (tid, parent) = match process {
            Process::Ended { tid } => return self.record_end(tid),
            Process::Created { tid, parent } => (tid, self.known.get(&parent).map(|known| known.here.clone())),
            Process::Became { tid } => (tid, None),
        };
        self.is_busy = true;
        if let Some(known) = self.known.get_mut(&tid) {
            // The number now belongs to a new thread.
            known.has_ended = false;
        }
        if !self.recheck(root, tid) {
            return false;
        }
        match self.known.get_mut(&tid) {
            Some(known) => {
                known.is_odd = parent.as_ref() != Some(&known.here);
                known.is_odd
            }
            // The thread is gone already, and the event with it.
            None => true,
        }
    }

    /// Whether the end of a thread is news. The event arrives before its number is free, so for a reported thread the sweeps
    /// report its end once more afterwards.
    fn record_end(&mut self, tid: u32) -> bool {
        match self.known.get_mut(&tid) {
            Some(known) if known.is_odd => {
                known.has_ended = true;
                self.is_busy = true;
                true
            }
            _ => {
                self.known.remove(&tid);
                false
            }
        }
    }

    /// Polls every known thread. Returns whether one may run on other isolated CPUs than before.
    pub fn sweep(&mut self, root: &Root, now: Duration, spent: impl Fn() -> Duration) -> bool {
        let before = spent();
        let tids: Vec<u32> = self.known.keys().copied().collect();
        let mut is_other = false;
        for tid in tids {
            is_other |= self.recheck(root, tid);
        }
        let cost = spent().saturating_sub(before);
        if std::mem::take(&mut self.is_busy) {
            self.read_bucket.spend(now, cost);
        }
        self.is_busy = self.known.values().any(|known| known.has_ended);
        self.quiet.record_run(now, cost);
        self.busy.record_run(now, cost);
        is_other
    }

    /// Whether it differs from the known state.
    fn recheck(&mut self, root: &Root, tid: u32) -> bool {
        match root.affinity(tid, &mut self.words) {
            QueryResult::Answered => {}
            QueryResult::Missing => return self.known.remove(&tid).is_some_and(|known| known.is_odd),
            QueryResult::Cannot => return false,
        }
        let here = self
            .words
            .iter()
            .zip(&self.isolated)
            .map(|(allowed, isolated)| allowed & isolated);
        let is_full = self.known.len() >= MOST;
        match self.known.get_mut(&tid) {
            Some(known) if here.clone().eq(known.here.iter().copied()) => false,
            Some(known) => {
                *known = ThreadState {
                    here: here.collect(),
                    is_odd: true,
                    has_ended: false,
                };
                true
            }
            None if is_full => false,
            None => {
                let here: Vec<u64> = here.collect();
                let is_some = here.iter().any(|word| *word != 0);
                self.known.insert(
                    tid,
                    ThreadState {
                        here,
                        is_odd: false,
                        has_ended: false,
                    },
                );
                is_some
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Creates threads that start and end; `inspect` gets each number while the thread exists.
    fn run_short_threads(count: u32, mut inspect: impl FnMut(u32)) {
        for _ in 0..count {
            let (say, message) = std::sync::mpsc::channel();
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let thread = std::thread::spawn(move || {
                say.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs())
                    .unwrap();
                let _ = ended.recv();
            });
            inspect(message.recv().unwrap());
            drop(end);
            thread.join().unwrap();
        }
    }

    /// The state of a thread is dropped with its end; if that event was lost, by the next sweep.
    #[test]
    fn ended_threads_are_dropped() {
        const MANY: u32 = 500;
        let root = Root::live();
        let own = std::process::id();
        let mut threads = Threads {
            isolated: session::own_process::allowed(&root).words(),
            ..Threads::default()
        };
        threads.recheck(&root, own);
        let mut last = None;
        run_short_threads(MANY, |tid| {
            if let Some(tid) = last.replace(tid) {
                threads.process_event(&root, Process::Ended { tid });
            }
            threads.process_event(&root, Process::Created { tid, parent: own });
        });
        // The end of the last one was not reported.
        assert!((1..=2).contains(&threads.known.len()), "{}", threads.known.len());
        run_short_threads(MANY, |tid| {
            threads.process_event(&root, Process::Created { tid, parent: own });
        });
        assert!(threads.known.len() > 2, "their ends were lost");
        threads.sweep(&root, Duration::ZERO, Duration::default);
        assert_eq!(threads.known.keys().collect::<Vec<_>>(), [&own]);
    }

    /// The end of a process is reported before its parent reaps it, and again afterwards.
    #[test]
    fn the_end_of_a_process_is_reported_again_after_it_is_reaped() {
        let root = Root::live();
        let mut threads = Threads {
            isolated: session::own_process::allowed(&root).words(),
            ..Threads::default()
        };
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let tid = child.id();
        let parent = u32::MAX;
        assert!(
            threads.process_event(&root, Process::Created { tid, parent }),
            "nobody knows its parent"
        );
        child.kill().unwrap();
        // Not `wait`: the process must not be reaped yet.
        let is_zombie = || {
            std::fs::read_to_string(format!("/proc/{tid}/stat"))
                .unwrap()
                .contains(") Z ")
        };
        while !is_zombie() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(threads.process_event(&root, Process::Ended { tid }));
        assert!(
            !threads.sweep(&root, Duration::ZERO, Duration::default),
            "it still has its number"
        );
        assert!(threads.is_busy, "it is looked at again soon");
        child.wait().unwrap();
        assert!(
            threads.sweep(&root, Duration::ZERO, Duration::default),
            "now it is gone"
        );
        assert!(!threads.is_busy && threads.known.is_empty());
    }

    /// Thousands of threads and their children may run everywhere, and none of them is reported. A thread that was moved
    /// there is, and so is its end.
    #[test]
    fn only_threads_that_were_moved_there_are_news() {
        let root = Root::live();
        let own = std::process::id();
        let mut threads = Threads {
            isolated: session::own_process::allowed(&root).words(),
            ..Threads::default()
        };
        let sleep = || Sleeper(Command::new("sleep").arg("600").spawn().unwrap());
        let (first, second) = (sleep(), sleep());
        let (child, orphan) = (first.0.id(), second.0.id());
        threads.recheck(&root, own);
        let created = |tid, parent| Process::Created { tid, parent };
        assert!(!threads.process_event(&root, created(child, own)), "as its parent");
        assert!(
            !threads.process_event(&root, Process::Became { tid: child }),
            "as before"
        );
        let others: Vec<u64> = threads.known[&own]
            .here
            .iter()
            .map(|word| word & word.wrapping_sub(1))
            .collect();
        if others.iter().all(|word| *word == 0) {
            return println!("SKIP: only_threads_that_were_moved_there_are_news: one CPU is all that there is");
        }
        root::sched::set_affinity(child, &others).unwrap();
        assert!(
            threads.process_event(&root, Process::Became { tid: child }),
            "another mask than at birth"
        );
        assert!(threads.process_event(&root, Process::Ended { tid: child }));
        assert!(
            threads.process_event(&root, created(orphan, u32::MAX)),
            "its parent is unknown"
        );
        threads.recheck(&root, orphan);
        root::sched::set_affinity(orphan, &others).unwrap();
        assert!(
            threads.sweep(&root, Duration::ZERO, Duration::default),
            "set by system call"
        );
        assert!(!threads.sweep(&root, Duration::ZERO, Duration::default), "once");
        assert!(
            !threads.process_event(&root, Process::Ended { tid: own }),
            "it was there by birth"
        );
    }
}
