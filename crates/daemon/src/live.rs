//! The source of the live view: moments from the sampling thread, scenes from the checking thread, answers from `blame`.

mod blame_answer;
mod checker;
mod recorder;
mod sampler;
mod scene;

use crate::observation::examine_cpus;
use blame_answer::BlameAnswer;
use checker::Checker;
use recorder::MomentRecorder;
use root::{Failure, Status};
use sampler::MomentSampler;
use session::Session;
use session::own_process::leave_cpus;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel, sync_channel};
use std::time::{Duration, Instant};
use watch::{
    DisplayData, Glyphs, Moment, MomentSource, Overlay, SourceState, ViewAction, ViewMode, ViewState, WatchScene,
};

/// Maximum number of moments that wait to be drawn.
const WAITING: usize = 16;

/// What the live view shows.
pub struct LiveOptions {
    /// The CPU expression of the user; without it the CPUs that `check` finds.
    pub cpus: Option<String>,
    /// Time from one moment to the next.
    pub every: Duration,
    /// The file of the recording.
    pub record: Option<PathBuf>,
    /// How long; without it until it is ended.
    pub duration: Option<Duration>,
}

/// The source of the live view. Its threads end when it is dropped.
pub struct LiveSource {
    kernel: String,
    moments: VecDeque<Moment>,
    scene: WatchScene,
    /// The moment that is on the screen while the view is paused.
    frozen: Option<(Vec<Moment>, WatchScene)>,
    incoming: Receiver<Moment>,
    errors: Receiver<String>,
    /// Ends the checking thread when it is dropped.
    _wake: Sender<()>,
    stop: Arc<AtomicBool>,
    recorder: Option<MomentRecorder>,
    end: Option<Instant>,
    answer: Option<BlameAnswer>,
    counted: usize,
}

impl LiveSource {
    /// Checks once, starts the recording, and starts the threads.
    ///
    /// # Errors
    /// `check` cannot read something essential, or the recording cannot be written.
    pub fn start(session: &Session, options: &LiveOptions) -> Result<LiveSource, Failure> {
        // Before the first thread is created: each thread inherits the affinity of this one.
        let examination = examine_cpus(session, options.cpus.as_deref(), Duration::ZERO)?;
        let scene = scene::of(&examination);
        leave_cpus(session.root(), &scene.isolated);
        let kernel = examination.machine.kernel.release.clone().unwrap_or_default();
        let record = options.record.as_ref();
        let recorder = record.map(|path| MomentRecorder::start(path, &kernel, options.every));
        let recorder = recorder.transpose()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (to_view, incoming) = sync_channel(WAITING);
        let (to_sampler, scenes) = channel();
        let (to_errors, errors) = channel();
        let (wake, woken) = channel();
        let sampler = MomentSampler {
            session: session.for_thread(),
            every: options.every,
            scene: scene.clone(),
            scenes,
            moments: to_view,
            stop: Arc::clone(&stop),
        };
        std::thread::spawn(move || sampler.run());
        let checker = Checker {
            session: session.for_thread(),
            cpus: options.cpus.clone(),
            scenes: to_sampler,
            errors: to_errors,
            wake: woken,
            stop: Arc::clone(&stop),
        };
        std::thread::spawn(move || checker.run());
        Ok(LiveSource {
            kernel,
            moments: VecDeque::new(),
            scene,
            frozen: None,
            incoming,
            errors,
            _wake: wake,
            stop,
            recorder,
            end: options.duration.map(|time| Instant::now() + time),
            answer: None,
            counted: 0,
        })
    }

    /// The number of moments so far.
    #[must_use]
    pub fn counted(&self) -> usize {
        self.counted
    }

    fn take(&mut self, moment: Moment) -> Result<(), Failure> {
        if let Some(recorder) = &mut self.recorder {
            recorder.add(&moment)?;
        }
        self.counted += 1;
        if let Some(scene) = &moment.scene {
            self.scene.clone_from(scene);
        }
        self.moments.push_back(moment);
        while self.moments.len() > DisplayData::HISTORY {
            self.moments.pop_front();
        }
        Ok(())
    }

    fn take_answer(&mut self, view: &mut ViewState) -> bool {
        let Some(answer) = &mut self.answer else {
            return false;
        };
        let Some(text) = answer.text() else {
            return false;
        };
        view.open_overlay(Overlay::Answer {
            title: answer.title(),
            text,
        });
        view.note.clear();
        self.answer = None;
        true
    }
}

impl Drop for LiveSource {
    /// Signals the threads to end. They hold nothing that must be released, so the view does not wait for them.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(answer) = self.answer.take() {
            answer.stop();
        }
    }
}

impl MomentSource for LiveSource {
    fn kernel(&self) -> &str {
        &self.kernel
    }

    fn now(&self, glyphs: Glyphs) -> DisplayData<'_> {
        let (moments, scene) = match &self.frozen {
            None => (self.moments.iter().collect(), &self.scene),
            Some((moments, scene)) => (moments.iter().collect(), scene),
        };
        DisplayData { moments, scene, glyphs }
    }

    fn mode(&self) -> ViewMode {
        match self.frozen {
            None => ViewMode::Live,
            Some(_) => ViewMode::Frozen,
        }
    }

    fn advance(&mut self, view: &mut ViewState) -> Result<SourceState, Failure> {
        let mut is_new = false;
        loop {
            match self.incoming.try_recv() {
                Ok(moment) => {
                    self.take(moment)?;
                    is_new |= self.frozen.is_none();
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    return Err(Failure::new(
                        Status::Bug,
                        "the counters are no longer sampled",
                        "the sampling thread has ended",
                        "please report this as a bug",
                    ));
                }
            }
        }
        if let Some(text) = self.errors.try_iter().last() {
            view.note = text;
            is_new = true;
        }
        is_new |= self.take_answer(view);
        Ok(SourceState {
            is_new,
            wait: Duration::from_millis(100),
            is_over: self.end.is_some_and(|end| Instant::now() >= end),
        })
    }

    fn act(&mut self, act: ViewAction, view: &mut ViewState) {
        match act {
            ViewAction::Freeze => {
                self.frozen = match self.frozen.take() {
                    Some(_) => None,
                    None => Some((self.moments.iter().cloned().collect(), self.scene.clone())),
                };
            }
            ViewAction::Blame(cpu) => {
                if let Some(earlier) = self.answer.take() {
                    earlier.stop();
                }
                match BlameAnswer::start(cpu) {
                    Ok(answer) => {
                        view.note = answer.promise();
                        self.answer = Some(answer);
                    }
                    Err(error) => view.note = format!("blame could not be started: {error}"),
                }
            }
            ViewAction::Step(_) | ViewAction::First | ViewAction::Last | ViewAction::Faster | ViewAction::Slower => {
                "this key works only in recordings (--play)".clone_into(&mut view.note);
            }
            ViewAction::Quit | ViewAction::Stop | ViewAction::Redraw => {}
        }
    }
}
