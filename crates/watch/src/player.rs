//! Plays a recording at its original speed, faster, slower, or step by step.

use crate::{
    DisplayData, Glyphs, Moment, MomentSource, SourceState, ViewAction, ViewMode, ViewState, WatchRecording, WatchScene,
};
use root::Failure;
use std::time::{Duration, Instant};

/// A recording that plays.
pub struct Player {
    recording: WatchRecording,
    at: usize,
    speed: f64,
    is_paused: bool,
    since: Instant,
}

/// Maximum and minimum speed.
const SPEEDS: (f64, f64) = (0.125, 64.0);

impl Player {
    /// Starts at the first moment.
    #[must_use]
    pub fn new(recording: WatchRecording) -> Player {
        Player {
            recording,
            at: 0,
            speed: 1.0,
            is_paused: false,
            since: Instant::now(),
        }
    }

    fn last(&self) -> usize {
        self.recording.moments.len().saturating_sub(1)
    }

    /// The time until the next moment; a recording with a duration of zero plays one moment per second.
    fn pause(&self) -> Duration {
        let next = self.recording.moments.get(self.at + 1);
        let took_ns = next.map_or(0, |moment| moment.activity.duration_ns);
        let took = match took_ns {
            0 => Duration::from_secs(1),
            ns => Duration::from_nanos(ns).min(Duration::from_secs(60)),
        };
        took.div_f64(self.speed)
    }

    fn go(&mut self, at: usize, view: &mut ViewState) {
        self.at = at.min(self.last());
        self.since = Instant::now();
        // The remark that the recording was cut off must also appear when a key jumps to the last moment.
        if self.at == self.last() && self.recording.torn {
            self.note_end(view);
        }
    }

    fn note_end(&self, view: &mut ViewState) {
        view.note = match self.recording.torn {
            true => "the recording is truncated here: its last line is incomplete".to_owned(),
            false => "the recording ends here".to_owned(),
        };
    }
}

impl MomentSource for Player {
    fn kernel(&self) -> &str {
        &self.recording.header.kernel
    }

    fn now(&self, glyphs: Glyphs) -> DisplayData<'_> {
        static NONE: std::sync::LazyLock<WatchScene> = std::sync::LazyLock::new(WatchScene::default);
        let first = (self.at + 1).saturating_sub(DisplayData::HISTORY);
        let before = self.recording.moments.get(..=self.at).unwrap_or_default();
        DisplayData {
            moments: before.iter().skip(first).collect::<Vec<&Moment>>(),
            scene: before
                .iter()
                .rev()
                .find_map(|moment| moment.scene.as_ref())
                .unwrap_or(&NONE),
            glyphs,
        }
    }

    fn mode(&self) -> ViewMode {
        ViewMode::Playing {
            at: self.at + 1,
            of: self.recording.moments.len(),
            speed: if self.is_paused { 0.0 } else { self.speed },
        }
    }

    fn advance(&mut self, view: &mut ViewState) -> Result<SourceState, Failure> {
        let mut is_new = false;
        while !self.is_paused && self.since.elapsed() >= self.pause() {
            if self.at == self.last() {
                self.is_paused = true;
                self.note_end(view);
            } else {
                self.since += self.pause();
                self.at += 1;
            }
            is_new = true;
        }
        let wait = match self.is_paused {
            true => Duration::from_secs(1),
            false => self.pause().saturating_sub(self.since.elapsed()),
        };
        Ok(SourceState {
            is_new,
            wait,
            is_over: false,
        })
    }

    fn act(&mut self, act: ViewAction, view: &mut ViewState) {
        match act {
            ViewAction::Freeze => {
                self.is_paused = !self.is_paused;
                self.since = Instant::now();
            }
            ViewAction::Step(moments) => {
                self.is_paused = true;
                let by = usize::try_from(moments.unsigned_abs()).unwrap_or(usize::MAX);
                let at = if moments < 0 {
                    self.at.saturating_sub(by)
                } else {
                    self.at.saturating_add(by)
                };
                self.go(at, view);
            }
            ViewAction::First => {
                self.is_paused = true;
                self.go(0, view);
            }
            ViewAction::Last => {
                self.is_paused = true;
                self.go(self.last(), view);
            }
            ViewAction::Faster => self.speed = (self.speed * 2.0).min(SPEEDS.1),
            ViewAction::Slower => self.speed = (self.speed / 2.0).max(SPEEDS.0),
            ViewAction::Blame(_) => "this is a recording: blame needs a live machine".clone_into(&mut view.note),
            ViewAction::Quit | ViewAction::Stop | ViewAction::Redraw => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The view reports a recording that was cut off, whichever key leads to the last moment.
    #[test]
    fn a_truncated_recording_is_reported_at_its_end() {
        let mut player = Player::new(WatchRecording {
            moments: vec![Moment::default(), Moment::default()],
            torn: true,
            ..WatchRecording::default()
        });
        for act in [ViewAction::Last, ViewAction::Step(1)] {
            player.go(0, &mut ViewState::default());
            let mut view = ViewState::default();
            player.act(act, &mut view);
            assert!(view.note.contains("truncated"), "{}", view.note);
        }
    }
}
