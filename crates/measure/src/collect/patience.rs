//! Decides how long to wait for samplers to get ready, from the scheduler's data about them.
//!
//! A thread that is ready to run but gets no CPU is delayed by other tasks, and gets ready once they leave it some time.
//! It gets a much longer timeout than a thread that is not ready to run. Its state and its scheduler statistics
//! distinguish the two (`/proc/PID/task/TID/schedstat`, first field: nanoseconds on a CPU;
//! `Documentation/scheduler/sched-stats.rst`). Where the kernel keeps no such statistics, a thread that is ready to run may
//! also be running; the two cases cannot be distinguished.

use crate::MeasureError;
use machine::CpuSet;
use machine::tasks::{SchedStat, read_process, read_sched_stat};
use root::Root;
use std::collections::BTreeMap;

/// Timeout if no other task delays them.
const READY_NS: u64 = 10_000_000_000;
/// Timeout if other tasks use their CPU.
const STARVED_NS: u64 = 60_000_000_000;
/// Time between two checks.
const CHECK_INTERVAL_NS: u64 = 500_000_000;
/// A thread counts as waiting for this long after it was last seen waiting: it may have run between two checks.
const STALE_NS: u64 = 2_500_000_000;

/// Reason to stop waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StallReason {
    /// They do not get ready, and do not wait for a CPU.
    Stuck,
    /// They wait for a CPU that other tasks use.
    Starved {
        /// How long they were waited for, in nanoseconds.
        waited_ns: u64,
        /// Time on a CPU that all of them together had during that time, in nanoseconds.
        run_time_ns: u64,
    },
    /// They are ready to run, and the kernel keeps no statistics that distinguish waiting from running.
    Unaccounted {
        /// How long they were waited for, in nanoseconds.
        waited_ns: u64,
    },
}

impl StallReason {
    /// The error that is returned to the caller.
    pub(super) fn error(self, cpus: CpuSet) -> MeasureError {
        match self {
            StallReason::Stuck => MeasureError::Stuck { cpus },
            StallReason::Starved {
                waited_ns,
                run_time_ns: ran_ns,
            } => MeasureError::Starved {
                cpus,
                waited_s: waited_ns / 1_000_000_000,
                run_time_ms: ran_ns / 1_000_000,
            },
            StallReason::Unaccounted { waited_ns } => MeasureError::Unaccounted {
                cpus,
                waited_s: waited_ns / 1_000_000_000,
            },
        }
    }
}

/// Waits for the threads of one sampler process.
pub(super) struct StallDetector {
    pid: u32,
    start_ns: u64,
    checked_ns: u64,
    /// When one of them was last seen waiting for a CPU.
    starved_ns: Option<u64>,
    /// When one of them was last seen ready to run without scheduler statistics.
    unaccounted_ns: Option<u64>,
    /// CPU time of each thread at the last check.
    run_times: BTreeMap<u32, u64>,
}

impl StallDetector {
    /// Starts waiting now.
    pub(super) fn start(pid: u32, now_ns: u64) -> StallDetector {
        StallDetector {
            pid,
            start_ns: now_ns,
            checked_ns: now_ns,
            starved_ns: None,
            unaccounted_ns: None,
            run_times: BTreeMap::new(),
        }
    }

    /// The reason if the wait is over at `now_ns`, on the same clock.
    pub(super) fn ends(&mut self, root: &Root, now_ns: u64) -> Option<StallReason> {
        let since_ns = now_ns.saturating_sub(self.checked_ns);
        if since_ns >= CHECK_INTERVAL_NS {
            self.check(root, since_ns, now_ns);
        }
        let waited_ns = now_ns.saturating_sub(self.start_ns);
        let lately = |seen: Option<u64>| seen.is_some_and(|at_ns| now_ns.saturating_sub(at_ns) < STALE_NS);
        // A thread that may be waiting for a CPU gets the same timeout as one that is.
        match (lately(self.starved_ns), lately(self.unaccounted_ns)) {
            (true, _) if waited_ns > STARVED_NS => Some(StallReason::Starved {
                waited_ns,
                run_time_ns: self.run_times.values().sum(),
            }),
            (false, true) if waited_ns > STARVED_NS => Some(StallReason::Unaccounted { waited_ns }),
            (false, false) if waited_ns > READY_NS => Some(StallReason::Stuck),
            _ => None,
        }
    }

    /// A thread counts as waiting for its CPU if it is ready to run and ran for less than half of the time since the last check:
    /// a thread that has a CPU to itself runs all the time.
    fn check(&mut self, root: &Root, since_ns: u64, now_ns: u64) {
        self.checked_ns = now_ns;
        let keeps_accounts = has_scheduler_statistics(root);
        for thread in read_process(root, self.pid) {
            let tid = thread.key.tid;
            let is_ready = thread.state == 'R';
            if !keeps_accounts {
                if is_ready {
                    self.unaccounted_ns = Some(now_ns);
                }
                continue;
            }
            let Some(stat) = read_sched_stat(root, &format!("/proc/{}/task/{tid}", self.pid)) else {
                continue;
            };
            let before_ns = self.run_times.insert(tid, stat.run_ns);
            let got_ns = before_ns.map_or(0, |before_ns| stat.run_ns.saturating_sub(before_ns));
            if is_ready && got_ns < since_ns / 2 {
                self.starved_ns = Some(now_ns);
            }
        }
    }
}

