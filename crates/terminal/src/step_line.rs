//! Shows on a terminal what a command does, if that takes longer than a second: `apply`, `undo`, `check --fix`.

use crate::Screen;
use crate::progress_bar::is_drawn;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is done faster is not shown, so that nothing flickers.
const DELAY: Duration = Duration::from_secs(1);

/// How often the line is drawn.
const PERIOD: Duration = Duration::from_millis(100);

/// A line on standard error. It appears after a second and disappears when this value is dropped.
pub struct StepLine {
    end: Option<Sender<()>>,
    drawer: Option<JoinHandle<()>>,
}

impl StepLine {
    /// Starts the time of a step. Nothing is shown unless progress [`is_drawn`].
    pub fn start(what: &str, screen: &Screen) -> StepLine {
        if !is_drawn(screen) {
            return StepLine {
                end: None,
                drawer: None,
            };
        }
        let what = report::safe(what).to_string();
        let (end, ended) = mpsc::channel();
        let drawer = std::thread::Builder::new().spawn(move || {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
                bar.set_style(style);
            }
            bar.set_message(what);
            draw_until(&ended, DELAY, |moment| match moment {
                LineMoment::First => bar.set_draw_target(ProgressDrawTarget::stderr()),
                LineMoment::Next => bar.tick(),
                LineMoment::Last => bar.finish_and_clear(),
            });
        });
        // Without the thread nothing is shown, and the step is done all the same.
        StepLine {
            end: Some(end),
            drawer: drawer.ok(),
        }
    }
}

impl Drop for StepLine {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(drawer) = self.drawer.take() {
            let _ = drawer.join();
        }
    }
}

/// A moment in the life of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineMoment {
    First,
    Next,
    Last,
}

/// Draws after the delay until the other end of the channel is dropped; never if that comes first.
fn draw_until(ended: &Receiver<()>, delay: Duration, mut draw: impl FnMut(LineMoment)) {
    let continues = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    if !continues(delay) {
        return;
    }
    draw(LineMoment::First);
    while continues(PERIOD) {
        draw(LineMoment::Next);
    }
    draw(LineMoment::Last);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_step_draws_nothing() {
        let (end, ended) = mpsc::channel();
        drop(end);
        draw_until(&ended, Duration::from_secs(60), |moment| panic!("{moment:?}"));
    }

    #[test]
    fn a_slow_step_is_drawn_until_its_end() {
        let (end, ended) = mpsc::channel();
        let (mut end, mut moments) = (Some(end), Vec::new());
        draw_until(&ended, Duration::from_millis(1), |moment| {
            moments.push(moment);
            if moment == LineMoment::Next {
                end = None;
            }
        });
        assert_eq!(moments, [LineMoment::First, LineMoment::Next, LineMoment::Last]);
    }
}
