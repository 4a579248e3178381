//! Programs that run beside a measurement: started where and how they were ordered, started again when they end,
//! and gone with everything they left behind when the run is over, also when it was killed.
//!
//! Each is a process group of its own. What a program leaves running when it ends belongs to that group and is killed
//! before the program is waited for: until then the kernel keeps the group's number from being used again.

mod launch;
mod warden;

use crate::MeasureError;
use crate::configuration::After;
pub use crate::result::ProgramResult;
use launch::launch;
use machine::{CpuSet, Policy};
use root::descriptor::Begin;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};
use warden::Warden;

/// A program that ended sooner than this counts as one that does not work.
const TOO_SHORT: Duration = Duration::from_millis(100);

/// Programs that do not work are started again only this often.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a program has to end after SIGTERM.
const PATIENCE: Duration = Duration::from_millis(500);

/// What shall run, settled on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// What it is called in the result.
    pub name: String,
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// Where it may run; `None` is where we may.
    pub cpus: Option<CpuSet>,
    /// Its policy: all but `Deadline`.
    pub policy: Policy,
    /// 1 to 99 for `Fifo` and `Rr`, else 0.
    pub priority: u32,
    /// The file by which a process gets into its cgroup (`cgroup.procs` or `tasks`).
    pub door: Option<String>,
    /// Where its standard output goes; `None` is ours.
    pub output: Option<PathBuf>,
    /// Where its standard error goes; `None` is ours.
    pub errors: Option<PathBuf>,
    /// After exit status 0.
    pub after_success: After,
    /// After any other end.
    pub after_failure: After,
    /// When it is ended, counted from its start; it is not started again then.
    pub lifetime: Option<Duration>,
}

/// Programs that run.
pub struct Programs {
    running: Vec<Running>,
    warden: Warden,
}

/// Who ended a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndedBy {
    Itself,
    Us,
}

/// Whether the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tended {
    /// It does.
    GoOn,
    /// A program ended whose end is the run's.
    End,
}

struct Running {
    order: Order,
    child: Option<Child>,
    since: Instant,
    short_lives: u32,
    due: Option<Instant>,
    result: ProgramResult,
}

impl Programs {
    /// Starts them in their order. Call it from the thread that [`Programs::tend`]s, before other threads exist: the
    /// programs die with this thread, and a watching process is forked.
    ///
    /// # Errors
    /// [`MeasureError::Program`] for the first that cannot be started; those before it are ended.
    pub fn start(orders: &[Order]) -> Result<Programs, MeasureError> {
        let warden = Warden::post().map_err(|errno| MeasureError::Os {
            doing: "start the process that ends the programs if we are killed",
            errno,
        })?;
        let mut programs = Programs {
            running: Vec::new(),
            warden,
        };
        for order in orders {
            let mut running = Running {
                order: order.clone(),
                child: None,
                since: Instant::now(),
                short_lives: 0,
                due: None,
                result: ProgramResult {
                    name: order.name.clone(),
                    ..ProgramResult::default()
                },
            };
            running.start(&programs.warden)?;
            programs.running.push(running);
        }
        Ok(programs)
    }

    /// Looks after them: waits for those that ended, starts again what shall be, ends what has lived its time. To be
    /// called many times a second.
    pub fn tend(&mut self) -> Tended {
        let mut tended = Tended::GoOn;
        for running in &mut self.running {
            if running.tend(&self.warden) == Tended::End {
                tended = Tended::End;
            }
        }
        tended
    }

    /// Ends them all, and says what became of each.
    #[must_use]
    pub fn end(mut self) -> Vec<ProgramResult> {
        self.end_all();
        self.running
            .iter()
            .map(|running| running.result.clone())
            .collect()
    }

    /// SIGTERM to all, then SIGKILL to those that did not heed it.
    fn end_all(&mut self) {
        self.running
            .iter()
            .for_each(|running| running.signal(Signal::TERM));
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && self.running.iter().any(Running::lives) {
            std::thread::sleep(Duration::from_millis(5));
        }
        for running in &mut self.running {
            running.put_away(EndedBy::Us, &self.warden);
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.end_all();
    }
}

impl Running {
    fn start(&mut self, warden: &Warden) -> Result<(), MeasureError> {
        let begin = match self.result.started {
            0 => Begin::Anew,
            _ => Begin::Further,
        };
        let child = launch(&self.order, begin)?;
        warden.watch(child.id());
        self.child = Some(child);
        self.since = Instant::now();
        self.due = None;
        self.result.started += 1;
        Ok(())
    }

    fn tend(&mut self, warden: &Warden) -> Tended {
        if self.due.is_some_and(|due| due <= Instant::now())
            && let Err(error) = self.start(warden)
        {
            self.result.failed += 1;
            self.result.last_failure = Some(error.to_string());
            self.due = Some(Instant::now() + PAUSE);
        }
        if self.lives() {
            if self
                .order
                .lifetime
                .is_some_and(|most| self.since.elapsed() >= most)
            {
                self.signal(Signal::TERM);
                let begun = Instant::now();
                while begun.elapsed() < PATIENCE && self.lives() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                self.put_away(EndedBy::Us, warden);
            }
            return Tended::GoOn;
        }
        let Some(after) = self.put_away(EndedBy::Itself, warden) else {
            return Tended::GoOn;
        };
        match after {
            After::Leave => Tended::GoOn,
            After::End => Tended::End,
            After::Respawn => {
                self.short_lives = match self.since.elapsed() < TOO_SHORT {
                    true => self.short_lives + 1,
                    false => 0,
                };
                // Two quick ends can happen; a third one is a habit, and forking for it would be our own noise.
                let pause = match self.short_lives {
                    0..3 => Duration::ZERO,
                    _ => PAUSE,
                };
                self.result.throttled |= !pause.is_zero();
                self.due = Some(Instant::now() + pause);
                Tended::GoOn
            }
        }
    }

    /// Whether it was started and has not ended. It is not waited for here.
    fn lives(&self) -> bool {
        let Some(pid) = self.pid() else { return false };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }

    fn pid(&self) -> Option<Pid> {
        let child = self.child.as_ref()?;
        Pid::from_raw(i32::try_from(child.id()).ok()?)
    }

    /// To the program and all that it started in its group.
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, signal);
        }
    }

    /// Kills what is left of its group, waits for it and, where it ended by itself, counts how; says what follows.
    fn put_away(&mut self, by: EndedBy, warden: &Warden) -> Option<After> {
        self.signal(Signal::KILL);
        let mut child = self.child.take()?;
        let status = child.wait().ok()?;
        warden.forget(child.id());
        if by == EndedBy::Us {
            return None;
        }
        if status.success() {
            self.result.succeeded += 1;
            return Some(self.order.after_success);
        }
        self.result.failed += 1;
        self.result.last_failure = Some(status.to_string());
        Some(self.order.after_failure)
    }
}
