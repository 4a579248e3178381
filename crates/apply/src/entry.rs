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

impl ChangeEntry {
    /// The knob that the change belongs to; the identifier starts with it.
    fn knob(&self) -> &str {
        self.change.split('/').next().unwrap_or_default()
    }
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

/// Entries by knob: how many changes were made, and a line for each that was not made as intended.
#[must_use]
pub fn entries_summary(entries: &[ChangeEntry]) -> String {
    let mut text = String::new();
    for group in entries.chunk_by(|one, other| one.knob() == other.knob()) {
        let knob = group.first().map_or("", ChangeEntry::knob).replace('_', " ");
        let plural = if group.len() == 1 { "" } else { "s" };
        text.push_str(&format!("{knob:<29} {} change{plural}\n", group.len()));
    }
    let is_other = |entry: &&ChangeEntry| !matches!(entry.outcome, ChangeOutcome::Done | ChangeOutcome::Already);
    let others: Vec<ChangeEntry> = entries.iter().filter(is_other).cloned().collect();
    text + &entries_text(&others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(change: &str, outcome: ChangeOutcome) -> ChangeEntry {
        ChangeEntry {
            seq: 1,
            change: change.to_owned(),
            before: Some("3".to_owned()),
            after: Some("1".to_owned()),
            outcome,
        }
    }

    #[test]
    fn the_summary_counts_by_knob_and_lists_what_was_refused() {
        let entries = [
            entry("irq_affinity/24", ChangeOutcome::Done),
            entry("irq_affinity/25", ChangeOutcome::Refused(5)),
            entry("rps_cpus/eth0/rx-0", ChangeOutcome::Already),
        ];
        let text = entries_summary(&entries);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines[..2],
            [
                vec!["irq", "affinity", "2", "changes"],
                vec!["rps", "cpus", "1", "change"]
            ]
        );
        assert_eq!(lines.len(), 3, "{text}");
        assert!(text.lines().last().unwrap().contains("refused"), "{text}");
    }
}
