//! Formats `history`: what was applied during this boot, and what is active.

use crate::KnobDetail;
use crate::style::counted;
use machine::CpuSet;
use serde::Serialize;

/// Number of applies that `history` shows without `-v`.
const NEWEST: usize = 20;

/// What was applied during this boot, as `history` shows it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryReport {
    schema: &'static str,
    /// Every apply, oldest first.
    journals: Vec<JournalSummary>,
    /// Why archived journals cannot be shown.
    unreadable: Vec<String>,
}

/// One apply, as a journal records it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JournalSummary {
    /// The number of the journal of its records, from 1 for the oldest. Each journal numbers its records from 1, so `seq` and
    /// `end` identify a record only together with it.
    pub journal: usize,
    /// Whether `undo --to` accepts `seq` and `end`: the journal is the current one, and the changes are active.
    pub current: bool,
    /// Number of its first record.
    pub seq: u64,
    /// Number of its last record.
    pub end: u64,
    /// When it started: RFC 3339, UTC.
    pub began: String,
    /// What applied it: `apply`, `boot` ...
    pub reason: String,
    /// Name of the partition.
    pub partition: String,
    /// CPUs that it isolates.
    pub cpus: CpuSet,
    /// Version of quietcore that applied it.
    pub tool: String,
    /// Process that applied it.
    pub pid: u32,
    /// Its state, as text.
    pub state: String,
    /// Number of planned changes.
    pub changes_planned: usize,
    /// Number of changes made.
    pub changes_made: usize,
    /// Number of its records.
    pub records: usize,
}

impl HistoryReport {
    /// The applies, oldest first, and why archived journals cannot be shown.
    #[must_use]
    pub fn new(journals: Vec<JournalSummary>, unreadable: Vec<String>) -> HistoryReport {
        HistoryReport {
            schema: "quietcore.history/1",
            journals,
            unreadable,
        }
    }

    /// The table for people: the newest applies and all active ones, or every apply.
    #[must_use]
    pub fn text(&self, detail: KnobDetail) -> String {
        let oldest_shown = match detail {
            KnobDetail::Whole => 0,
            KnobDetail::Short => self.journals.len().saturating_sub(NEWEST),
        };
        let (early, late) = self.journals.split_at(oldest_shown);
        let shown: Vec<&JournalSummary> = early.iter().filter(|apply| apply.current).chain(late).collect();
        let mut text = match shown.is_empty() && !self.unreadable.is_empty() {
            true => String::new(),
            false => table(&shown),
        };
        let hidden = self.journals.len() - shown.len();
        if hidden > 0 {
            let earlier = counted(hidden, "earlier apply");
            text.insert_str(0, &format!("{earlier} not shown; -v shows all.\n"));
        }
        for line in &self.unreadable {
            text.push_str(&format!("Not shown: {line}\n"));
        }
        text
    }
}

/// The state as text for people; JSON keeps the words of version 0.1.
fn shown_state(state: &str) -> String {
    match state {
        "in force" => "active".to_owned(),
        "put away" => "archived".to_owned(),
        state => state.replacen("taken back", "undone", 1),
    }
}

fn table(journals: &[&JournalSummary]) -> String {
    if journals.is_empty() {
        return "Nothing was changed on this boot.\n".to_owned();
    }
    let mut text = format!(
        "{:<9} {:<21} {:<8} {:<10} {:<12} {:>7}  state\n",
        "records", "started", "by", "partition", "CPUs", "writes"
    );
    for journal in journals {
        let records = match journal.current {
            true => format!("{}-{}", journal.seq, journal.end),
            false => "-".to_owned(),
        };
        text.push_str(&format!(
            "{records:<9} {:<21} {:<8} {:<10} {:<12} {:>7}  {}\n",
            journal.began,
            journal.reason,
            journal.partition,
            journal.cpus.to_string(),
            journal.changes_made,
            shown_state(&journal.state)
        ));
    }
    let mut current = journals.iter().filter(|journal| journal.current);
    if let (Some(first), Some(_)) = (current.next(), current.next()) {
        text.push_str(&format!(
            "`quietcore undo --to {}` undoes what was applied after {}.\n",
            first.end, first.partition
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(partition: &str, seq: u64, current: bool) -> JournalSummary {
        JournalSummary {
            journal: 1 + usize::from(current),
            current,
            seq,
            end: seq + 73,
            began: "2026-11-25T10:41:54Z".to_owned(),
            reason: "apply".to_owned(),
            partition: partition.to_owned(),
            cpus: CpuSet::range(1, 1),
            tool: "0.1.0".to_owned(),
            pid: 7,
            state: "in force".to_owned(),
            changes_planned: 36,
            changes_made: 36,
            records: 74,
        }
    }

    /// Every journal counts from 1, so a number of an earlier journal would name another record.
    #[test]
    fn only_records_of_the_current_journal_are_numbered() {
        let all = vec![row("old", 1, false), row("one", 1, true), row("two", 75, true)];
        let shown = HistoryReport::new(all, Vec::new()).text(KnobDetail::Short);
        let firsts: Vec<&str> = shown.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(firsts, ["records", "-", "1-74", "75-148", "`quietcore"]);
        assert!(shown.ends_with("`quietcore undo --to 74` undoes what was applied after one.\n"));
        assert!(!table(&[&row("old", 1, false), &row("one", 1, true)]).contains("--to"));
    }

    #[test]
    fn the_newest_and_all_active_ones_are_shown() {
        let mut all = vec![row("first", 1, true)];
        all.extend((0..NEWEST + 3).map(|number| row(&format!("n{number}"), 1, false)));
        let report = HistoryReport::new(all, Vec::new());
        let text = report.text(KnobDetail::Short);
        assert!(
            text.starts_with("3 earlier applies not shown; -v shows all.\n"),
            "{text}"
        );
        assert!(
            text.contains("\n1-74 ") && text.contains("n3 ") && !text.contains("n2 "),
            "{text}"
        );
        assert_eq!(report.text(KnobDetail::Whole).lines().count(), 1 + 1 + NEWEST + 3);
    }

    /// The same number in two journals is two records, so the row names the journal.
    #[test]
    fn a_record_number_in_json_names_its_journal() {
        let old = serde_json::to_value(row("old", 1, false)).unwrap();
        let now = serde_json::to_value(row("one", 1, true)).unwrap();
        assert_eq!(old["seq"], now["seq"]);
        assert_eq!((&old["journal"], &old["current"]), (&1.into(), &false.into()));
        assert_eq!((&now["journal"], &now["current"]), (&2.into(), &true.into()));
    }
}
