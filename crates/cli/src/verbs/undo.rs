//! `undo`: take back what is in force.

use crate::changing::{self, Changing};
use crate::{CommandError, Screen, Status};
use apply::{ApplyError, Force, Undone, Which};
use serde::Serialize;

/// Arguments of `undo`.
#[derive(clap::Args)]
pub struct Args {
    /// Take back this partition, and leave the others; without it, the last one applied
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    partition: Option<String>,
    /// Take back everything
    #[arg(long)]
    all: bool,
    /// Take back every apply after this record of `quietcore history`
    #[arg(long, value_name = "SEQ", conflicts_with_all = ["partition", "all"])]
    to: Option<u64>,
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
    taken: &'a [String],
    still_in_force: &'a [String],
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
    let which = match (&args.partition, args.all, args.to) {
        (Some(name), ..) => Which::Named(name),
        (None, true, _) => Which::All,
        (None, false, Some(to)) => Which::To(to),
        (None, false, None) => Which::Last,
    };
    let Some(changing) = Changing::existing()? else {
        if let Which::Named(name) = which {
            let (name, in_force) = (name.to_owned(), "nothing is".to_owned());
            return Err(ApplyError::NoPartition { name, in_force }.into());
        }
        show(&Undone::default(), &[], screen);
        return Ok(Status::Done);
    };
    let boot_id = changing.boot_id();
    let undone = apply::undo(&changing.host, &changing.state, boot_id.as_deref(), which, force, "undo")?;
    let left: Vec<String> = changing::in_force().iter().map(|intent| intent.name.to_string()).collect();
    show(&undone, &left, screen);
    Ok(match (undone.failed.is_empty(), undone.drift.is_empty(), force) {
        (true, true, _) | (true, false, Force::Keep) => Status::Done,
        _ => Status::Conflict,
    })
}

fn show(undone: &Undone, left: &[String], screen: &mut Screen) {
    screen.json(&Report {
        schema: "quietcore.undo/1",
        was_in_force: undone.was_in_force,
        taken: &undone.taken,
        still_in_force: left,
        entries: undone.entries.iter().map(changing::EntryJson::from).collect(),
        drift: &undone.drift,
        failed: &undone.failed,
        notes: &undone.notes,
    });
    screen.text(&text(undone, left));
}

fn text(undone: &Undone, left: &[String]) -> String {
    if !undone.was_in_force {
        if !left.is_empty() {
            return format!("Nothing began after that record; still in force: {}.\n", left.join(", "));
        }
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
    if undone.equal() && !left.is_empty() {
        let (gone, left) = (undone.taken.join(", "), left.join(", "));
        return text + &format!("Partition {gone} is taken back; still in force: {left}.\n");
    }
    text.push_str(if undone.equal() {
        "Everything is as it was before.\n"
    } else {
        "Not everything is as before: see above. `quietcore undo --force` restores it, `undo --keep` accepts it.\n"
    });
    text
}
