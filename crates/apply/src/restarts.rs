//! A study that restarts the machine, noted on the disk: whose it is, and every restart before it is made. Whoever comes up
//! again, after that restart or after a power cut, finds out from it what to do next and how often that was tried.

use crate::ApplyError;
use crate::bus::{self, BusError};
use crate::framing::now_ns;
use crate::journal::Storage;
use crate::notes::Notes;
use root::Live;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Its name in `/var/lib/quietcore`.
const NAME: &str = "study";

/// What happened to a boot of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The machine is about to be restarted for it.
    Restarts,
    /// The machine came up so, and is about to measure.
    Measures,
}

/// One step towards the results of a boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// What happened.
    pub stage: Stage,
    /// The repetition, from 0.
    pub block: usize,
    /// The place of the boot in the study.
    pub boot: usize,
    /// How many results there were.
    pub done: usize,
    /// The boot of the machine in which this was noted.
    pub boot_id: Option<String>,
}

/// A study that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// The directory of its results.
    pub out: String,
    /// When it began, in nanoseconds since 1970 by the clock of that boot.
    pub began_ns: u64,
    /// What was done so far, in order.
    pub restarts: Vec<Restart>,
}

impl UnderWay {
    /// How long ago it began; nothing where the clock of this boot is behind that.
    #[must_use]
    pub fn since(&self) -> Duration {
        Duration::from_nanos(now_ns().saturating_sub(self.began_ns))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    /// It begins.
    Began { out: String },
    /// A step of it.
    Step { step: Restart },
}

/// The study that is under way; `None` where there is none.
///
/// # Errors
/// A note that cannot be read.
pub fn under_way(lasting: &dyn Storage) -> Result<Option<UnderWay>, ApplyError> {
    let notes = Notes::<Event>::read(lasting, NAME)?;
    let mut found: Option<UnderWay> = None;
    for note in notes.all() {
        match (&note.event, &mut found) {
            (Event::Began { out }, _) => {
                found = Some(UnderWay {
                    out: out.clone(),
                    began_ns: note.at_ns,
                    restarts: Vec::new(),
                });
            }
            (Event::Step { step }, Some(found)) => found.restarts.push(step.clone()),
            (Event::Step { .. }, None) => {}
        }
    }
    Ok(found)
}

/// Has systemd restart the machine in order. It has a signal for that too (`SIGRTMIN+5`), but the number of that is another one in
/// each library of C: what musl calls so is one more for glibc, and asks for kexec.
///
/// # Errors
/// systemd does not listen, or refuses.
pub fn restart_machine(live: &Live) -> Result<(), BusError> {
    bus::restart(&live.locate(bus::SOCKET))
}

/// Notes that a study begins whose results go there.
///
/// # Errors
/// What writing met.
pub fn begin(lasting: &dyn Storage, out: &str) -> Result<(), ApplyError> {
    Notes::read(lasting, NAME)?.append(Event::Began { out: out.to_owned() })
}

/// Notes a step; it is on the disk when this returns.
///
/// # Errors
/// What writing met: the step must not be made then.
pub fn note(lasting: &dyn Storage, step: &Restart) -> Result<(), ApplyError> {
    Notes::read(lasting, NAME)?.append(Event::Step { step: step.clone() })
}

/// Takes the note away: no study is under way any more. Gives whether there was one.
///
/// # Errors
/// What removing met.
pub fn over(lasting: &dyn Storage) -> Result<bool, ApplyError> {
    let there = lasting.read(NAME)?.is_some();
    if there {
        lasting.remove(NAME)?;
    }
    Ok(there)
}
