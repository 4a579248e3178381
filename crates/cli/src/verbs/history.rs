//! `history`: what was done on this boot, and what is in force.

use crate::changing::STATE;
use crate::{CommandError, Screen, Status};
use apply::resize::Resize;
use apply::{Event, JournalState, Layer, LayerState};
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

/// Runs it.
///
/// # Errors
/// No permission, or a journal that cannot be read.
pub fn run(_args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let mut stopped = None;
    let journals = match StateDir::open(Path::new(STATE))? {
        None => Vec::new(),
        Some(state) => {
            let boot_id = Root::live()
                .value("/proc/sys/kernel/random/boot_id")
                .ok()
                .flatten();
            let current = apply::Journal::open(&state)?.map(|journal| journal.state(boot_id.as_deref()));
            let histories = apply::history(&state)?;
            let last = histories.len().saturating_sub(1);
            let mut journals = Vec::new();
            for (place, records) in histories.iter().enumerate() {
                let current = current.filter(|_| place == last);
                journals.extend(apply::layers(records).iter().map(|layer| summary(layer, current)));
            }
            let is_ours = current.is_some_and(|state| state != JournalState::Void);
            stopped = histories
                .last()
                .filter(|_| is_ours)
                .and_then(|records| Resize::open(records));
            journals
        }
    };
    screen.text(&text(&journals));
    if let Some(open) = stopped {
        screen.text(&format!(
            "Making partition {} anew with CPU {} did not finish: `quietcore undo` gives back the state before it.\n",
            open.name, open.cpus
        ));
    }
    screen.json(&Report {
        schema: "quietcore.history/1",
        journals,
    });
    Ok(Status::Done)
}

fn summary(layer: &Layer, current: Option<JournalState>) -> Summary {
    let why = layer.undone_why.unwrap_or("undo");
    let state = match (layer.state, current) {
        (LayerState::Gone, _) => format!("taken back ({why})"),
        (_, Some(JournalState::Void)) => "of an earlier boot".to_owned(),
        (LayerState::InForce, Some(_)) => "in force".to_owned(),
        (LayerState::Applying | LayerState::Undoing, Some(_)) => {
            "unfinished: run `quietcore undo`".to_owned()
        }
        (_, None) => "put away".to_owned(),
    };
    let is_made = |record: &&&apply::Record| matches!(record.event, Event::Did { .. });
    Summary {
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

fn text(journals: &[Summary]) -> String {
    if journals.is_empty() {
        return "Nothing was changed on this boot.\n".to_owned();
    }
    let mut text = format!(
        "{:<9} {:<21} {:<8} {:<10} {:<12} {:>7}  state\n",
        "records", "began", "by", "partition", "CPUs", "writes"
    );
    for journal in journals {
        text.push_str(&format!(
            "{:<9} {:<21} {:<8} {:<10} {:<12} {:>7}  {}\n",
            format!("{}-{}", journal.seq, journal.end),
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
