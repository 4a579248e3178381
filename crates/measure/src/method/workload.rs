//! The threads of the `osnoise` tracer, one per CPU: without a gap, only their CPU time shows that they looked for one.
//!
//! A thread that starts before the kernel has registered the trace sleeps for a whole period (`osnoise_main` of
//! `kernel/trace/trace_osnoise.c`; a period is a second unless a user changed it).

use machine::{CpuId, CpuSet, MapEntries, Task, tasks};
use root::Root;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the threads may take until they run: more than a period.
const START_LIMIT: Duration = Duration::from_secs(3);
/// How often their states are read.
const POLL: Duration = Duration::from_millis(5);

/// A thread of the tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkloadThread {
    /// Its number.
    pub tid: u32,
    /// Its CPU time when the measurement started, in nanoseconds.
    started_ns: u64,
    /// Its CPU time since then. `None` if the kernel does not report it.
    pub run_ns: Option<u64>,
}

impl WorkloadThread {
    /// Starts the account of a thread.
    fn of(root: &Root, tid: u32) -> WorkloadThread {
        WorkloadThread {
            tid,
            started_ns: cpu_time_ns(root, tid).unwrap_or(0),
            run_ns: None,
        }
    }

    /// A thread that has run this long.
    #[cfg(test)]
    pub const fn ran(tid: u32, run_ns: Option<u64>) -> WorkloadThread {
        WorkloadThread {
            tid,
            started_ns: 0,
            run_ns,
        }
    }

    /// Reads its CPU time.
    pub fn update(&mut self, root: &Root) {
        self.run_ns = cpu_time_ns(root, self.tid).map(|now| now.saturating_sub(self.started_ns));
    }
}

fn cpu_time_ns(root: &Root, tid: u32) -> Option<u64> {
    tasks::read_sched_stat(root, &format!("/proc/{tid}")).map(|stat| stat.run_ns)
}

/// Waits until the threads of these CPUs run, and returns those that exist. A thread that still sleeps at the limit has
/// no CPU time in the result.
pub(super) fn running_threads(root: &Root, cpus: &CpuSet, stop: &AtomicBool) -> BTreeMap<CpuId, WorkloadThread> {
    let started = Instant::now();
    let all = tasks::read(root).unwrap_or_default();
    let threads: BTreeMap<CpuId, u32> = all
        .iter()
        .filter_map(workload)
        .filter(|(cpu, _)| cpus.contains(*cpu))
        .into_map();
    let sleeps = |tid: &u32| tasks::read_stat(root, *tid).is_some_and(|task| task.state != 'R');
    while threads.values().any(sleeps) && started.elapsed() < START_LIMIT && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(POLL);
    }
    threads
        .into_iter()
        .map(|(cpu, tid)| (cpu, WorkloadThread::of(root, tid)))
        .into_map()
}

/// The CPU of a thread of the tracer: its name is `osnoise/N`.
fn workload(task: &Task) -> Option<(CpuId, u32)> {
    let number = task.comm.strip_prefix("osnoise/").filter(|_| task.is_kernel())?;
    Some((CpuId(number.parse().ok()?), task.key.tid))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread with this name and these `PF_*` flags.
    fn task(comm: &str, flags: u32) -> Task {
        let zeros = "0 ".repeat(40);
        tasks::parse_stat(&format!("210 ({comm}) R 2 0 0 0 -1 {flags} {zeros}")).unwrap()
    }

    #[test]
    fn only_kernel_threads_of_the_tracer_are_its_threads() {
        for (comm, flags, cpu) in [
            ("osnoise/3", Task::PF_KTHREAD, Some(3)),
            ("osnoise/127", Task::PF_KTHREAD, Some(127)),
            ("osnoise/3", 0, None),
            ("osnoise/x", Task::PF_KTHREAD, None),
            ("timerlat/3", Task::PF_KTHREAD, None),
        ] {
            let expected = cpu.map(|cpu| (CpuId(cpu), 210));
            assert_eq!(workload(&task(comm, flags)), expected, "{comm} {flags}");
        }
    }

    #[test]
    fn without_threads_the_result_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let root = Root::open(dir.path()).unwrap();
        assert!(running_threads(&root, &CpuSet::range(0, 3), &AtomicBool::new(false)).is_empty());
    }
}
