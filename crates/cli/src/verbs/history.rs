//! `history`: shows what was done during this boot, the newest or all of it, and what is active.

use apply::resize::Resize;
use apply::{ApplyLayer, JournalEvent, JournalState, LayerState};
use report::{HistoryReport, JournalSummary};
use root::{Failure, Status};
use session::Session;
use terminal::Screen;

/// Arguments of `history`.
#[derive(clap::Args)]
pub struct Args {}

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
    let unreadable = unreadable.iter().map(|error| format!("{}: {}", error.what, error.why));
    let report = HistoryReport::new(journals, unreadable.collect());
    screen.document(&report.text(screen.detail()));
    if let Some(open) = stopped {
        screen.document(&format!(
            "Recreating partition {} with CPU {} did not finish: `quietcore undo` restores the state before it.\n",
            open.name, open.cpus
        ));
    }
    screen.json(&report);
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
