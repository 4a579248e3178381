//! `watch --play`: plays a recording at its original speed, faster, slower, or step by step.

use super::shown::{Source, Turn, show};
use super::terminal;
use ::terminal::Screen;
use root::{Failure, Status, process};
use std::path::Path;
use std::time::{Duration, Instant};
use watch::{Act, Glyphs, Mode, Moment, Now, Recording, Scene, View};

/// Plays a file.
///
/// # Errors
/// The file is missing, not a recording, of another version, or damaged.
pub fn run(file: &Path, screen: &Screen) -> Result<Status, Failure> {
    // An error in the file is reported even where nothing can be drawn.
    let recording = read(file)?;
    if let Some(refusal) = terminal::refusal() {
        return Err(refusal);
    }
    let _held = process::hold_signals();
    let mut player = Player::new(recording);
    show(&mut player, screen)?;
    Ok(Status::Done)
}

fn read(file: &Path) -> Result<Recording, Failure> {
    let name = report::safe(&file.display().to_string());
    let bytes = root::input::bytes(file, watch::MOST_BYTES).map_err(|error| match error.errno() {
        Some(libc::EFBIG) => Failure::usage(
            format!("{name} cannot be played"),
            format!("it is longer than {} MiB", watch::MOST_BYTES >> 20),
            "a recording is lines: `head -n` and `tail -n` make a shorter one, its first line first",
        ),
        // The reader returns one errno for everything that is not a regular file.
        Some(libc::EISDIR) if !file.is_dir() => Failure::usage(
            format!("{name} cannot be played"),
            "it is a pipe or a device, and in a recording a person goes back",
            "write it to a file first, then play that",
        ),
        _ => error.into(),
    })?;
    watch::parse(&bytes).map_err(|error| {
        Failure::usage(
            format!("{name} cannot be played"),
            report::safe(&error.to_string()),
            "play a file that `quietcore watch --record FILE` of this version wrote",
        )
    })
}

struct Player {
    recording: Recording,
    at: usize,
    speed: f64,
    is_held: bool,
    since: Instant,
}

/// Maximum and minimum speed.
const SPEEDS: (f64, f64) = (0.125, 64.0);

impl Player {
    fn new(recording: Recording) -> Player {
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

impl Source for Player {
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

    fn advance(&mut self, view: &mut View) -> Result<Turn, Failure> {
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
        Ok(Turn {
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
