//! Reads the kernel's statistics at both ends of the window, while the samplers run, so that they exclude the cost of
//! starting and ending the samplers. Reads only files that do not disturb the measured CPUs.

use machine::tasks::read_sched_stat;
use machine::{CpuId, CpuSet, MapEntries};
use observe::{Activity, CounterSample};
use root::Root;
use std::collections::BTreeMap;

/// The kernel's statistics at both ends of the window.
#[derive(Default)]
pub(super) struct KernelWindow {
    first: Option<WindowEnd>,
    last: Option<WindowEnd>,
}

/// The statistics at one end.
struct WindowEnd {
    counters: CounterSample,
    /// Per lane: how long its thread has waited for its CPU since the thread started.
    waited_ns: Vec<Option<u64>>,
}

impl WindowEnd {
    fn take(root: &Root, threads: &[Option<u32>]) -> WindowEnd {
        let waited = threads.iter().map(|tid| waited_ns(root, (*tid)?));
        WindowEnd {
            waited_ns: waited.collect(),
            counters: CounterSample::take(root),
        }
    }
}

impl KernelWindow {
    /// Reads the statistics at the start.
    pub(super) fn read_start(&mut self, root: &Root, threads: &[Option<u32>]) {
        self.first = Some(WindowEnd::take(root, threads));
    }

    /// Reads the statistics at the end.
    pub(super) fn end(&mut self, root: &Root, threads: &[Option<u32>]) {
        self.last = Some(WindowEnd::take(root, threads));
    }

    /// Whether the start was read.
    pub(super) fn has_started(&self) -> bool {
        self.first.is_some()
    }

    /// Whether the end was read.
    pub(super) fn has_ended(&self) -> bool {
        self.last.is_some()
    }

    /// The activity on `cpus`; `None` if one of the readings is missing.
    pub(super) fn activity(&self, cpus: &CpuSet) -> Option<Activity> {
        let [first, last] = self.ends()?;
        let mut activity = observe::activity(&first.counters, &last.counters);
        activity.cpus.retain(|activity| cpus.contains(activity.cpu));
        Some(activity)
    }

    /// Load of every CPU of the machine, in percent.
    pub(super) fn loads(&self) -> BTreeMap<CpuId, f64> {
        let loads = || {
            let [first, last] = self.ends()?;
            let (first, last) = (first.counters.times.as_ref()?, last.counters.times.as_ref()?);
            let loads = last.iter().filter_map(|(cpu, times)| {
                let load = times.load_since(first.get(cpu)?)?;
                Some((CpuId(*cpu), load))
            });
            Some(loads.into_map())
        };
        loads().unwrap_or_default()
    }

    /// Per lane: how long its thread waited for its CPU during the window.
    pub(super) fn waited_ns(&self) -> Vec<Option<u64>> {
        let Some([first, last]) = self.ends() else {
            return Vec::new();
        };
        let both = first.waited_ns.iter().zip(&last.waited_ns);
        both.map(|(first, last)| (*last)?.checked_sub((*first)?)).collect()
    }

    fn ends(&self) -> Option<[&WindowEnd; 2]> {
        Some([self.first.as_ref()?, self.last.as_ref()?])
    }
}

/// The second field of `/proc/TID/schedstat`: time on the run queue without running (`Documentation/scheduler/
/// sched-stats.rst`). All fields are 0 where the kernel keeps no such statistics.
fn waited_ns(root: &Root, tid: u32) -> Option<u64> {
    let stat = read_sched_stat(root, &format!("/proc/{tid}"))?;
    (stat.run_ns > 0).then_some(stat.waited_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(waited: &str, stat: &str) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/77")).unwrap();
        std::fs::write(dir.path().join("proc/77/schedstat"), waited).unwrap();
        std::fs::write(dir.path().join("proc/stat"), stat).unwrap();
        let root = Root::open(dir.path()).unwrap();
        (dir, root)
    }

    #[test]
    fn window_statistics_are_differences_between_its_ends() {
        let threads = [Some(77), None, Some(78)];
        let mut window = KernelWindow::default();
        let (_first, before) = root(
            "1000 200 3\n",
            "cpu 0\ncpu0 10 0 0 90 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\n",
        );
        let (_last, after) = root(
            "9000 950 4\n",
            "cpu 0\ncpu0 40 0 0 160 0 0 0 0 0 0\ncpu1 0 0 0 200 0 0 0 0 0 0\n",
        );
        window.read_start(&before, &threads);
        assert!(window.has_started() && !window.has_ended() && window.loads().is_empty());
        assert!(window.waited_ns().is_empty());
        window.end(&after, &threads);
        assert_eq!(window.waited_ns(), [Some(750), None, None]);
        assert_eq!(window.loads(), BTreeMap::from([(CpuId(0), 30.0), (CpuId(1), 0.0)]));
    }

    #[test]
    fn a_kernel_without_scheduler_statistics_gives_no_value() {
        let (_dir, root) = root("0 0 0\n", "");
        assert_eq!(waited_ns(&root, 77), None);
    }
}
