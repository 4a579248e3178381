//! `history`: shows what was done during this boot, and what is active.

use apply::resize::Resize;
use apply::{ApplyLayer, JournalEvent, JournalState, LayerState};
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use terminal::Screen;

/// Arguments of `history`.
#[derive(clap::Args)]
pub struct Args {}

#[derive(Serialize)]
struct HistoryJson {
    schema: &'static str,
    journals: Vec<JournalSummary>,
    /// Why archived journals cannot be shown.
    unreadable: Vec<String>,
}

#[derive(Serialize)]
struct JournalSummary {
    /// The number of the journal of its records, from 1 for the oldest. Each journal numbers its records from 1, so `seq` and
    /// `end` identify a record only together with it.
    journal: usize,
    /// Whether `undo --to` accepts `seq` and `end`: the journal is the current one, and the changes are active.
    current: bool,
    seq: u64,
    end: u64,
    began: String,
    reason: String,
    partition: String,
    cpus: machine::CpuSet,
    tool: String,
    pid: u32,
    state: String,
    changes_planned: usize,
    changes_made: usize,
    records: usize,
}

/// Runs the command.
///
/// # Errors
/// No permission, or a journal that cannot be read.
pub fn run(_args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let (mut stopped, mut unreadable) = (None, Vec::new());
    let journals = match session.state()? {
        None => Vec::new(),
        Some(state) => {
            let boot_id = session.boot_id();
            let current = apply::Journal::open(&*state)?.map(|journal| journal.state(boot_id.as_deref()));
            let history = apply::history(&*state)?;
            unreadable.extend(history.unreadable.into_iter().map(Failure::from));
            let histories = history.journals;
            let last = histories.len().saturating_sub(1);
            let mut journals = Vec::new();
            for (place, records) in histories.iter().enumerate() {
                let current = current.filter(|_| place == last);
                let layers = apply::layers(records);
                journals.extend(layers.iter().map(|layer| summary(place + 1, layer, current)));
            }
            let is_ours = current.is_some_and(|state| state != JournalState::Void);
            stopped = histories
                .last()
                .filter(|_| is_ours)
                .and_then(|records| Resize::open(records));
            journals
        }
    };
    if !journals.is_empty() || unreadable.is_empty() {
        screen.text(&text(&journals));
    }
    if let Some(open) = stopped {
        screen.text(&format!(
            "Recreating partition {} with CPU {} did not finish: `quietcore undo` restores the state before it.\n",
            open.name, open.cpus
        ));
    }
    let unreadable: Vec<String> = unreadable
        .iter()
        .map(|error| format!("{}: {}", error.what, error.why))
        .collect();
    for line in &unreadable {
        screen.text(&format!("Not shown: {line}\n"));
    }
    screen.json(&HistoryJson {
        schema: "quietcore.history/1",
        journals,
        unreadable,
    });
    Ok(Status::Done)
}

fn summary(journal: usize, layer: &ApplyLayer, current: Option<JournalState>) -> JournalSummary {
    let why = layer.undone_why.unwrap_or("undo");
    let state = match (layer.state, current) {
        // A text of `history --json` since version 0.1.
        (LayerState::Undone, _) => format!("taken back ({why})"),
        (_, Some(JournalState::Void)) => "of an earlier boot".to_owned(),
        (LayerState::InForce, Some(_)) => "in force".to_owned(),
        (LayerState::Applying | LayerState::Undoing, Some(_)) => "unfinished: run `quietcore undo`".to_owned(),
        (_, None) => "put away".to_owned(),
    };
    let is_made = |record: &&&apply::JournalRecord| matches!(record.event, JournalEvent::Did { .. });
    JournalSummary {
        journal,
        current: matches!(current, Some(state) if state != JournalState::Void) && layer.state != LayerState::Undone,
        seq: layer.seq,
        end: layer.end,
        began: machine::utc_text(layer.at_ns / 1_000_000_000),
        reason: layer.reason.to_owned(),
        partition: layer.intent.name.to_string(),
        cpus: layer.intent.cpus.clone(),
        tool: layer.tool.to_owned(),
        pid: layer.pid,
        state,
        changes_planned: layer.changes.len(),
        changes_made: layer.records.iter().filter(is_made).count(),
        records: layer.records.len(),
    }
}

fn text(journals: &[JournalSummary]) -> String {
    if journals.is_empty() {
        return "Nothing was changed on this boot.\n".to_owned();
    }
    let mut text = format!(
        "{:<9} {:<21} {:<8} {:<10} {:<12} {:>7}  state\n",
        "records", "began", "by", "partition", "CPUs", "writes"
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
            journal.state.replacen("taken back", "undone", 1)
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
            cpus: machine::CpuSet::range(1, 1),
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
        let shown = text(&[row("old", 1, false), row("one", 1, true), row("two", 75, true)]);
        let firsts: Vec<&str> = shown.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(firsts, ["records", "-", "1-74", "75-148", "`quietcore"]);
        assert!(shown.ends_with("`quietcore undo --to 74` undoes what was applied after one.\n"));
        assert!(!text(&[row("old", 1, false), row("one", 1, true)]).contains("--to"));
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
