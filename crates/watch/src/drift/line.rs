//! Defines the log: one JSON object per line, append-only. Fields may be added; existing ones keep name and meaning.

use super::{FindingChange, OpenFinding, WriterProcess};
use machine::utc_text;
use plan::Level;
use serde::Serialize;
use std::fmt;

/// What a line of the log reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEvent {
    /// The daemon started.
    Started,
    /// A finding is new.
    Appeared,
    /// The message or the severity of a finding changed.
    Changed,
    /// A finding has ended.
    Gone,
    /// A repair was made.
    Repaired,
    /// A repair failed, or is no longer tried.
    NotRepaired,
    /// The state of a source of notifications.
    Source,
    /// A lease ended with its owner.
    Lease,
    /// The configuration was read again.
    Configuration,
    /// A check failed, or works again.
    Trouble,
    /// An alert program or a webhook failed.
    Alert,
    /// The state of an outlet of metrics.
    Metrics,
    /// Lines of the log were lost.
    Log,
    /// The daemon stopped.
    Stopped,
}

impl LineEvent {
    /// The event as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            LineEvent::Started => "started",
            LineEvent::Appeared => "appeared",
            LineEvent::Changed => "changed",
            LineEvent::Gone => "gone",
            LineEvent::Repaired => "repaired",
            LineEvent::NotRepaired => "not_repaired",
            LineEvent::Source => "source",
            LineEvent::Lease => "lease",
            LineEvent::Configuration => "configuration",
            LineEvent::Trouble => "trouble",
            LineEvent::Alert => "alert",
            LineEvent::Metrics => "metrics",
            LineEvent::Log => "log",
            LineEvent::Stopped => "stopped",
        }
    }
}

impl fmt::Display for LineEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// The time, as text in UTC.
    pub at: String,
    /// The time, in seconds since 1970.
    pub at_s: u64,
    /// What it reports.
    pub event: LineEvent,
    /// The message; for a finding its message.
    pub message: String,
    /// The finding.
    #[serde(flatten)]
    pub finding: Option<FindingFields>,
}

/// Further fields of a line about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingFields {
    /// Its stable id. Text, like the layer, because an [`OpenFinding`] may come from another version.
    pub id: String,
    /// Its severity.
    pub level: Level,
    /// The layer of `check`.
    pub layer: String,
    /// The partition.
    pub partition: String,
    /// What it is about.
    pub subject: String,
    /// What to do about it.
    pub fix: String,
    /// The time when it appeared, in seconds since 1970.
    pub since_s: u64,
    /// The writers before it appeared; empty if the kernel reported none.
    pub by: Vec<WriterProcess>,
}

impl LogLine {
    /// A line without a finding.
    #[must_use]
    pub fn new(now_s: u64, event: LineEvent, message: impl Into<String>) -> LogLine {
        LogLine {
            at: utc_text(now_s),
            at_s: now_s,
            event,
            message: message.into(),
            finding: None,
        }
    }

    /// A line about a finding.
    #[must_use]
    pub fn about(now_s: u64, event: LineEvent, one: &OpenFinding) -> LogLine {
        LogLine {
            finding: Some(FindingFields {
                id: one.id.clone(),
                level: one.level,
                layer: one.layer.clone(),
                partition: one.partition.clone(),
                subject: one.subject.clone(),
                fix: one.fix.clone(),
                since_s: one.since_s,
                by: one.by.clone(),
            }),
            ..LogLine::new(now_s, event, one.message.clone())
        }
    }
}

/// The line of a change.
#[must_use]
pub fn of_change(change: &FindingChange, now_s: u64) -> LogLine {
    match change {
        FindingChange::Appeared(one) => LogLine::about(now_s, LineEvent::Appeared, one),
        FindingChange::Changed(one) => LogLine::about(now_s, LineEvent::Changed, one),
        FindingChange::Ended(one) => LogLine::about(now_s, LineEvent::Gone, one),
    }
}

/// The line as JSON text, with its line feed.
#[must_use]
pub fn text(line: &LogLine) -> Vec<u8> {
    // Text and numbers only: that always serializes.
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text
}
