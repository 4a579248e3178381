//! Stores a small journal that survives a restart: records in one file of `/var/lib/quietcore`, each on disk before the
//! action that it announces.

use crate::ApplyError;
use crate::framing::{FramingError, VERSION, decode_line, encode, is_torn, now_ns};
use crate::journal::Storage;
use crate::record::LogRecord;
use root::state::LIB_DIR;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The records of one file.
pub(crate) struct RecordLog<'a, E> {
    lasting: &'a dyn Storage,
    name: &'static str,
    notes: Vec<LogRecord<E>>,
    /// Whether the last line is torn, so that the next one needs a line of its own.
    torn: bool,
}

impl<'a, E: Serialize + DeserializeOwned> RecordLog<'a, E> {
    /// Reads the records. A torn one is ignored: its write never happened, because records come first.
    ///
    /// # Errors
    /// The read error; [`ApplyError::Installed`] for a damaged record in the middle, [`ApplyError::UnsupportedLine`] for
    /// an intact one that cannot be decoded.
    pub fn read(lasting: &'a dyn Storage, name: &'static str) -> Result<RecordLog<'a, E>, ApplyError> {
        let bytes = lasting.read(name)?.unwrap_or_default();
        let notes = decode(&bytes, name)?;
        Ok(RecordLog {
            lasting,
            name,
            notes,
            torn: is_torn(&bytes),
        })
    }

    /// All of them, in order.
    pub fn all(&self) -> &[LogRecord<E>] {
        &self.notes
    }

    /// Appends a record; it is on disk when this returns.
    ///
    /// # Errors
    /// The write error.
    pub fn append(&mut self, event: E) -> Result<(), ApplyError> {
        let note = LogRecord {
            seq: self.notes.last().map_or(1, |note| note.seq + 1),
            at_ns: now_ns(),
            by: (writer(&self.notes) != Some(VERSION)).then(|| VERSION.to_owned()),
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

/// Decodes the records of the file of that name in `/var/lib/quietcore`.
///
/// # Errors
/// As for [`RecordLog::read`].
pub(crate) fn decode<E: Serialize + DeserializeOwned>(
    bytes: &[u8],
    name: &'static str,
) -> Result<Vec<LogRecord<E>>, ApplyError> {
    let mut notes: Vec<LogRecord<E>> = Vec::new();
    let mut torn = None;
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    // The text after the last line end is torn, or empty.
    lines.pop();
    for line in lines.into_iter().filter(|line| !line.is_empty()) {
        let record = notes.len() + 1;
        let expected = notes.last().map_or(1, |note| note.seq + 1);
        match (decode_line::<LogRecord<E>>(line), torn.take()) {
            (Ok(note), None) => notes.push(note),
            // It has the number that the torn record would have had.
            (Ok(note), Some(_)) if note.seq == expected => notes.push(note),
            (Ok(_), Some(why)) => return Err(ApplyError::Installed { name, record, why }),
            (Err(FramingError::Torn(why)), _) => torn = Some(why),
            (Err(FramingError::OtherVersion(line)), _) => {
                return Err(line.error(format!("{LIB_DIR}/{name}"), record, writer(&notes)));
            }
        }
    }
    Ok(notes)
}

/// The version that wrote the last record.
fn writer<E>(notes: &[LogRecord<E>]) -> Option<&str> {
    notes.iter().rev().find_map(|note| note.by.as_deref())
}
