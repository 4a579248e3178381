//! One finding with its evidence and the change that repairs it.

use plan::{Change, Finding, Level};
use serde::Serialize;

/// One finding of `check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckFinding {
    /// What is so, and what to do about it.
    #[serde(flatten)]
    pub finding: Finding,
    /// The layer that found it.
    pub layer: &'static str,
    /// The partition that it is about.
    pub partition: String,
    /// What was seen, one line each.
    pub evidence: Vec<String>,
    /// The change that repairs it, where one of the profile's own does.
    pub mend: Option<Change>,
}

impl CheckFinding {
    /// A finding without a change that repairs it.
    #[must_use]
    pub fn new(
        level: Level,
        id: &str,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> CheckFinding {
        CheckFinding::of(Finding::new(level, id, subject, message))
    }

    /// What a plan or the journal found.
    #[must_use]
    pub fn of(finding: Finding) -> CheckFinding {
        CheckFinding {
            finding,
            layer: "",
            partition: String::new(),
            evidence: Vec::new(),
            mend: None,
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> CheckFinding {
        self.finding.fix = fix.into();
        self
    }

    /// Adds what it was seen by.
    #[must_use]
    pub fn seen(mut self, line: impl Into<String>) -> CheckFinding {
        self.evidence.push(line.into());
        self
    }

    /// Adds the change that repairs it.
    #[must_use]
    pub fn repaired_by(mut self, change: Change) -> CheckFinding {
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
