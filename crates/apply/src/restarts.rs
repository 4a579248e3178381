//! Records on disk a study that restarts the machine, and every restart before it happens.
//!
//! After that restart or a power cut, the next process reads from it what to do next and how often that was tried.

use crate::ApplyError;
use crate::bus::{self, BusError};
use crate::framing::now_ns;
use crate::journal::Storage;
use crate::notes::RecordLog;
use root::Live;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Its name in `/var/lib/quietcore`.
const NAME: &str = "study";

/// What happened to a boot of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyBootStage {
    /// The machine is about to be restarted for it.
    Restarts,
    /// The machine has started with it, and is about to measure.
    Measures,
}

/// One step towards the results of a boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// What happened.
    pub stage: StudyBootStage,
    /// The repetition, from 0.
    pub block: usize,
    /// The index of the boot in the study.
    pub boot: usize,
    /// How many results existed.
    pub done: usize,
    /// The boot of the machine in which this was recorded.
    pub boot_id: Option<String>,
}

/// A running study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningStudy {
    /// The directory of its results.
    pub out: String,
    /// When it started, in nanoseconds since 1970 by the clock of that boot.
    pub started_ns: u64,
    /// What was done so far, in order.
    pub restarts: Vec<Restart>,
}

impl RunningStudy {
    /// Time since its start; zero if the clock of this boot is behind that.
    #[must_use]
    pub fn since(&self) -> Duration {
        Duration::from_nanos(now_ns().saturating_sub(self.started_ns))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum StudyEvent {
    /// It starts.
    Began { out: String },
    /// A step of it.
    Step { step: Restart },
}

/// Reads the running study; `None` if there is none.
///
/// # Errors
/// A record that cannot be read.
pub fn under_way(lasting: &dyn Storage) -> Result<Option<RunningStudy>, ApplyError> {
    let notes = RecordLog::<StudyEvent>::read(lasting, NAME)?;
    let mut found: Option<RunningStudy> = None;
    for note in notes.all() {
        match (&note.event, &mut found) {
            (StudyEvent::Began { out }, _) => {
                found = Some(RunningStudy {
                    out: out.clone(),
                    started_ns: note.at_ns,
                    restarts: Vec::new(),
                });
            }
            (StudyEvent::Step { step }, Some(found)) => found.restarts.push(step.clone()),
            (StudyEvent::Step { .. }, None) => {}
        }
    }
    Ok(found)
}

/// Makes systemd restart the machine in order. The alternative, a signal (`SIGRTMIN+5`), has a different number in each
/// C library: musl's `SIGRTMIN+5` is glibc's `SIGRTMIN+6`, which requests kexec.
///
/// # Errors
/// systemd does not listen, or refuses.
pub fn restart_machine(live: &Live) -> Result<(), BusError> {
    bus::restart(&live.locate(bus::SOCKET))
}

/// Records the start of a study with this results directory.
///
/// # Errors
/// The write error.
pub fn begin(lasting: &dyn Storage, out: &str) -> Result<(), ApplyError> {
    RecordLog::read(lasting, NAME)?.append(StudyEvent::Began { out: out.to_owned() })
}

/// Records a step; it is on disk on return.
///
/// # Errors
/// The write error; the caller must not make the step then.
pub fn note(lasting: &dyn Storage, step: &Restart) -> Result<(), ApplyError> {
    RecordLog::read(lasting, NAME)?.append(StudyEvent::Step { step: step.clone() })
}

/// Removes the record: no study is running any more. Returns whether there was one.
///
/// # Errors
/// The error of the removal.
pub fn over(lasting: &dyn Storage) -> Result<bool, ApplyError> {
    let there = lasting.read(NAME)?.is_some();
    if there {
        lasting.remove(NAME)?;
    }
    Ok(there)
}
