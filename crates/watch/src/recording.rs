//! Reads and writes a recording: a header line, then one line of JSON per moment.

use crate::{Header, Moment, SCHEMA, WatchScene};
use machine::OrderBy;
use serde::Serialize;
use thiserror::Error;

/// The maximum length of a recording in bytes: all of it is kept in memory, because the user can step back.
pub const MOST_BYTES: u64 = 256 << 20;

/// A parsed recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRecording {
    /// The header.
    pub header: Header,
    /// All moments; at least one.
    pub moments: Vec<Moment>,
    /// The last line is incomplete: the writer was interrupted.
    pub torn: bool,
}

/// Why a file cannot be played.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RecordingError {
    /// Its first line is not a header.
    #[error("its first line is not that of a recording (`{{\"schema\":\"{SCHEMA}\",...}}`)")]
    Foreign,
    /// Another version.
    #[error("it is `{0}`, and this quietcore plays `{SCHEMA}`")]
    Version(String),
    /// A line that is not a moment.
    #[error("line {line}: {why}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The error.
        why: String,
    },
    /// Only a header.
    #[error("it contains no sample")]
    Empty,
}

/// One line of a recording, with its end.
#[must_use]
pub fn line(what: &impl Serialize) -> Vec<u8> {
    // Headers and moments contain nothing that JSON cannot express.
    let mut line = serde_json::to_vec(what).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Parses a recording.
///
/// # Errors
/// A file that is not a recording of this version, or has an invalid line. An incomplete last line is ignored.
pub fn parse(bytes: &[u8]) -> Result<WatchRecording, RecordingError> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    let header = header(lines.next().map_or(&[], |(_, line)| line))?;
    let mut recording = WatchRecording {
        header,
        ..WatchRecording::default()
    };
    let mut known = WatchScene::default();
    for (place, line) in lines {
        if !line.ends_with(b"\n") {
            recording.torn = true;
            break;
        }
        let wrong = |why: String| RecordingError::Line { line: place + 1, why };
        let mut moment: Moment = serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
        // Ours are sorted; lookups rely on it.
        moment.activity.cpus.order_by_key(|one| one.cpu);
        if let Some(scene) = &moment.scene {
            known.clone_from(scene);
        } else if recording.moments.is_empty() {
            return Err(wrong("the first sample does not list the CPUs".to_owned()));
        }
        recording.moments.push(Moment {
            // Its position counts, not its own number.
            number: recording.moments.len() as u64,
            ..moment
        });
    }
    if recording.moments.is_empty() {
        return Err(RecordingError::Empty);
    }
    Ok(recording)
}

fn header(line: &[u8]) -> Result<Header, RecordingError> {
    #[derive(serde::Deserialize)]
    struct Named {
        schema: String,
    }
    let named: Named = serde_json::from_slice(line).map_err(|_| RecordingError::Foreign)?;
    match named.schema.as_str() {
        SCHEMA => serde_json::from_slice(line).map_err(|error| RecordingError::Line {
            line: 1,
            why: error.to_string(),
        }),
        other if other.starts_with("quietcore.watch/") => Err(RecordingError::Version(other.to_owned())),
        _ => Err(RecordingError::Foreign),
    }
}

#[cfg(test)]
mod tests;
