//! Records which process holds what until the process ends, as a file of lines beside the journal.
//!
//! Limits and tracers that a process sets up do not end with it, so a line is written before they are set up. The
//! process releases them at its end. If it died, the next call that takes the lock does.

use crate::framing::{FramingError, decode_line, encode, is_torn};
use crate::journal::Storage;
use crate::{ApplyError, System};
use machine::TaskKey;
use root::state::RUN_DIR;
use root::{RootError, Tracefs};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Number of attempts to remove something.
const TRIES: u32 = 20;

/// What one process holds.
pub(crate) trait ProcessHold: Serialize + DeserializeOwned {
    /// The process that releases it.
    fn holder(&self) -> TaskKey;
}

/// One line of the ledger.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LedgerLine<H> {
    Hold(H),
    Release { holder: TaskKey },
}

/// Reads what is held. The writes for a torn line were never made.
///
/// # Errors
/// The read error; [`ApplyError::UnsupportedLine`] for an intact line that cannot be decoded.
pub(crate) fn read<H: ProcessHold>(storage: &dyn Storage, name: &str) -> Result<Vec<H>, ApplyError> {
    let bytes = storage.read(name)?.unwrap_or_default();
    let mut holds: Vec<H> = Vec::new();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (line, record) in lines.zip(1..) {
        match decode_line::<LedgerLine<H>>(line) {
            Ok(LedgerLine::Hold(hold)) => holds.push(hold),
            Ok(LedgerLine::Release { holder }) => holds.retain(|hold| hold.holder() != holder),
            Err(FramingError::Torn(_)) => {}
            Err(FramingError::OtherVersion(line)) => {
                return Err(line.error(format!("{RUN_DIR}/{name}"), record, None));
            }
        }
    }
    Ok(holds)
}

/// Records what is going to be held.
pub(crate) fn note<H: ProcessHold>(storage: &dyn Storage, name: &str, hold: H) -> Result<(), ApplyError> {
    append(storage, name, &LedgerLine::Hold(hold))
}

/// Records a release; removes the file with the last one.
pub(crate) fn close<H: ProcessHold>(
    storage: &dyn Storage,
    name: &str,
    done: &[TaskKey],
    stay: &[H],
) -> Result<(), ApplyError> {
    match (done.is_empty(), stay.is_empty()) {
        (true, _) => {}
        (false, true) => storage.remove(name)?,
        (false, false) => {
            for holder in done {
                append(storage, name, &LedgerLine::<H>::Release { holder: *holder })?;
            }
        }
    }
    Ok(())
}

/// What one process holds in tracefs.
pub(crate) trait TracefsHold: ProcessHold {
    /// Name of its ledger.
    const NAME: &'static str;

    /// Releases it. Returns whether all is done; the rest is reported in `left`.
    fn release(&self, system: &dyn System, tracefs: &Tracefs, left: &mut Vec<String>) -> Result<bool, ApplyError>;
}

/// Which process's holdings in tracefs are released.
pub(crate) enum HoldSelection<'a> {
    /// Its own: the process releases them itself.
    Own(TaskKey, &'a Tracefs),
    /// Those of all processes that ended without release; the next call releases them.
    Ended,
}

/// Releases what is held in tracefs, and reports what is left.
pub(crate) fn release<H: TracefsHold>(
    system: &dyn System,
    storage: &dyn Storage,
    selection: &HoldSelection,
) -> Result<Vec<String>, ApplyError> {
    let goes = |hold: &H| match selection {
        HoldSelection::Own(holder, _) => hold.holder() == *holder,
        HoldSelection::Ended => has_ended(system, hold.holder()),
    };
    let (ended, mut stay): (Vec<H>, Vec<H>) = read(storage, H::NAME)?.into_iter().partition(goes);
    if ended.is_empty() {
        return Ok(Vec::new());
    }
    let found;
    let tracefs = match selection {
        HoldSelection::Own(_, tracefs) => Some(*tracefs),
        HoldSelection::Ended => {
            found = system.tracefs()?;
            found.as_ref()
        }
    };
    let (mut left, mut done) = (Vec::new(), Vec::new());
    for hold in ended {
        // A kernel without tracing has nothing of ours.
        let is_over = tracefs.map_or(Ok(true), |tracefs| hold.release(system, tracefs, &mut left))?;
        match is_over {
            true => done.push(hold.holder()),
            false => stay.push(hold),
        }
    }
    close(storage, H::NAME, &done, &stay)?;
    Ok(left)
}

/// Removes something that may still be busy for a moment, because its user has just exited. Returns whether it is gone.
pub(crate) fn remove_unless_busy(
    system: &dyn System,
    remove: impl Fn() -> Result<(), RootError>,
) -> Result<bool, RootError> {
    for _ in 0..TRIES {
        match remove() {
            Err(error) if error.errno() == Some(libc::EBUSY) => system.pause(Duration::from_millis(50)),
            outcome => return outcome.map(|()| true),
        }
    }
    Ok(false)
}

/// Whether a process ended, and cannot release anything itself.
pub(crate) fn has_ended(system: &dyn System, holder: TaskKey) -> bool {
    machine::tasks::has_ended(system.root(), holder).unwrap_or(false)
}

fn append<H: ProcessHold>(storage: &dyn Storage, name: &str, line: &LedgerLine<H>) -> Result<(), ApplyError> {
    let mut bytes = encode(line)?;
    if is_torn(&storage.read(name)?.unwrap_or_default()) {
        bytes.insert(0, b'\n');
    }
    Ok(storage.append(name, &bytes)?)
}
