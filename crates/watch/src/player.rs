//! Plays a recording at its original speed, faster, slower, or step by step.

use crate::{Act, Glyphs, Mode, Moment, MomentSource, Now, Recording, Scene, SourceState, View};
use root::Failure;
use std::time::{Duration, Instant};

/// A recording that plays.
pub struct Player {
    recording: Recording,
    at: usize,
    speed: f64,
    is_held: bool,
    since: Instant,
}

/// Maximum and minimum speed.
const SPEEDS: (f64, f64) = (0.125, 64.0);

impl Player {
    /// Starts at the first moment.
    #[must_use]
    pub fn new(recording: Recording) -> Player {
        Player {
            recording,
            at: 0,
            speed: 1.0,
            is_held: false,
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

    fn go(&mut self, at: usize, view: &mut View) {
        self.at = at.min(self.last());
        self.since = Instant::now();
        // The remark that the recording was cut off must also appear when a key jumps to the last moment.
        if self.at == self.last() && self.recording.torn {
            self.note_end(view);
        }
    }

    fn note_end(&self, view: &mut View) {
        view.note = match self.recording.torn {
            true => "the recording was cut off here: its last line has no end".to_owned(),
            false => "the recording ends here".to_owned(),
        };
    }
}

impl MomentSource for Player {
    fn kernel(&self) -> &str {
        &self.recording.header.kernel
    }

    fn now(&self, glyphs: Glyphs) -> Now<'_> {
        static NONE: std::sync::LazyLock<Scene> = std::sync::LazyLock::new(Scene::default);
        let first = (self.at + 1).saturating_sub(Now::BACK);
        let before = self.recording.moments.get(..=self.at).unwrap_or_default();
        Now {
            moments: before.iter().skip(first).collect::<Vec<&Moment>>(),
            scene: before
                .iter()
                .rev()
                .find_map(|moment| moment.scene.as_ref())
                .unwrap_or(&NONE),
            glyphs,
        }
    }

    fn mode(&self) -> Mode {
        Mode::Playing {
            at: self.at + 1,
            of: self.recording.moments.len(),
            speed: if self.is_held { 0.0 } else { self.speed },
        }
    }

    fn advance(&mut self, view: &mut View) -> Result<SourceState, Failure> {
        let mut is_new = false;
        while !self.is_held && self.since.elapsed() >= self.pause() {
            if self.at == self.last() {
                self.is_held = true;
                self.note_end(view);
            } else {
                self.since += self.pause();
                self.at += 1;
            }
            is_new = true;
        }
        let wait = match self.is_held {
            true => Duration::from_secs(1),
            false => self.pause().saturating_sub(self.since.elapsed()),
        };
        Ok(SourceState {
            is_new,
            wait,
            is_over: false,
        })
    }

    fn act(&mut self, act: Act, view: &mut View) {
        match act {
            Act::Freeze => {
                self.is_held = !self.is_held;
                self.since = Instant::now();
            }
            Act::Step(moments) => {
                self.is_held = true;
                let by = usize::try_from(moments.unsigned_abs()).unwrap_or(usize::MAX);
                let at = if moments < 0 {
                    self.at.saturating_sub(by)
                } else {
                    self.at.saturating_add(by)
                };
                self.go(at, view);
            }
            Act::First => {
                self.is_held = true;
                self.go(0, view);
            }
            Act::Last => {
                self.is_held = true;
                self.go(self.last(), view);
            }
            Act::Faster => self.speed = (self.speed * 2.0).min(SPEEDS.1),
            Act::Slower => self.speed = (self.speed / 2.0).max(SPEEDS.0),
            Act::Blame(_) => "this is a recording: blame asks a CPU that is there".clone_into(&mut view.note),
            Act::Quit | Act::Stop | Act::Redraw => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The view reports a recording that was cut off, whichever key leads to the last moment.
    #[test]
    fn a_recording_that_was_cut_says_so() {
        let mut player = Player::new(Recording {
            moments: vec![Moment::default(), Moment::default()],
            torn: true,
            ..Recording::default()
        });
        for act in [Act::Last, Act::Step(1)] {
            player.go(0, &mut View::default());
            let mut view = View::default();
            player.act(act, &mut view);
            assert!(view.note.contains("cut off"), "{}", view.note);
        }
    }
}
