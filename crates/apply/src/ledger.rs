//! Who holds what until it ends: a file of lines beside the journal, written before what is held.
//!
//! What a process limits or traces does not end with it. The end of the process gives it back, and after a death the
//! next call that takes the lock does.

use crate::journal::{Storage, decode_line, encode, is_torn};
use crate::{ApplyError, System};
use machine::TaskKey;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What one process holds.
pub(crate) trait Held: Serialize + DeserializeOwned {
    /// The process that gives it back.
    fn holder(&self) -> TaskKey;
}

/// One line of the ledger.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line<H> {
    Hold(H),
    Release { holder: TaskKey },
}

/// What is held. A torn last line is one whose writes were never made.
pub(crate) fn read<H: Held>(storage: &dyn Storage, name: &str) -> Result<Vec<H>, ApplyError> {
    let bytes = storage.read(name)?.unwrap_or_default();
    let mut holds: Vec<H> = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match decode_line::<Line<H>>(line) {
            Ok(Line::Hold(hold)) => holds.push(hold),
            Ok(Line::Release { holder }) => holds.retain(|hold| hold.holder() != holder),
            Err(_) => {}
        }
    }
    Ok(holds)
}

/// Notes what is going to be held.
pub(crate) fn note<H: Held>(storage: &dyn Storage, name: &str, hold: H) -> Result<(), ApplyError> {
    append(storage, name, &Line::Hold(hold))
}

/// Notes what was given back; the file goes with the last one.
pub(crate) fn close<H: Held>(
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
                append(storage, name, &Line::<H>::Release { holder: *holder })?;
            }
        }
    }
    Ok(())
}

/// Whether a process ended, and cannot give back anything itself.
pub(crate) fn is_gone(system: &dyn System, holder: TaskKey) -> bool {
    let now = machine::tasks::read_one(system.root(), holder.tid);
    now.is_none_or(|now| now.key != holder || matches!(now.state, 'Z' | 'X'))
}

fn append<H: Held>(storage: &dyn Storage, name: &str, line: &Line<H>) -> Result<(), ApplyError> {
    let mut bytes = encode(line)?;
    if is_torn(&storage.read(name)?.unwrap_or_default()) {
        bytes.insert(0, b'\n');
    }
    Ok(storage.append(name, &bytes)?)
}