/// Whether the kernel keeps scheduler statistics of threads. Without `CONFIG_SCHED_INFO` the file does not exist; where they are
/// off, every field reads 0 (`proc_pid_schedstat` in `fs/proc/base.c`). The calling thread's own statistics show this: it
/// has run at least once, while a starved sampler may never have run.
fn has_scheduler_statistics(root: &Root) -> bool {
    read_sched_stat(root, "/proc/self").is_some_and(|stat| stat != SchedStat::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::CpuId;

    /// A process with one thread as `/proc` shows it, and the calling process.
    struct ProcFixture(tempfile::TempDir);

    impl ProcFixture {
        fn new() -> ProcFixture {
            let dir = tempfile::tempdir().unwrap();
            for at in ["proc/7/task/7", "proc/self"] {
                std::fs::create_dir_all(dir.path().join(at)).unwrap();
            }
            ProcFixture(dir)
        }

        /// Sets the statistics of the calling process; `None` where the kernel has no such file.
        fn seen_by(&self, account: Option<&str>) {
            if let Some(account) = account {
                std::fs::write(self.0.path().join("proc/self/schedstat"), account).unwrap();
            }
        }

        fn is(&self, state: char, ran_ns: u64) -> Root {
            let stat = format!(
                "7 (sampler/1) {state} 1{} 77{} 1 0 0\n",
                " 2".repeat(17),
                " 0".repeat(16)
            );
            for at in ["proc/7", "proc/7/task/7"] {
                std::fs::write(self.0.path().join(at).join("stat"), &stat).unwrap();
            }
            let account = self.0.path().join("proc/7/task/7/schedstat");
            std::fs::write(account, format!("{ran_ns} 0 1\n")).unwrap();
            Root::open(self.0.path()).unwrap()
        }
    }

    fn end(state: impl Fn(u64) -> char, percent: u64) -> (u64, StallReason) {
        // A process that has just started has run for 0 ns, but was scheduled once.
        end_seen_by(Some("0 44584 1\n"), state, percent)
    }

    /// Checks twice a second until the wait ends.
    fn end_seen_by(own: Option<&str>, state: impl Fn(u64) -> char, percent: u64) -> (u64, StallReason) {
        let process = ProcFixture::new();
        process.seen_by(own);
        let mut patience = StallDetector::start(7, 0);
        for at_ns in (0..200_000_000_000).step_by(500_000_000) {
            let root = process.is(state(at_ns), at_ns / 100 * percent);
            if let Some(late) = patience.ends(&root, at_ns) {
                return (at_ns / 1_000_000_000, late);
            }
        }
        panic!("it waits for ever");
    }

    #[test]
    fn threads_that_wait_for_a_cpu_get_a_longer_timeout() {
        assert_eq!(end(|_| 'S', 0), (10, StallReason::Stuck), "sleeps");
        assert_eq!(end(|_| 'T', 0), (10, StallReason::Stuck), "was stopped");
        assert_eq!(end(|_| 'R', 100), (10, StallReason::Stuck), "runs, and gets nowhere");
        let (ended_s, late) = end(|_| 'R', 3);
        assert!(
            ended_s == 60
                && matches!(late, StallReason::Starved { waited_ns, run_time_ns } if run_time_ns.abs_diff(waited_ns / 100 * 3) < 1_000_000),
            "{ended_s} {late:?}"
        );
        // It got its CPU at last, but sleeps.
        let (ended_s, late) = end(|at_ns| if at_ns < 30_000_000_000 { 'R' } else { 'D' }, 0);
        assert!(
            late == StallReason::Stuck && (30..=33).contains(&ended_s),
            "{ended_s} {late:?}"
        );
    }

    #[test]
    fn without_scheduler_statistics_the_cause_is_unknown() {
        for own in [None, Some("0 0 0\n")] {
            let (ended_s, late) = end_seen_by(own, |_| 'R', 0);
            assert!(
                ended_s == 60 && matches!(late, StallReason::Unaccounted { .. }),
                "{own:?}: {ended_s} {late:?}"
            );
            let says = late.error([CpuId(1)].into_iter().collect()).to_string();
            assert!(
                says.contains("it is unknown whether") && !says.contains("left them"),
                "{says}"
            );
            assert_eq!(
                end_seen_by(own, |_| 'S', 0),
                (10, StallReason::Stuck),
                "sleeping is seen without them"
            );
        }
    }

    #[test]
    fn an_unreadable_process_gets_the_normal_timeout() {
        let empty = tempfile::tempdir().unwrap();
        std::fs::create_dir(empty.path().join("proc")).unwrap();
        let root = Root::open(empty.path()).unwrap();
        let mut patience = StallDetector::start(7, 0);
        assert_eq!(patience.ends(&root, 9_000_000_000), None);
        assert_eq!(patience.ends(&root, 11_000_000_000), Some(StallReason::Stuck));
    }
}
