//! Runs `check` repeatedly in a thread and sends its changes.

use super::scene;
use crate::observation::examine_cpus;
use session::{Session, own_process};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use watch::WatchScene;

/// How long effects are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// Minimum time between two checks.
const PAUSE: Duration = Duration::from_secs(4);

/// Maximum share of the time for checks: with a hundred thousand threads they run less often.
const SHARE: u32 = 20;

/// The checking thread.
pub(super) struct Checker {
    pub(super) session: Session,
    /// The CPU expression of the user.
    pub(super) cpus: Option<String>,
    pub(super) scenes: Sender<WatchScene>,
    /// Errors of `check`, as text.
    pub(super) errors: Sender<String>,
    /// The thread ends when the sender is dropped.
    pub(super) wake: Receiver<()>,
    pub(super) stop: Arc<AtomicBool>,
}

impl Checker {
    /// Checks until the receiver is gone or `stop` is set.
    pub(super) fn run(&self) {
        let mut pause = Duration::ZERO;
        loop {
            match self.wake.recv_timeout(pause) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let started = Instant::now();
            match examine_cpus(&self.session, self.cpus.as_deref(), WINDOW) {
                Ok(examination) => {
                    let scene = scene::of(&examination);
                    own_process::leave_cpus(self.session.root(), &scene.isolated);
                    // A receiver that is gone needs no scene.
                    let _ = self.scenes.send(scene);
                }
                Err(error) => {
                    let _ = self.errors.send(format!("check: {}", error.reason()));
                }
            }
            pause = PAUSE.max(started.elapsed().saturating_sub(WINDOW) * SHARE);
        }
    }
}
