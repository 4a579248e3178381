//! Measures how much the threads of a scene ran between two checks.

use root::Root;
use std::collections::BTreeMap;
use watch::{IsolatedThread, ThreadRuntime};

/// Maximum number of threads that are read in one check: each thread costs a file read.
const MOST: usize = 256;

/// The run time of each thread at the last check.
#[derive(Default)]
pub(super) struct RunTimes {
    known: BTreeMap<u32, (u64, u64)>,
}

impl RunTimes {
    /// Reads the run times again. A thread that is new, or whose number now belongs to another thread, has no value yet.
    pub(super) fn read(&mut self, root: &Root, threads: &[IsolatedThread]) -> Vec<ThreadRuntime> {
        let mut now = BTreeMap::new();
        let mut ran = Vec::new();
        for thread in threads.iter().take(MOST) {
            let path = format!("/proc/{}/task/{}/schedstat", thread.pid, thread.tid);
            let Some((ran_ns, times)) = root.text(&path).ok().flatten().and_then(|text| parse(&text)) else {
                continue;
            };
            now.insert(thread.tid, (ran_ns, times));
            let Some((before_ns, before)) = self.known.get(&thread.tid) else {
                continue;
            };
            if let (Some(ran_ns), Some(times)) = (ran_ns.checked_sub(*before_ns), times.checked_sub(*before)) {
                ran.push(ThreadRuntime {
                    tid: thread.tid,
                    times,
                    ran_ns,
                });
            }
        }
        self.known = now;
        ran
    }
}

/// Time on a CPU, and the number of time slices (`proc_pid_schedstat` in `fs/proc/base.c`).
fn parse(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().ok());
    let ran_ns = numbers.next()??;
    let _waited = numbers.next()??;
    Some((ran_ns, numbers.next()??))
}
