//! Samples the counters in a thread, once per moment, and how much the threads of a scene ran since the last one.

use machine::tasks::{SchedStat, read_sched_stat};
use observe::{CounterSample, activity};
use root::Root;
use session::{Session, own_process};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};
use watch::{IsolatedThread, Moment, ThreadRuntime, WatchScene};

/// The sampling thread.
pub(super) struct MomentSampler {
    pub(super) session: Session,
    /// Time from one moment to the next.
    pub(super) every: Duration,
    /// The newest scene.
    pub(super) scene: WatchScene,
    /// Newer scenes.
    pub(super) scenes: Receiver<WatchScene>,
    pub(super) moments: SyncSender<Moment>,
    pub(super) stop: Arc<AtomicBool>,
}

impl MomentSampler {
    /// Samples until the receiver is gone or `stop` is set. A late sample delays those after it, because rates use the time
    /// that really passed.
    pub(super) fn run(mut self) {
        let root = self.session.root();
        let mut is_new = true;
        let mut run_times = RunTimes::default();
        let mut before = CounterSample::take(root);
        run_times.read(root, &self.scene.threads);
        let mut next_sample = Instant::now() + self.every;
        for number in 0.. {
            while let Some(left) = next_sample.checked_duration_since(Instant::now()) {
                if self.stop.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::sleep(left.min(Duration::from_millis(500)));
            }
            next_sample = (next_sample + self.every).max(Instant::now());
            if let Some(newer) = self.scenes.try_iter().last()
                && newer != self.scene
            {
                own_process::leave_cpus(root, &newer.isolated);
                self.scene = newer;
                is_new = true;
            }
            let sample = CounterSample::take(root);
            let moment = Moment {
                number,
                unix_s: session::seconds_now(),
                activity: activity(&before, &sample),
                ran: run_times.read(root, &self.scene.threads),
                scene: is_new.then(|| self.scene.clone()),
            };
            is_new = false;
            before = sample;
            if self.moments.send(moment).is_err() {
                return;
            }
        }
    }
}

/// Maximum number of threads that are read in one check: each thread costs a file read.
const MOST: usize = 256;

/// The run time of each thread at the last check.
#[derive(Default)]
struct RunTimes {
    known: BTreeMap<u32, SchedStat>,
}

impl RunTimes {
    /// Reads the run times again. A thread that is new, or whose number now belongs to another thread, has no value yet.
    fn read(&mut self, root: &Root, threads: &[IsolatedThread]) -> Vec<ThreadRuntime> {
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
