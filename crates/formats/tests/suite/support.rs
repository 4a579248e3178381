//! What the topics share: the files of `fixtures/foreign`, read.

use formats::requirement::{Requirement, RequirementOutcome, judge};
use formats::{Recording, Series, read};
use std::path::{Path, PathBuf};

/// Where they are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign")
}

/// The text of one.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// One, read.
pub fn recording(name: &str) -> Recording {
    let bytes = std::fs::read(folder().join(name)).unwrap();
    read(&mut bytes.as_slice()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A text, read.
pub fn recording_of(text: &str) -> Recording {
    read(&mut text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Whether a note of this name is there.
pub fn has(recording: &Recording, id: &str) -> bool {
    recording.notes.iter().any(|note| note.id == id)
}

/// The names of all notes, in their order.
pub fn ids(recording: &Recording) -> Vec<&str> {
    recording.notes.iter().map(|note| note.id.as_str()).collect()
}

/// The value of a fact.
pub fn fact<'a>(facts: &'a [(String, String)], name: &str) -> &'a str {
    &facts.iter().find(|(known, _)| known == name).unwrap().1
}

/// What a series shows of a requirement.
pub fn outcome(series: &Series, which: &str, below_ns: u64) -> RequirementOutcome {
    judge(series, &Requirement::new("", which, below_ns).unwrap()).outcome
}

/// Why a text is refused.
pub fn refused(text: &str) -> String {
    read(&mut text.as_bytes()).unwrap_err().to_string()
}
