//! Measures how long threads waited for a CPU if a program cannot be traced, from the scheduler's statistics
//! (`/proc/PID/task/TID/schedstat`: time on a CPU, time waiting for one, number of time slices; in nanoseconds).
//!
//! The statistics do not show where a thread waited. They are read repeatedly, and each increase is assigned to the CPU of
//! the thread at that moment: exact if it may run on only one CPU.

use blame::{BlameResult, CpuAnswer, GapSource};
use machine::tasks::{SchedStat, children, read_process, read_sched_stat, read_stat};
use machine::{CpuId, CpuSet, Task, TaskKey};
use root::Root;
use std::collections::BTreeMap;

/// The observed threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitSubject {
    /// One thread.
    Thread(u32),
    /// The threads of a process.
    Process(u32),
    /// A process and its descendants.
    Family(u32),
}

/// The measurement.
pub struct WaitMeasurement {
    of: WaitSubject,
    threads: BTreeMap<TaskKey, SchedStat>,
    /// The sum on each CPU.
    cpus: BTreeMap<CpuId, SchedStat>,
}

impl WaitMeasurement {
    /// Starts from the current values: earlier waits do not count.
    pub fn start(root: &Root, of: WaitSubject) -> WaitMeasurement {
        let mut waits = WaitMeasurement {
            of,
            threads: BTreeMap::new(),
            cpus: BTreeMap::new(),
        };
        waits.update(root);
        waits.cpus.clear();
        waits
    }

    /// Adds the increases since the last call. A new thread counts with all of its statistics. For a thread that ended, the
    /// time after its last reading is unknown.
    pub fn update(&mut self, root: &Root) {
        for thread in self.threads_now(root) {
            let dir = format!("/proc/{}/task/{}", thread.pid, thread.key.tid);
            let (Some(now), Some(cpu)) = (read_sched_stat(root, &dir), thread.cpu) else {
                continue;
            };
            let before = self.threads.insert(thread.key, now).unwrap_or_default();
            let sum = self.cpus.entry(cpu).or_default();
            sum.run_ns += now.run_ns.saturating_sub(before.run_ns);
            sum.waited_ns += now.waited_ns.saturating_sub(before.waited_ns);
            sum.time_slices += now.time_slices.saturating_sub(before.time_slices);
        }
    }

    fn threads_now(&self, root: &Root) -> Vec<Task> {
        match self.of {
            WaitSubject::Thread(tid) => read_stat(root, tid).into_iter().collect(),
            WaitSubject::Process(pid) => read_process(root, pid),
            WaitSubject::Family(pid) => {
                let (mut all, mut open) = (Vec::new(), vec![pid]);
                while let Some(pid) = open.pop() {
                    let threads = read_process(root, pid);
                    // Each thread lists only the children that it created.
                    open.extend(threads.iter().filter_map(|of| children(root, of.key.tid)).flatten());
                    all.extend(threads);
                }
                all
            }
        }
    }

    /// The answer: the waiting time is stolen, by an unknown thread. Threads of one program may wait at the same time, or
    /// for each other, so it is limited to the time in which none of them ran.
    pub fn answer(&self, cpus: &CpuSet, duration_ns: u64) -> BlameResult {
        let of = |cpu: CpuId| {
            let sum = self.cpus.get(&cpu).copied().unwrap_or_default();
            let ran_ns = sum.run_ns.min(duration_ns);
            let stolen_ns = sum.waited_ns.min(duration_ns - ran_ns);
            CpuAnswer {
                cpu: cpu.0,
                gaps_from: GapSource::Accounts,
                duration_ns,
                stolen_ns,
                unexplained_ns: stolen_ns,
                gaps: sum.time_slices,
                wanted_ns: Some(ran_ns + stolen_ns),
                ..CpuAnswer::default()
            }
        };
        BlameResult {
            cpus: cpus.iter().map(of).collect(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A process whose second thread created a child.
    fn machine(accounts: [(u32, u32, &str, u32); 3]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        for (pid, tid, schedstat, cpu) in accounts {
            let at = dir.path().join(format!("proc/{pid}/task/{tid}"));
            std::fs::create_dir_all(&at).unwrap();
            // Fields 3 and 4, 5 to 21, the start time, 23 to 38, the CPU, priority and policy.
            let stat = format!("{tid} (one) R 1{} 77{} {cpu} 0 0\n", " 2".repeat(17), " 0".repeat(16));
            std::fs::write(at.join("stat"), &stat).unwrap();
            std::fs::write(dir.path().join(format!("proc/{pid}/stat")), &stat).unwrap();
            let made = dir.path().join(format!("proc/{tid}/task/{tid}"));
            std::fs::create_dir_all(&made).unwrap();
            std::fs::write(made.join("children"), if tid == 11 { "20 " } else { "" }).unwrap();
            std::fs::write(at.join("schedstat"), schedstat).unwrap();
        }
        let root = Root::open(dir.path()).unwrap();
        (dir, root)
    }

    #[test]
    fn waits_since_the_start_count_for_the_current_cpu_of_a_thread() {
        let (_before, before) = machine([(10, 10, "100 50 2", 1), (10, 11, "7 7 7", 1), (20, 20, "0 0 0", 2)]);
        let (_after, after) = machine([(10, 10, "600 80 4", 1), (10, 11, "7 7 7", 1), (20, 20, "40 9 1", 2)]);
        let cpus = CpuSet::parse_list("1-2").unwrap();
        let sums = |of: WaitSubject| -> Vec<_> {
            let mut waits = WaitMeasurement::start(&before, of);
            waits.update(&after);
            let answer = waits.answer(&cpus, 1_000);
            answer
                .cpus
                .iter()
                .map(|cpu| (cpu.stolen_ns, cpu.wanted_ns, cpu.gaps))
                .collect()
        };
        assert_eq!(sums(WaitSubject::Process(10)), [(30, Some(530), 2), (0, Some(0), 0)]);
        assert_eq!(sums(WaitSubject::Thread(10)), [(0, Some(0), 0), (0, Some(0), 0)]);
        assert_eq!(sums(WaitSubject::Family(10)), [(30, Some(530), 2), (9, Some(49), 1)]);

        let mut waits = WaitMeasurement::start(&before, WaitSubject::Process(10));
        waits.update(&after);
        let short = waits.answer(&cpus, 510);
        let cpu = short.cpus.first().unwrap();
        assert_eq!((cpu.stolen_ns, cpu.wanted_ns), (10, Some(510)), "500 of it ran");
    }
}
