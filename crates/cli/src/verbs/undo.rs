//! `undo`: take back what is in force.

use crate::changing::{self, Changing};
use crate::{CommandError, Screen, Status};
use apply::{Force, Undone};
use serde::Serialize;

/// Arguments of `undo`.
#[derive(clap::Args)]
pub struct Args {
    /// Give the former state also to what somebody else changed since
    #[arg(long, conflicts_with = "keep")]
    force: bool,
    /// Leave what somebody else changed since alone for good, and close the journal
    #[arg(long)]
    keep: bool,
}

/// JSON of `undo`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    was_in_force: bool,
    entries: Vec<changing::EntryJson>,
    drift: &'a [String],
    failed: &'a [String],
    notes: &'a [String],
}

/// Runs it.
///
/// # Errors
/// No permission, a journal that cannot be read, another quietcore at work.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let force = match (args.force, args.keep) {
        (true, _) => Force::Restore,
        (_, true) => Force::Keep,
        _ => Force::No,
    };
    let Some(changing) = Changing::existing()? else {
        show(&Undone::default(), screen);
        return Ok(Status::Done);
    };
    let undone = apply::undo(&changing.host, &changing.state, changing.boot_id().as_deref(), force, "undo")?;
    show(&undone, screen);
    Ok(match (undone.failed.is_empty(), undone.drift.is_empty(), force) {
        (true, true, _) | (true, false, Force::Keep) => Status::Done,
        _ => Status::Conflict,
    })
}

fn show(undone: &Undone, screen: &mut Screen) {
    screen.json(&Report {
        schema: "quietcore.undo/1",
        was_in_force: undone.was_in_force,
        entries: undone.entries.iter().map(changing::EntryJson::from).collect(),
        drift: &undone.drift,
        failed: &undone.failed,
        notes: &undone.notes,
    });
    screen.text(&text(undone));
}

fn text(undone: &Undone) -> String {
    if !undone.was_in_force {
        let notes: String = undone.notes.iter().map(|note| format!("{note}\n")).collect();
        return if notes.is_empty() { "Nothing is in force; nothing to take back.\n".to_owned() } else { notes };
    }
    let mut text = changing::entries_text(&undone.entries);
    for note in &undone.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    for line in &undone.drift {
        text.push_str(&format!("left alone: {line}\n"));
    }
    for line in &undone.failed {
        text.push_str(&format!("not taken back: {line}\n"));
    }
    text.push_str(if undone.equal() {
        "Everything is as it was before.\n"
    } else {
        "Not everything is as before: see above. `quietcore undo --force` restores it, `undo --keep` accepts it.\n"
    });
    text
}
