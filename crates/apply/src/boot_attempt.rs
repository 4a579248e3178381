//! Coming back at boot without locking anybody out: a note before each attempt, taken away when the boot was good.
//!
//! The note is on the disk before the first change. Power may go at any moment:
//! before the note is whole, nothing was changed (half a note still counts, which errs on the safe side); from then on
//! the next boot finds a note of another boot and leaves the machine alone, until somebody says `confirm`; once the
//! note is gone, the boot had been good. An orderly shutdown proves nothing: somebody who is locked out presses the
//! power button too. So the note goes only when the machine stayed up for some time.

use crate::ApplyError;
use crate::framing::{decode_line, encode, now_ns};
use crate::journal::Storage;
use serde::{Deserialize, Serialize};

/// Its name in `/var/lib/quietcore`.
const NAME: &str = "boot-attempt";

/// The word on the boot line that keeps everything away.
pub const OFF: &str = "quietcore=off";

/// An attempt that was noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The boot of the attempt.
    pub boot_id: Option<String>,
    /// When, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Version of the tool.
    pub tool: String,
}

/// What this boot tells.
#[derive(Clone, Copy, Debug)]
pub struct ThisBoot<'a> {
    /// Its identity; `None` is never taken for the boot of a note.
    pub id: Option<&'a str>,
    /// The kernel's line.
    pub line: &'a str,
}

/// Whether there was an attempt.
#[derive(Debug, PartialEq, Eq)]
pub enum Gate<T> {
    /// No: the boot line says so.
    Off,
    /// No: the last one was not followed by a good boot. `None` for a note that cannot be read.
    LastNotGood(Option<Attempt>),
    /// Yes, and this came of it.
    Tried(T),
}

/// Notes the attempt and makes it, unless the boot line or the last attempt speak against it.
///
/// # Errors
/// A note that cannot be read or written: without it nothing is tried.
pub fn attempt<T>(
    lasting: &dyn Storage,
    boot: &ThisBoot,
    tool: &str,
    act: impl FnOnce() -> T,
) -> Result<Gate<T>, ApplyError> {
    if boot.line.split_whitespace().any(|word| word == OFF) {
        return Ok(Gate::Off);
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
        // A second attempt in the same boot: the machine lives, and the note stands.
        Some(Some(note)) if note.boot_id.is_some() && note.boot_id.as_deref() == boot.id => {}
        Some(note) => return Ok(Gate::LastNotGood(note)),
    }
    Ok(Gate::Tried(act()))
}

/// Takes the note of this boot away: the boot was good. Gives whether there was one.
///
/// # Errors
/// What reading or removing met.
pub fn good(lasting: &dyn Storage, boot_id: Option<&str>) -> Result<bool, ApplyError> {
    let note = lasting.read(NAME)?.and_then(|bytes| decode(&bytes));
    let of_this_boot = note.is_some_and(|note| note.boot_id.is_some() && note.boot_id.as_deref() == boot_id);
    if of_this_boot {
        lasting.remove(NAME)?;
    }
    Ok(of_this_boot)
}

/// Takes the note away whatever it says, because somebody who is there wants that. Gives whether there was one.
///
/// # Errors
/// What reading or removing met.
pub fn forget(lasting: &dyn Storage) -> Result<bool, ApplyError> {
    let there = lasting.read(NAME)?.is_some();
    if there {
        lasting.remove(NAME)?;
    }
    Ok(there)
}

fn decode(bytes: &[u8]) -> Option<Attempt> {
    decode_line(bytes.strip_suffix(b"\n")?).ok()
}
