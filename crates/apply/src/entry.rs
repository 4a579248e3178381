//! Defines the lines that `apply` and `undo` show: what was done, one line per change.

use crate::record::ChangeOutcome;

/// One change and its outcome.
#[derive(Clone, Debug)]
pub struct ChangeEntry {
    /// `seq` of the journal record; 0 if nothing was written.
    pub seq: u64,
    /// Identifier of the change.
    pub change: String,
    /// The former state.
    pub before: Option<String>,
    /// The current state.
    pub after: Option<String>,
    /// The outcome.
    pub outcome: ChangeOutcome,
}
