//! Defines the lines that `apply` and `undo` show: what was done, one line per change.

use crate::record::ChangeOutcome;
use serde::{Serialize, Serializer};

/// One change and its outcome.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
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
        let step = match (&entry.before, &entry.after) {
            (None, None) => String::new(),
            (Some(before), Some(after)) if before == after && stays(&entry.outcome) => format!("stays {before}  "),
            (before, after) => format!("{} -> {}  ", value(before), value(after)),
        };
        let outcome = match &entry.outcome {
            ChangeOutcome::Gone => "no longer exists, so nothing was written".to_owned(),
            ChangeOutcome::Drift(now) if entry.after.as_ref() == Some(now) => "another program changed it".to_owned(),
            other => other.text(),
        };
        text.push_str(&format!("{:<52} {step}{outcome}\n", entry.change));
    }
    text
}

/// Whether nothing was written, so that equal values are no change.
const fn stays(outcome: &ChangeOutcome) -> bool {
    matches!(outcome, ChangeOutcome::Refused(_) | ChangeOutcome::Drift(_))
}

/// Entries by knob: how many changes were made, and a line for each that was not made as intended.
#[must_use]
pub fn entries_summary(entries: &[ChangeEntry]) -> String {
    let is_made = |entry: &ChangeEntry| matches!(entry.outcome, ChangeOutcome::Done | ChangeOutcome::Already);
    let (made, others): (Vec<ChangeEntry>, Vec<ChangeEntry>) = entries.iter().cloned().partition(is_made);
    let mut knobs: Vec<(&str, usize)> = Vec::new();
    for entry in &made {
        match knobs.iter_mut().find(|(knob, _)| *knob == entry.knob()) {
            Some((_, count)) => *count += 1,
            None => knobs.push((entry.knob(), 1)),
        }
    }
    let line = |(knob, count): (&str, usize)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{:<29} {count} change{plural}\n", knob.replace('_', " "))
    };
    let text: String = knobs.into_iter().map(line).collect();
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
    fn what_no_longer_exists_has_no_values() {
        let gone = ChangeEntry {
            before: None,
            after: None,
            ..entry("cpuset_partition/mems", ChangeOutcome::Gone)
        };
        let text = entries_text(&[gone]);
        assert!(text.contains(" no longer exists") && !text.contains("->"), "{text}");
        let stays = ChangeEntry {
            after: Some("3".to_owned()),
            ..entry("irq_affinity/28", ChangeOutcome::Refused(5))
        };
        let text = entries_text(&[stays]);
        assert!(text.contains(" stays 3  refused: ") && !text.contains("->"), "{text}");
        let changed = ChangeEntry {
            before: Some("7".to_owned()),
            after: Some("7".to_owned()),
            ..entry("compaction_proactiveness", ChangeOutcome::Drift("7".to_owned()))
        };
        let text = entries_text(&[changed]);
        assert!(text.contains(" stays 7  another program changed it\n"), "{text}");
        let text = entries_text(&[entry("irq_affinity/24", ChangeOutcome::Done)]);
        assert!(text.contains(" 3 -> 1  done"), "{text}");
    }

    #[test]
    fn the_summary_counts_by_knob_and_lists_what_was_refused() {
        let entries = [
            entry("irq_affinity/24", ChangeOutcome::Done),
            entry("irq_affinity/25", ChangeOutcome::Refused(5)),
            entry("rps_cpus/eth0/rx-0", ChangeOutcome::Already),
            entry("irq_affinity/26", ChangeOutcome::Done),
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
