//! Runs programs beside a measurement: starts them with the specified settings, restarts them when they end, and kills
//! them with all their descendants when the run is over, even if the run was killed.
//!
//! Each program is a process group of its own. Processes that it leaves behind belong to that group and are killed
//! before the program is reaped: until then the kernel does not reuse the group's number.

mod launch;
mod warden;

use crate::MeasureError;
use crate::configuration::EndAction;
pub use crate::result::ProgramResult;
use launch::launch;
use machine::{CpuSet, Policy};
use root::descriptor::WriteStart;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};
use warden::ProgramWatchdog;

/// A program that ends sooner than this counts as failing.
const TOO_SHORT: Duration = Duration::from_millis(100);

/// Minimum interval between restarts of a failing program.
const PAUSE: Duration = Duration::from_secs(1);

/// Time for a program to end after SIGTERM.
const PATIENCE: Duration = Duration::from_millis(500);

/// A program to run, with its settings resolved on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Its name in the result.
    pub name: String,
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// The CPUs it may use; `None` uses our affinity.
    pub cpus: Option<CpuSet>,
    /// Its policy: any but `Deadline`.
    pub policy: Policy,
    /// 1 to 99 for `Fifo` and `Rr`, else 0.
    pub priority: u32,
    /// The file that moves a process into its cgroup (`cgroup.procs` or `tasks`).
    pub door: Option<String>,
    /// The file for its standard output; `None` inherits ours.
    pub output: Option<PathBuf>,
    /// The file for its standard error; `None` inherits ours.
    pub errors: Option<PathBuf>,
    /// Action after exit status 0.
    pub after_success: EndAction,
    /// Action after any other end.
    pub after_failure: EndAction,
    /// When it is terminated, counted from its start; it is not restarted then.
    pub lifetime: Option<Duration>,
}

/// Running programs.
pub struct RunningPrograms {
    running: Vec<RunningProgram>,
    warden: ProgramWatchdog,
}

/// What ended a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndCause {
    Itself,
    Tool,
}

/// Whether the run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunContinuation {
    /// It continues.
    GoOn,
    /// A program has ended that ends the run.
    End,
}

struct RunningProgram {
    order: Order,
    child: Option<Child>,
    since: Instant,
    short_lives: u32,
    restart_at: Option<Instant>,
    result: ProgramResult,
}

impl RunningPrograms {
    /// Starts them in order. Must be called from the thread that calls [`RunningPrograms::tend`], before other threads exist: the
    /// programs die with this thread, and a watching process is forked.
    ///
    /// # Errors
    /// [`MeasureError::ConfiguredProgram`] for the first program that cannot be started; the programs before it are ended.
    pub fn start(orders: &[Order]) -> Result<RunningPrograms, MeasureError> {
        let warden = ProgramWatchdog::post().map_err(MeasureError::os(
            "start the process that ends the programs if quietcore is killed",
        ))?;
        let mut programs = RunningPrograms {
            running: Vec::new(),
            warden,
        };
        for order in orders {
            let mut running = RunningProgram {
                order: order.clone(),
                child: None,
                since: Instant::now(),
                short_lives: 0,
                restart_at: None,
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

    /// Reaps programs that have ended, restarts them if required, and ends those whose lifetime is over. Must be
    /// called many times a second.
    pub fn tend(&mut self) -> RunContinuation {
        let mut tended = RunContinuation::GoOn;
        for running in &mut self.running {
            if running.tend(&self.warden) == RunContinuation::End {
                tended = RunContinuation::End;
            }
        }
        tended
    }

    /// Ends all programs, and returns the outcome of each.
    #[must_use]
    pub fn end(mut self) -> Vec<ProgramResult> {
        self.end_all();
        self.running.iter().map(|running| running.result.clone()).collect()
    }

    /// Sends SIGTERM to all, then SIGKILL to those that did not end.
    fn end_all(&mut self) {
        self.running.iter().for_each(|running| running.signal(Signal::TERM));
        let start = Instant::now();
        while start.elapsed() < PATIENCE && self.running.iter().any(RunningProgram::lives) {
            std::thread::sleep(Duration::from_millis(5));
        }
        for running in &mut self.running {
            running.kill_and_reap(EndCause::Tool, &self.warden);
        }
    }
}

impl Drop for RunningPrograms {
    fn drop(&mut self) {
        self.end_all();
    }
}

impl RunningProgram {
    fn start(&mut self, warden: &ProgramWatchdog) -> Result<(), MeasureError> {
        let begin = match self.result.started {
            0 => WriteStart::Empty,
            _ => WriteStart::Append,
        };
        let child = launch(&self.order, begin)?;
        warden.watch(child.id());
        self.child = Some(child);
        self.since = Instant::now();
        self.restart_at = None;
        self.result.started += 1;
        Ok(())
    }

    fn tend(&mut self, warden: &ProgramWatchdog) -> RunContinuation {
        if self.restart_at.is_some_and(|restart_at| restart_at <= Instant::now())
            && let Err(error) = self.start(warden)
        {
            self.result.failed += 1;
            self.result.last_failure = Some(error.to_string());
            self.restart_at = Some(Instant::now() + PAUSE);
        }
        if self.lives() {
            if self.order.lifetime.is_some_and(|most| self.since.elapsed() >= most) {
                self.signal(Signal::TERM);
                let start = Instant::now();
                while start.elapsed() < PATIENCE && self.lives() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                self.kill_and_reap(EndCause::Tool, warden);
            }
            return RunContinuation::GoOn;
        }
        let Some(after) = self.kill_and_reap(EndCause::Itself, warden) else {
            return RunContinuation::GoOn;
        };
        match after {
            EndAction::Leave => RunContinuation::GoOn,
            EndAction::End => RunContinuation::End,
            EndAction::Respawn => {
                self.short_lives = match self.since.elapsed() < TOO_SHORT {
                    true => self.short_lives + 1,
                    false => 0,
                };
                // Two quick ends may be chance. After the third, delay the restart: repeated forking would add noise of our own.
                let pause = match self.short_lives {
                    0..3 => Duration::ZERO,
                    _ => PAUSE,
                };
                self.result.throttled |= !pause.is_zero();
                self.restart_at = Some(Instant::now() + pause);
                RunContinuation::GoOn
            }
        }
    }

    /// Whether it was started and has not ended. Does not reap it.
    fn lives(&self) -> bool {
        let Some(pid) = self.pid() else { return false };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }

    fn pid(&self) -> Option<Pid> {
        let child = self.child.as_ref()?;
        Pid::from_raw(i32::try_from(child.id()).ok()?)
    }

    /// Signals the program and all processes in its group.
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, signal);
        }
    }

    /// Kills the rest of its group and reaps it. If it ended by itself, counts how. Returns the next action.
    fn kill_and_reap(&mut self, by: EndCause, warden: &ProgramWatchdog) -> Option<EndAction> {
        self.signal(Signal::KILL);
        let mut child = self.child.take()?;
        let status = child.wait().ok()?;
        warden.forget(child.id());
        if by == EndCause::Tool {
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
