//! Runs what is recorded: a command from start to end, or a duration.

use crate::blame_options::CommandOptions;
use crate::child::{self, CommandChild, Launch};
use crate::hotplug::Hotplug;
use crate::watch_loop::{EndReason, watch_loop};
use machine::{CpuSet, Machine};
use measure::Note;
use root::{Failure, Root};
use session::Session;
use session::own_process::leave_cpus;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A command that waits for its start, or none.
pub struct RecordingRun {
    child: Option<CommandChild>,
    stop: &'static AtomicBool,
}

/// The end of a recorded run.
#[derive(Clone, Debug)]
pub struct RunEnd {
    /// What ended it.
    pub until: EndReason,
    /// Its duration.
    pub duration: Duration,
    /// The process of the command.
    pub pid: Option<u32>,
    /// What went wrong during the run.
    pub findings: Vec<Note>,
}

impl RecordingRun {
    /// Prepares it before the trace starts. Afterwards this process runs on other CPUs than these.
    ///
    /// # Errors
    /// A command that cannot be placed.
    pub fn prepare(
        session: &Session,
        command: &CommandOptions,
        cpus: Option<&CpuSet>,
        machine: &Machine,
    ) -> Result<Launch<RecordingRun>, Failure> {
        let root = session.root();
        let child = match command.command.as_slice() {
            [] => None,
            _ => match child::start(session, machine, cpus, command)? {
                Launch::Running(child) => Some(child),
                Launch::Failed(status) => return Ok(Launch::Failed(status)),
            },
        };
        if let Some(cpus) = cpus {
            leave_cpus(root, cpus);
        }
        Ok(Launch::Running(RecordingRun {
            child,
            stop: session::stop_flag(),
        }))
    }

    /// Runs it until the command ends, the time is over or a signal arrives; calls `each` repeatedly until then. A command
    /// that still runs is ended. `cpus` are the recorded ones.
    ///
    /// # Errors
    /// Errors of `each`.
    pub fn run(
        self,
        (root, cpus): (&Root, &CpuSet),
        duration: Option<Duration>,
        each: &mut dyn FnMut() -> Result<(), Failure>,
    ) -> Result<Launch<RunEnd>, Failure> {
        let start = Instant::now();
        let pid = match self.child.map(CommandChild::go) {
            None => None,
            Some(Launch::Running(pid)) => Some(pid),
            Some(Launch::Failed(status)) => return Ok(Launch::Failed(status)),
        };
        let (mut is_over, mut hotplug) = (false, Hotplug::of(cpus));
        let has_ended = || {
            is_over = pid.is_some_and(|pid| child::exit_reason(pid).is_some());
            is_over
        };
        let until: Result<_, Failure> = watch_loop(duration, self.stop, has_ended, || {
            hotplug.update(root);
            each()?;
            Ok(ControlFlow::Continue(()))
        });
        let duration = start.elapsed();
        if let Some(pid) = pid.filter(|_| !is_over) {
            child::end(pid);
        }
        Ok(Launch::Running(RunEnd {
            until: until?,
            duration,
            pid,
            findings: hotplug.note().into_iter().collect(),
        }))
    }
}
