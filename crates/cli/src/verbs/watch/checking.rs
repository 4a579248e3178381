//! Runs `check` repeatedly in a thread and sends its changes.

use super::asked::Asking;
use super::scene;
use session::Session;
use session::own_process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use watch::Scene;

/// How long effects are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// Minimum time between two checks.
const PAUSE: Duration = Duration::from_secs(4);

/// Maximum share of the time for checks: with a hundred thousand threads they run less often.
const SHARE: u32 = 20;

/// Checks until the receiver is gone or `stop` is set.
pub fn run(
    session: &Session,
    asking: &Asking,
    out: &Sender<Scene>,
    trouble: &Sender<String>,
    wake: &Receiver<()>,
    stop: &AtomicBool,
) {
    let root = session.root();
    let mut pause = Duration::ZERO;
    loop {
        match wake.recv_timeout(pause) {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let begun = Instant::now();
        match asking.look(session, WINDOW) {
            Ok(looked) => {
                let scene = scene::of(&looked);
                own_process::step_aside(root, &scene.isolated);
                // A receiver that is gone needs no scene.
                let _ = out.send(scene);
            }
            Err(error) => {
                let _ = trouble.send(format!("check: {}: {}", error.what, error.why));
            }
        }
        pause = PAUSE.max(begun.elapsed().saturating_sub(WINDOW) * SHARE);
    }
}
