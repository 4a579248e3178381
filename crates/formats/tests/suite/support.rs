//! Support for all topics: the files of `fixtures/foreign` and their recordings.

use formats::requirement::{Requirement, RequirementOutcome, judge};
use formats::{Recording, Series, read};
use std::path::{Path, PathBuf};

/// The directory of the files.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign")
}

/// Returns the text of a file.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// Reads a file.
pub fn recording(name: &str) -> Recording {
    let bytes = std::fs::read(folder().join(name)).unwrap();
    read(&mut bytes.as_slice()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Reads a text.
pub fn recording_of(text: &str) -> Recording {
    read(&mut text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns whether there is a note with this id.
pub fn has(recording: &Recording, id: &str) -> bool {
    recording.notes.iter().any(|note| note.id == id)
}

/// Returns the ids of all notes, in order.
pub fn ids(recording: &Recording) -> Vec<&str> {
    recording.notes.iter().map(|note| note.id.as_str()).collect()
}

/// Returns the value of a fact.
pub fn fact<'a>(facts: &'a [(String, String)], name: &str) -> &'a str {
    &facts.iter().find(|(known, _)| known == name).unwrap().1
}

/// Returns the outcome of a requirement for a series.
pub fn outcome(series: &Series, which: &str, below_ns: u64) -> RequirementOutcome {
    judge(series, &Requirement::new("", which, below_ns).unwrap()).outcome
}

/// Returns the error message of an invalid text.
pub fn refused(text: &str) -> String {
    read(&mut text.as_bytes()).unwrap_err().to_string()
}
