//! Defines the lines that `apply` and `undo` show: what was done, one line per change.

use crate::record::ChangeOutcome;
use serde::{Serialize, Serializer};

/// One change and its outcome.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeEntry {
    /// `seq` of the journal record; 0 if nothing was written.
    pub seq: u64,
    /// Identifier of the change.
    pub change: String,
    /// The former state.
    pub before: Option<String>,
    /// The current state.
    pub after: Option<String>,
    /// The outcome; in JSON as text.
    #[serde(serialize_with = "as_text")]
    pub outcome: ChangeOutcome,
}

fn as_text<S: Serializer>(outcome: &ChangeOutcome, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&outcome.text())
}

/// Entries as a table: what, before, after, outcome.
#[must_use]
pub fn entries_text(entries: &[ChangeEntry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        text.push_str(&format!(
            "{:<52} {} -> {}  {}\n",
            entry.change,
            value(&entry.before),
            value(&entry.after),
            entry.outcome.text()
        ));
    }
    text
}
