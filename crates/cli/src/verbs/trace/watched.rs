//! What is recorded: a command from its start to its end, or a stretch of time.

use crate::verbs::blame::child::{self, Begun, Child};
use crate::verbs::blame::program::place;
use crate::verbs::blame::aside::step_aside;
pub use crate::verbs::blame::told::Until;
use crate::{CommandError, Screen, Status, changing};
use machine::{CpuSet, Machine};
use root::Root;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the buffers may fill between two readings.
const PAUSE: Duration = Duration::from_millis(20);

/// A command that waits to begin, or nothing.
pub struct Watched {
    child: Option<Child>,
    stop: &'static AtomicBool,
}

/// How it went.
#[derive(Clone, Copy, Debug)]
pub struct Over {
    /// What ended it.
    pub until: Until,
    /// How long it was.
    pub duration: Duration,
    /// The process of the command.
    pub pid: Option<u32>,
}

impl Watched {
    /// Prepares it, before anything is traced. Afterwards this process stands on other CPUs than those.
    ///
    /// # Errors
    /// A command that cannot be placed. The status of one that could not be started, which has said so itself.
    pub fn begin(
        command: &[OsString],
        cpus: Option<&CpuSet>,
        root: &Root,
        machine: &Machine,
        screen: &Screen,
    ) -> Result<Result<Watched, Status>, CommandError> {
        let child = match command {
            [] => None,
            command => match child::start(command, || place(root, machine, cpus, screen.form))? {
                Begun::On(child) => Some(child),
                Begun::Over(status) => return Ok(Err(status)),
            },
        };
        if let Some(cpus) = cpus {
            step_aside(root, cpus);
        }
        Ok(Ok(Watched {
            child,
            stop: changing::stop_flag(),
        }))
    }

    /// Lets it run until it ends, the time is over or a signal comes; `each` is called again and again meanwhile. A command
    /// that still runs is ended.
    ///
    /// # Errors
    /// What `each` fails with. The status of a command that could not become one.
    pub fn run(
        self,
        duration: Option<Duration>,
        each: &mut dyn FnMut() -> Result<(), CommandError>,
    ) -> Result<Result<Over, Status>, CommandError> {
        let begun = Instant::now();
        let pid = match self.child.map(Child::go) {
            None => None,
            Some(Begun::On(pid)) => Some(pid),
            Some(Begun::Over(status)) => return Ok(Err(status)),
        };
        let mut failed = None;
        let until = loop {
            if pid.is_some_and(|pid| child::ended(pid).is_some()) {
                return Ok(Ok(Over {
                    until: Until::Ended,
                    duration: begun.elapsed(),
                    pid,
                }));
            }
            if self.stop.load(Ordering::Relaxed) {
                break Until::Signal;
            }
            let left = duration.map_or(PAUSE, |duration| duration.saturating_sub(begun.elapsed()));
            if left.is_zero() {
                break Until::Time;
            }
            if let Err(error) = each() {
                failed = Some(error);
                break Until::Signal;
            }
            std::thread::sleep(left.min(PAUSE));
        };
        let duration = begun.elapsed();
        if let Some(pid) = pid {
            child::end(pid);
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Ok(Over { until, duration, pid })),
        }
    }
}
