//! Formats entries of `apply` and `undo`: what was changed, from what to what, and the outcome.

use apply::ChangeEntry;
use report::prove::JournalEntry;

/// One entry of `apply` and `undo` in JSON.
#[must_use]
pub fn journal_entry(entry: &ChangeEntry) -> JournalEntry {
    JournalEntry {
        seq: entry.seq,
        change: entry.change.clone(),
        before: entry.before.clone(),
        after: entry.after.clone(),
        outcome: entry.outcome.text(),
    }
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
