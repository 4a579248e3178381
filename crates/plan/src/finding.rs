//! Defines a finding: what the user should know, in one sentence, with evidence and a fix.

mod ids;

pub(crate) use ids::finding_rows;
pub use ids::{FindingId, FindingRow};

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Info,
    /// Isolation will be weaker than it appears.
    Warning,
    /// It does not work.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable identifier that scripts may match.
    pub id: FindingId,
    /// How much it matters.
    pub level: Level,
    /// Its subject: a CPU, an interrupt, a file.
    pub subject: String,
    /// What is the case, and why it matters.
    pub message: String,
    /// What to do about it; empty when nothing can be done.
    pub fix: String,
}

impl Finding {
    /// A finding without a fix; add one with [`Finding::fix`].
    #[must_use]
    pub fn new(level: Level, id: FindingId, subject: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding {
            id,
            level,
            subject: subject.into(),
            message: message.into(),
            fix: String::new(),
        }
    }

    /// A finding that prevents something or reports a loss.
    #[must_use]
    pub fn error(id: FindingId, subject: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding::new(Level::Error, id, subject, message)
    }

    /// A finding that should be repaired.
    #[must_use]
    pub fn warning(id: FindingId, subject: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding::new(Level::Warning, id, subject, message)
    }

    /// A finding for information.
    #[must_use]
    pub fn info(id: FindingId, subject: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding::new(Level::Info, id, subject, message)
    }

    /// Adds the fix.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Finding {
        self.fix = fix.into();
        self
    }
}
