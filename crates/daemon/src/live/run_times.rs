//! Measures how much the threads of a scene ran between two checks.

use machine::tasks::{SchedStat, read_sched_stat};
use root::Root;
use std::collections::BTreeMap;
use watch::{IsolatedThread, ThreadRuntime};

/// Maximum number of threads that are read in one check: each thread costs a file read.
const MOST: usize = 256;

/// The run time of each thread at the last check.
#[derive(Default)]
pub(super) struct RunTimes {
    known: BTreeMap<u32, SchedStat>,
}

impl RunTimes {
    /// Reads the run times again. A thread that is new, or whose number now belongs to another thread, has no value yet.
    pub(super) fn read(&mut self, root: &Root, threads: &[IsolatedThread]) -> Vec<ThreadRuntime> {
        let mut now = BTreeMap::new();
        let mut ran = Vec::new();
        for thread in threads.iter().take(MOST) {
            let Some(stat) = read_sched_stat(root, &format!("/proc/{}/task/{}", thread.pid, thread.tid)) else {
                continue;
            };
            now.insert(thread.tid, stat);
            ran.extend(self.known.get(&thread.tid).and_then(|before| {
                Some(ThreadRuntime {
                    tid: thread.tid,
                    times: stat.time_slices.checked_sub(before.time_slices)?,
                    ran_ns: stat.run_ns.checked_sub(before.run_ns)?,
                })
            }));
        }
        self.known = now;
        ran
    }
}
