//! The result of a scenario: every claim that did not hold, a remark for the report line, or why it could not run.

use crate::records::{Record, Records};
use std::fmt::Debug;

/// Collects claims, so that one run shows all failures and not only the first.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Every checked claim, as its text. A scenario without checks fails.
    pub claims: Vec<String>,
    /// Claims that did not hold.
    pub failures: Vec<String>,
    /// Shown at the end of the scenario's line (`143 of 143`).
    pub notes: Vec<String>,
    /// Why the scenario cannot run on this kernel.
    pub skipped: Option<String>,
}

impl Verdict {
    /// Claims that a condition is true.
    pub fn that(&mut self, holds: bool, what: impl Into<String>) {
        let what = what.into();
        if !holds {
            self.failures.push(what.clone());
        }
        self.claims.push(what);
    }

    /// Claims that two things are equal.
    pub fn equal<T: PartialEq + Debug>(&mut self, what: &str, seen: T, wanted: T) {
        let holds = seen == wanted;
        self.that(holds, format!("{what}: {seen:?}, wanted {wanted:?}"));
    }

    /// Claims that a command was recorded and ended with a status.
    pub fn status(&mut self, records: &Records, name: &str, wanted: i32) -> Record {
        let record = records.get(name);
        let said = if record.stderr.is_empty() {
            &record.stdout
        } else {
            &record.stderr
        };
        let said: String = said.chars().take(600).collect();
        self.that(
            record.status == wanted,
            format!(
                "{name}: exit status {}, wanted {wanted}: {}",
                record.status,
                said.trim()
            ),
        );
        record
    }

    /// Adds to the scenario's line.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}
