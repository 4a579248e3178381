//! Applies partitions at boot without locking the user out: a record before each attempt, removed when the boot was good.
//!
//! The record is on disk before the first change. Power may fail at any moment. Before the record is complete, nothing
//! was changed; a partial record counts too, which is the safe choice. From then on, the next boot finds the record of
//! another boot and changes nothing until the user runs `confirm`. Once the record is gone, the boot was good. An
//! orderly shutdown proves nothing, because a locked-out user presses the power button too. So the record is removed
//! only after the machine stayed up for some time.

use crate::ApplyError;
use crate::framing::{decode_line, encode, now_ns};
use crate::journal::Storage;
use serde::{Deserialize, Serialize};

/// Its name in `/var/lib/quietcore`.
const NAME: &str = "boot-attempt";

/// The boot-line word that disables everything.
pub const OFF: &str = "quietcore=off";

/// A recorded attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The boot of the attempt.
    pub boot_id: Option<String>,
    /// When, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Version of the tool.
    pub tool: String,
}

/// What is known about the current boot.
#[derive(Clone, Copy, Debug)]
pub struct CurrentBoot<'a> {
    /// Its ID; `None` never matches the boot of a record.
    pub id: Option<&'a str>,
    /// The kernel command line.
    pub line: &'a str,
}

/// Whether an attempt was made.
#[derive(Debug, PartialEq, Eq)]
pub enum AttemptResult<T> {
    /// No: the boot line disables it.
    Off,
    /// No: no good boot followed the last one. `None` for an unreadable record.
    LastNotGood(Option<Attempt>),
    /// Yes, with this result.
    Tried(T),
}

/// Records and makes the attempt, unless the boot line or the last attempt forbids it.
///
/// # Errors
/// A record that cannot be read or written; no attempt is made then.
pub fn attempt<T>(
    lasting: &dyn Storage,
    boot: &CurrentBoot,
    tool: &str,
    act: impl FnOnce() -> T,
) -> Result<AttemptResult<T>, ApplyError> {
    if boot.line.split_whitespace().any(|word| word == OFF) {
        return Ok(AttemptResult::Off);
    }
    match lasting.read(NAME)?.map(|bytes| decode(&bytes)) {
        None => {
            let note = Attempt {
                boot_id: boot.id.map(str::to_owned),
                at_ns: now_ns(),
                tool: tool.to_owned(),
            };
            lasting.append(NAME, &encode(&note)?)?;
        }
        // A second attempt in the same boot: the machine is up, and the record is still there.
        Some(Some(note)) if note.boot_id.is_some() && note.boot_id.as_deref() == boot.id => {}
        Some(note) => return Ok(AttemptResult::LastNotGood(note)),
    }
    Ok(AttemptResult::Tried(act()))
}

/// Removes the record of this boot: the boot was good. Returns whether there was one.
///
/// # Errors
/// The error of reading or removing.
pub fn good(lasting: &dyn Storage, boot_id: Option<&str>) -> Result<bool, ApplyError> {
    let note = lasting.read(NAME)?.and_then(|bytes| decode(&bytes));
    let of_this_boot = note.is_some_and(|note| note.boot_id.is_some() && note.boot_id.as_deref() == boot_id);
    if of_this_boot {
        lasting.remove(NAME)?;
    }
    Ok(of_this_boot)
}

/// Removes any record, because the user requested it. Returns whether there was one.
///
/// # Errors
/// The error of reading or removing.
pub fn remove_record(lasting: &dyn Storage) -> Result<bool, ApplyError> {
    let there = lasting.read(NAME)?.is_some();
    if there {
        lasting.remove(NAME)?;
    }
    Ok(there)
}

fn decode(bytes: &[u8]) -> Option<Attempt> {
    decode_line(bytes.strip_suffix(b"\n")?).ok()
}
