//! What is recorded: a command from its start to its end, or a stretch of time.

use crate::program::attend::{Until, attend};
use crate::program::child::{self, Begun, Child};
use crate::program::offline::Hotplug;
use crate::program::place::place;
use crate::{CommandError, Screen, Status};
use machine::{CpuSet, Machine};
use measure::Note;
use root::Root;
use session::Session;
use session::own_process::step_aside;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A command that waits to begin, or nothing.
pub struct Watched {
    child: Option<Child>,
    stop: &'static AtomicBool,
}

/// How it went.
#[derive(Clone, Debug)]
pub struct Over {
    /// What ended it.
    pub until: Until,
    /// How long it was.
    pub duration: Duration,
    /// The process of the command.
    pub pid: Option<u32>,
    /// What went wrong meanwhile.
    pub findings: Vec<Note>,
}

impl Watched {
    /// Prepares it, before anything is traced. Afterwards this process stands on other CPUs than those.
    ///
    /// # Errors
    /// A command that cannot be placed. The status of one that could not be started, which has said so itself.
    pub fn begin(
        session: &Session,
        command: &[OsString],
        cpus: Option<&CpuSet>,
        machine: &Machine,
        screen: &Screen,
    ) -> Result<Result<Watched, Status>, CommandError> {
        let root = session.root();
        let child = match command {
            [] => None,
            command => match child::start(command, || place(session, machine, cpus, screen.form))? {
                Begun::On(child) => Some(child),
                Begun::Over(status) => return Ok(Err(status)),
            },
        };
        if let Some(cpus) = cpus {
            step_aside(root, cpus);
        }
        Ok(Ok(Watched {
            child,
            stop: session::stop_flag(),
        }))
    }

    /// Lets it run until it ends, the time is over or a signal comes; `each` is called again and again meanwhile. A command
    /// that still runs is ended. `cpus` are those that are recorded.
    ///
    /// # Errors
    /// What `each` fails with. The status of a command that could not become one.
    pub fn run(
        self,
        (root, cpus): (&Root, &CpuSet),
        duration: Option<Duration>,
        each: &mut dyn FnMut() -> Result<(), CommandError>,
    ) -> Result<Result<Over, Status>, CommandError> {
        let begun = Instant::now();
        let pid = match self.child.map(Child::go) {
            None => None,
            Some(Begun::On(pid)) => Some(pid),
            Some(Begun::Over(status)) => return Ok(Err(status)),
        };
        let (mut is_over, mut hotplug) = (false, Hotplug::of(cpus));
        let has_ended = || {
            is_over = pid.is_some_and(|pid| child::ended(pid).is_some());
            is_over
        };
        let until: Result<_, CommandError> = attend(duration, self.stop, has_ended, || {
            hotplug.look(root);
            each()?;
            Ok(ControlFlow::Continue(()))
        });
        let duration = begun.elapsed();
        if let Some(pid) = pid.filter(|_| !is_over) {
            child::end(pid);
        }
        Ok(Ok(Over {
            until: until?,
            duration,
            pid,
            findings: hotplug.note().into_iter().collect(),
        }))
    }
}
