//! `history`: what was done on this boot, and what is in force.

use crate::changing::STATE;
use crate::{CommandError, Screen, Status};
use apply::{Event, JournalState, Record};
use root::Root;
use root::state::StateDir;
use serde::Serialize;
use std::path::Path;

/// Arguments of `history`.
#[derive(clap::Args)]
pub struct Args {}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    journals: Vec<Summary>,
}

#[derive(Serialize)]
struct Summary {
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

/// Runs it.
///
/// # Errors
/// No permission, or a journal that cannot be read.
pub fn run(_args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let journals = match StateDir::open(Path::new(STATE))? {
        None => Vec::new(),
        Some(state) => {
            let boot_id = Root::live().value("/proc/sys/kernel/random/boot_id").ok().flatten();
            let current = apply::Journal::open(&state)?.map(|journal| journal.state(boot_id.as_deref()));
            let mut journals: Vec<Summary> =
                apply::history(&state)?.iter().filter_map(|records| summary(records)).collect();
            if let (Some(current), Some(last)) = (current, journals.last_mut()) {
                last.state = match current {
                    JournalState::InForce => "in force",
                    JournalState::Unfinished => "unfinished: run `quietcore undo`",
                    JournalState::Void => "of an earlier boot",
                }
                .to_owned();
            }
            journals
        }
    };
    screen.text(&text(&journals));
    screen.json(&Report { schema: "quietcore.history/1", journals });
    Ok(Status::Done)
}

fn summary(records: &[Record]) -> Option<Summary> {
    let first = records.first()?;
    let Event::Begin { tool, pid, reason, intent, changes, .. } = &first.event else { return None };
    let why = records.iter().rev().find_map(|record| match &record.event {
        Event::UndoBegin { why, .. } => Some(format!("taken back ({why})")),
        _ => None,
    });
    let made = records.iter().filter(|record| matches!(record.event, Event::Did { .. })).count();
    Some(Summary {
        began: machine::utc_text(first.at_ns / 1_000_000_000),
        reason: reason.clone(),
        partition: intent.name.to_string(),
        cpus: intent.cpus.clone(),
        tool: tool.clone(),
        pid: *pid,
        state: why.unwrap_or_else(|| "put away".to_owned()),
        changes_planned: changes.len(),
        changes_made: made,
        records: records.len(),
    })
}

fn text(journals: &[Summary]) -> String {
    if journals.is_empty() {
        return "Nothing was changed on this boot.\n".to_owned();
    }
    let mut text = format!("{:<21} {:<8} {:<10} {:<12} {:>7}  state\n", "began", "by", "partition", "CPUs", "writes");
    for journal in journals {
        text.push_str(&format!(
            "{:<21} {:<8} {:<10} {:<12} {:>7}  {}\n",
            journal.began,
            journal.reason,
            journal.partition,
            journal.cpus.to_string(),
            journal.changes_made,
            journal.state
        ));
    }
    text
}
