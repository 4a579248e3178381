//! Samples the counters in a thread, once per moment.

use super::ran::Runs;
use observe::{Sample, activity};
use session::Session;
use session::own_process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant, SystemTime};
use watch::{Moment, Scene};

/// Samples until the receiver is gone or `stop` is set. A late sample delays those after it, because rates use the time that
/// really passed.
pub fn run(
    session: &Session,
    every: Duration,
    first: Scene,
    scenes: &Receiver<Scene>,
    moments: &SyncSender<Moment>,
    stop: &AtomicBool,
) {
    let root = session.root();
    let mut scene = first;
    let mut is_new = true;
    let mut runs = Runs::default();
    let mut before = Sample::take(root);
    runs.look(root, &scene.threads);
    let mut due = Instant::now() + every;
    for number in 0.. {
        while let Some(left) = due.checked_duration_since(Instant::now()) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(500)));
        }
        due = (due + every).max(Instant::now());
        if let Some(newer) = scenes.try_iter().last()
            && newer != scene
        {
            own_process::step_aside(root, &newer.isolated);
            scene = newer;
            is_new = true;
        }
        let sample = Sample::take(root);
        let moment = Moment {
            number,
            unix_s: SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |time| time.as_secs()),
            activity: activity(&before, &sample),
            ran: runs.look(root, &scene.threads),
            scene: is_new.then(|| scene.clone()),
        };
        is_new = false;
        before = sample;
        if moments.send(moment).is_err() {
            return;
        }
    }
}
