//! A recording as text: a line that says what it is, then a line of JSON for each moment.

use crate::{Header, Moment, SCHEMA, Scene};
use serde::Serialize;
use thiserror::Error;

/// Longest recording that is played, in bytes: all of it is held, because a person goes back in it.
pub const MOST_BYTES: u64 = 256 << 20;

/// A recording that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// What it is.
    pub header: Header,
    /// All moments; at least one.
    pub moments: Vec<Moment>,
    /// The last line has no end: who wrote it was cut off.
    pub torn: bool,
}

/// Why a file is no recording that can be played.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RecordingError {
    /// Its first line says something else.
    #[error("its first line does not say that it is one (`{{\"schema\":\"{SCHEMA}\",...}}`)")]
    Foreign,
    /// Another version.
    #[error("it is `{0}`, and this quietcore plays `{SCHEMA}`")]
    Version(String),
    /// A line that is no moment.
    #[error("line {line}: {why}")]
    Line {
        /// Its number, from 1 on.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// Nothing but the first line.
    #[error("it holds no moment")]
    Empty,
}

/// One line of a recording, with its end.
#[must_use]
pub fn line(what: &impl Serialize) -> Vec<u8> {
    // Neither a header nor a moment holds what JSON has no form for.
    let mut line = serde_json::to_vec(what).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Reads a recording.
///
/// # Errors
/// What is no recording of this version, or has a line that is none of its own. A last line without an end is left out.
pub fn parse(bytes: &[u8]) -> Result<Recording, RecordingError> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    let header = header(lines.next().map_or(&[], |(_, line)| line))?;
    let mut recording = Recording {
        header,
        ..Recording::default()
    };
    let mut known = Scene::default();
    for (place, line) in lines {
        if !line.ends_with(b"\n") {
            recording.torn = true;
            break;
        }
        let wrong = |why: String| RecordingError::Line { line: place + 1, why };
        let mut moment: Moment = serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
        // Ours are in order; who looks one up relies on it.
        moment.activity.cpus.sort_by_key(|one| one.cpu);
        if let Some(scene) = &moment.scene {
            known.clone_from(scene);
        } else if recording.moments.is_empty() {
            return Err(wrong(
                "the first moment does not tell which CPUs there are".to_owned(),
            ));
        }
        recording.moments.push(Moment {
            // Its place counts, whatever it says itself.
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
