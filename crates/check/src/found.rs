//! One finding with what it was seen by and what mends it.

use plan::{Change, Finding, Level};
use serde::Serialize;

/// One finding of `check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// What is so, and what to do about it.
    #[serde(flatten)]
    pub finding: Finding,
    /// The layer that found it.
    pub layer: &'static str,
    /// The partition that it is about.
    pub partition: String,
    /// What was seen, one line each.
    pub evidence: Vec<String>,
    /// The change that mends it, where one of the profile's own does.
    pub mend: Option<Change>,
}

impl Found {
    /// A finding that nothing of ours mends.
    #[must_use]
    pub fn new(level: Level, id: &str, subject: impl Into<String>, message: impl Into<String>) -> Found {
        Found::of(Finding::new(level, id, subject, message))
    }

    /// What a plan or the journal found.
    #[must_use]
    pub fn of(finding: Finding) -> Found {
        Found {
            finding,
            layer: "",
            partition: String::new(),
            evidence: Vec::new(),
            mend: None,
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Found {
        self.finding.fix = fix.into();
        self
    }

    /// Adds what it was seen by.
    #[must_use]
    pub fn seen(mut self, line: impl Into<String>) -> Found {
        self.evidence.push(line.into());
        self
    }

    /// Adds the change that mends it.
    #[must_use]
    pub fn mended_by(mut self, change: Change) -> Found {
        self.mend = Some(change);
        self
    }

    /// The knob that mends it.
    #[must_use]
    pub fn knob(&self) -> Option<&str> {
        self.mend.as_ref().map(Change::knob)
    }

    /// Whether a user who ignores `pattern` (`ID`, or `ID:SUBJECT`) ignores this one.
    #[must_use]
    pub fn is_meant_by(&self, pattern: &str) -> bool {
        match pattern.split_once(':') {
            None => self.finding.id == pattern,
            Some((id, subject)) => self.finding.id == id && self.finding.subject == subject,
        }
    }
}
