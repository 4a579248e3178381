//! The result of a scenario: every claim that did not hold, notes for the report line, or why it could not run.

use crate::records::{CommandRecord, GuestRecords};
use std::fmt::Debug;

/// Collects all claims, so that one run shows every failure and not only the first.
#[derive(Debug, Default)]
pub struct ScenarioVerdict {
    /// Every checked claim, as its text. A scenario without checks fails.
    pub claims: Vec<String>,
    /// Claims that did not hold.
    pub failures: Vec<String>,
    /// Shown at the end of the scenario's line (`143 of 143`).
    pub notes: Vec<String>,
    /// Why the scenario cannot run on this kernel.
    pub skipped: Option<String>,
}

impl ScenarioVerdict {
    /// Claims that a condition is true.
    pub fn that(&mut self, holds: bool, what: impl Into<String>) {
        let what = what.into();
        if !holds {
            self.failures.push(what.clone());
        }
        self.claims.push(what);
    }

    /// Claims that two things are equal.
    pub fn equal<T: PartialEq + Debug>(&mut self, what: &str, seen: T, expected: T) {
        let holds = seen == expected;
        self.that(holds, format!("{what}: {seen:?}, expected {expected:?}"));
    }

    /// Claims that a command was recorded and ended with a status.
    pub fn status(&mut self, records: &GuestRecords, name: &str, expected: i32) -> CommandRecord {
        let record = records.get(name);
        let output = if record.stderr.is_empty() {
            &record.stdout
        } else {
            &record.stderr
        };
        let shortened: String = output.chars().take(600).collect();
        self.that(
            record.status == expected,
            format!(
                "{name}: exit status {}, expected {expected}: {}",
                record.status,
                shortened.trim()
            ),
        );
        record
    }

    /// Adds a note to the scenario's line.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}
