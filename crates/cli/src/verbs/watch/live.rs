//! Runs the live view: moments from the sampling thread, scenes from the checking thread, answers from `blame`.

use super::asked::Asking;
use super::recorded::Recorder;
use super::shown::{Source, Turn, show};
use super::{Args, checking, sampling, scene};
use ::terminal::Screen;
use root::{Failure, Status, process};
use session::own_process::step_aside;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel, sync_channel};
use std::time::{Duration, Instant};
use watch::{Act, Glyphs, Mode, Moment, Now, Overlay, Scene, View};

mod answer;
use answer::Answer;
use session::Session;

/// Maximum number of moments that wait to be drawn.
const WAITING: usize = 16;

/// Shows this machine.
///
/// # Errors
/// `check` is missing something essential, a file cannot be written, or the terminal is gone.
pub fn run(args: &Args, session: &Session, screen: &Screen) -> Result<Status, Failure> {
    let _held = process::hold_signals();
    let mut live = Live::begin(session, args)?;
    let shown = show(&mut live, screen);
    live.end();
    shown.map(|()| Status::Done)
}

/// Records this machine, without a terminal.
///
/// # Errors
/// As [`run`].
pub fn record_only(session: &Session, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let _held = process::hold_signals();
    let mut live = Live::begin(session, args)?;
    screen.note("no terminal: recording only; SIGINT or SIGTERM ends it\n");
    let mut view = View::default();
    let recorded = loop {
        match live.advance(&mut view) {
            Ok(turn) if turn.is_over => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
        if let Some(signal) = process::next_signal(Duration::from_millis(100))
            && process::ENDINGS.contains(&signal.number)
        {
            break Ok(());
        }
    };
    let moments = live.counted;
    live.end();
    recorded?;
    screen.text(&format!("{moments} moments\n"));
    Ok(Status::Done)
}

struct Live {
    kernel: String,
    moments: VecDeque<Moment>,
    scene: Scene,
    /// The moment that is shown while the view is paused.
    frozen: Option<(Vec<Moment>, Scene)>,
    from: Receiver<Moment>,
    trouble: Receiver<String>,
    wake: Option<Sender<()>>,
    stop: Arc<AtomicBool>,
    recorder: Option<Recorder>,
    end: Option<Instant>,
    answer: Option<Answer>,
    counted: usize,
}

impl Live {
    fn begin(session: &Session, args: &Args) -> Result<Live, Failure> {
        let asking = Asking {
            cpus: args.cpus.clone(),
        };
        // Before the first thread is created: each thread inherits the affinity of this one.
        let looked = asking.look(session, Duration::ZERO)?;
        let first = scene::of(&looked);
        step_aside(session.root(), &first.isolated);
        let kernel = looked.machine.kernel.release.clone().unwrap_or_default();
        let recorder = match &args.record {
            Some(path) => Some(Recorder::begin(path, &kernel, args.every)?),
            None => None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (to_view, from) = sync_channel(WAITING);
        let (to_sampler, scenes) = channel();
        let (tell, trouble) = channel();
        let (wake, woken) = channel();
        let every = args.every;
        let (scene, is_over) = (first.clone(), Arc::clone(&stop));
        let own = session.for_thread();
        std::thread::spawn(move || sampling::run(&own, every, scene, &scenes, &to_view, &is_over));
        let is_over = Arc::clone(&stop);
        let own = session.for_thread();
        std::thread::spawn(move || checking::run(&own, &asking, &to_sampler, &tell, &woken, &is_over));
        Ok(Live {
            kernel,
            moments: VecDeque::new(),
            scene: first,
            frozen: None,
            from,
            trouble,
            wake: Some(wake),
            stop,
            recorder,
            end: args.duration.map(|time| Instant::now() + time),
            answer: None,
            counted: 0,
        })
    }

    /// Signals the threads to end. They hold nothing that must be released, so the view does not wait for them.
    fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake = None;
        if let Some(answer) = self.answer.take() {
            answer.give_up();
        }
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
        while self.moments.len() > Now::BACK {
            self.moments.pop_front();
        }
        Ok(())
    }

    fn take_answer(&mut self, view: &mut View) -> bool {
        let Some(answer) = &mut self.answer else {
            return false;
        };
        let Some(text) = answer.text() else {
            return false;
        };
        view.lay_over(Overlay::Answer {
            title: answer.title(),
            text,
        });
        view.note.clear();
        self.answer = None;
        true
    }
}

impl Source for Live {
    fn kernel(&self) -> &str {
        &self.kernel
    }

    fn now(&self, glyphs: Glyphs) -> Now<'_> {
        match &self.frozen {
            None => Now {
                moments: self.moments.iter().collect(),
                scene: &self.scene,
                glyphs,
            },
            Some((moments, scene)) => Now {
                moments: moments.iter().collect(),
                scene,
                glyphs,
            },
        }
    }

    fn mode(&self) -> Mode {
        match self.frozen {
            None => Mode::Live,
            Some(_) => Mode::Frozen,
        }
    }

    fn advance(&mut self, view: &mut View) -> Result<Turn, Failure> {
        let mut is_new = false;
        loop {
            match self.from.try_recv() {
                Ok(moment) => {
                    self.take(moment)?;
                    is_new |= self.frozen.is_none();
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    return Err(Failure::new(
                        Status::Bug,
                        "nobody looks at the counters any more",
                        "the thread that samples has ended",
                        "please report it",
                    ));
                }
            }
        }
        if let Some(text) = self.trouble.try_iter().last() {
            view.note = text;
            is_new = true;
        }
        is_new |= self.take_answer(view);
        Ok(Turn {
            is_new,
            wait: Duration::from_millis(100),
            is_over: self.end.is_some_and(|end| Instant::now() >= end),
        })
    }

    fn act(&mut self, act: Act, view: &mut View) {
        match act {
            Act::Freeze => {
                self.frozen = match self.frozen.take() {
                    Some(_) => None,
                    None => Some((self.moments.iter().cloned().collect(), self.scene.clone())),
                };
            }
            Act::Blame(cpu) => {
                if let Some(earlier) = self.answer.take() {
                    earlier.give_up();
                }
                match Answer::ask(cpu) {
                    Ok(answer) => {
                        view.note = answer.promise();
                        self.answer = Some(answer);
                    }
                    Err(error) => view.note = format!("blame could not be started: {error}"),
                }
            }
            Act::Step(_) | Act::First | Act::Last | Act::Faster | Act::Slower => {
                "this key is for recordings (--play)".clone_into(&mut view.note);
            }
            Act::Quit | Act::Stop | Act::Redraw => {}
        }
    }
}
