//! A small journal that outlives a restart: notes in one file of `/var/lib/quietcore`, each on the disk before what it
//! speaks of is done.

use crate::ApplyError;
use crate::journal::{Storage, decode_line, encode, now_ns};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One note.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Note<E> {
    /// Its number, from 1.
    pub seq: u64,
    /// When, in nanoseconds since 1970.
    pub at_ns: u64,
    /// What it says.
    #[serde(flatten)]
    pub event: E,
}

/// The notes of one file.
pub(crate) struct Notes<'a, E> {
    lasting: &'a dyn Storage,
    name: &'static str,
    notes: Vec<Note<E>>,
    /// Whether the last line is torn, so that the next one needs a line of its own.
    torn: bool,
}

impl<'a, E: Serialize + DeserializeOwned> Notes<'a, E> {
    /// A torn note is ignored: its write never happened, because notes come first.
    ///
    /// # Errors
    /// What reading met, and a damaged note in the middle.
    pub fn read(lasting: &'a dyn Storage, name: &'static str) -> Result<Notes<'a, E>, ApplyError> {
        let bytes = lasting.read(name)?.unwrap_or_default();
        let notes = decode(&bytes).map_err(|(record, why)| ApplyError::Installed { name, record, why })?;
        Ok(Notes {
            lasting,
            name,
            notes,
            torn: bytes.last().is_some_and(|&byte| byte != b'\n'),
        })
    }

    /// All of them, in order.
    pub fn all(&self) -> &[Note<E>] {
        &self.notes
    }

    /// Adds one; it is on the disk when this returns.
    ///
    /// # Errors
    /// What writing met.
    pub fn append(&mut self, event: E) -> Result<(), ApplyError> {
        let note = Note {
            seq: self.notes.last().map_or(1, |note| note.seq + 1),
            at_ns: now_ns(),
            event,
        };
        let mut line = encode(&note)?;
        if self.torn {
            line.insert(0, b'\n');
        }
        self.lasting.append(self.name, &line)?;
        self.torn = false;
        self.notes.push(note);
        Ok(())
    }
}

/// The notes of a file; else the number of a damaged one and what is wrong with it.
pub(crate) fn decode<E: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<Note<E>>, (usize, String)> {
    let mut notes: Vec<Note<E>> = Vec::new();
    let mut torn = None;
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    // What stands behind the last line end is torn, or nothing.
    lines.pop();
    for line in lines.into_iter().filter(|line| !line.is_empty()) {
        let expected = notes.last().map_or(1, |note| note.seq + 1);
        match (decode_line::<Note<E>>(line), torn.take()) {
            (Ok(note), None) => notes.push(note),
            // It has the number that the torn one would have had.
            (Ok(note), Some(_)) if note.seq == expected => notes.push(note),
            (Ok(_), Some(why)) => return Err((notes.len() + 1, why)),
            (Err(why), _) => torn = Some(why),
        }
    }
    Ok(notes)
}
