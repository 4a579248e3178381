//! What was done, one line per change: what `apply` and `undo` show.

use crate::record::Outcome;

/// One change and how it went.
#[derive(Clone, Debug)]
pub struct Entry {
    /// `seq` of the journal record; 0 where nothing was written.
    pub seq: u64,
    /// Identifier of the change.
    pub change: String,
    /// What was there.
    pub before: Option<String>,
    /// What is there.
    pub after: Option<String>,
    /// How it went.
    pub outcome: Outcome,
}
