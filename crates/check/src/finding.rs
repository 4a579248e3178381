//! Defines one finding of `check`, with its evidence and the change that repairs it.

use crate::LayerName;
use plan::{Change, Finding, FindingId, Level};
use serde::{Serialize, Serializer};

/// One finding of `check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckFinding {
    /// What is the case, and what to do about it.
    #[serde(flatten)]
    pub finding: Finding,
    /// The layer that found it; `None`, in JSON the empty text, for what concerns the check itself.
    #[serde(serialize_with = "layer_as_text")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "layer_schema"))]
    pub layer: Option<LayerName>,
    /// The partition it concerns.
    pub partition: String,
    /// The evidence, one line each.
    pub evidence: Vec<String>,
    /// The change that repairs it, if one of the profile's own does.
    pub mend: Option<Change>,
}

impl CheckFinding {
    /// A finding without a change that repairs it.
    #[must_use]
    pub fn new(level: Level, id: FindingId, subject: impl Into<String>, message: impl Into<String>) -> CheckFinding {
        CheckFinding::of(Finding::new(level, id, subject, message))
    }

    /// A finding of a plan or of the journal.
    #[must_use]
    pub fn of(finding: Finding) -> CheckFinding {
        CheckFinding {
            finding,
            layer: None,
            partition: String::new(),
            evidence: Vec::new(),
            mend: None,
        }
    }

    /// Adds the fix.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> CheckFinding {
        self.finding.fix = fix.into();
        self
    }

    /// Adds a line of evidence.
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

    /// The knob that repairs it.
    #[must_use]
    pub fn knob(&self) -> Option<&str> {
        self.mend.as_ref().map(Change::knob)
    }

    /// The name of its layer; empty without one.
    #[must_use]
    pub fn layer_text(&self) -> &'static str {
        self.layer.map_or("", LayerName::as_str)
    }

    /// Whether a user who ignores `pattern` (`ID`, or `ID:SUBJECT`) ignores this finding.
    #[must_use]
    pub fn is_meant_by(&self, pattern: &str) -> bool {
        match pattern.split_once(':') {
            None => self.finding.id.as_str() == pattern,
            Some((id, subject)) => self.finding.id.as_str() == id && self.finding.subject == subject,
        }
    }
}

#[cfg(feature = "schema")]
fn layer_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let names: Vec<&str> = std::iter::once("")
        .chain(LayerName::ALL.map(LayerName::as_str))
        .collect();
    schemars::json_schema!({ "type": "string", "enum": names })
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn layer_as_text<S: Serializer>(layer: &Option<LayerName>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(layer.map_or("", LayerName::as_str))
}
