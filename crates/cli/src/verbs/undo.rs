//! `undo`: undoes active changes, or removes everything that quietcore left.

mod traces;

use crate::plans;
use apply::installed::{InstalledPath, RemovalResult};
use apply::{ApplyError, ChangeEntry, Force, UndoOutcome, UndoRequest, UndoTarget};
use experiment::reboots;
use machine::CpuSet;
use plan::Intent;
use plan::declared::{self, PATH};
use root::{Failure, Status};
use serde::Serialize;
use session::{ChangeLock, Session};
use terminal::Screen;

/// Arguments of `undo`.
#[derive(clap::Args)]
pub struct Args {
    /// Undo this partition, and leave the others; without it, the last one applied
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    partition: Option<String>,
    /// Undo everything, also what survives a restart: unit, script, /etc/quietcore.toml, records of boots
    #[arg(long)]
    all: bool,
    /// Undo every apply after this record of `quietcore history`
    #[arg(long, value_name = "SEQ", conflicts_with_all = ["partition", "all"])]
    to: Option<u64>,
    /// Undo what `apply --at-boot` applied
    #[arg(long, conflicts_with_all = ["partition", "all", "to"])]
    at_boot: bool,
    /// Restore also what another program changed since
    #[arg(long, conflicts_with = "keep")]
    force: bool,
    /// Leave what another program changed since as it is, and close the journal
    #[arg(long)]
    keep: bool,
}

/// JSON of `undo`.
#[derive(Serialize)]
struct UndoJson<'a> {
    schema: &'static str,
    was_in_force: bool,
    taken: &'a [String],
    still_in_force: &'a [String],
    entries: &'a [ChangeEntry],
    drift: Vec<&'a String>,
    failed: &'a [String],
    notes: &'a [String],
    removed: &'a [InstalledPath],
}

/// Runs the command.
///
/// # Errors
/// No permission, an unreadable journal, or another running quietcore.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let (force, which) = (args.force(), args.which());
    // A study that restarts the machine was started last, whatever parts of it are active in this boot.
    let ends_study =
        matches!(which, UndoTarget::Last | UndoTarget::All) && matches!(reboots::under_way(session), Ok(Some(_)));
    if ends_study {
        reboots::remove_everything(session)?;
        screen.note("the study that restarts this machine is ended; its results stay\n");
    }
    // What survives a restart is changed under the same lock.
    let changing = match args.all && traces::find_traces(session)? == traces::RemainingState::Something {
        true => Some(session.lock()?),
        false => session.lock_existing()?,
    };
    let Some(changing) = changing else {
        if let UndoTarget::Named(name) = which {
            let (name, in_force) = (name.to_owned(), "nothing is".to_owned());
            return Err(ApplyError::NoPartition { name, in_force }.into());
        }
        show(&UndoOutcome::default(), &[], &[], screen);
        if ends_study {
            reboots::note_line(session);
        }
        return Ok(Status::Done);
    };
    // A partial undo is useless, so a signal does not stop it: its waits are bounded.
    session::stop_flag();
    let mut undone = undo(session, &changing, which, force)?;
    let left = session.in_force();
    let left: Vec<String> = left.iter().map(|intent| intent.name.to_string()).collect();
    let taken = undone.undone_partitions.iter();
    undone
        .notes
        .extend(taken.filter_map(|name| still_declared(session, name, args)));
    let mut removed = RemovalResult::default();
    if args.all {
        removed = traces::remove_all(session, &changing, force)?;
        undone.drift.append(&mut removed.drift);
        undone.failed.append(&mut removed.failed);
    }
    show(&undone, &left, &removed.placed, screen);
    if ends_study {
        reboots::note_line(session);
    }
    Ok(
        match undone.equal() || (force == Force::Keep && !undone.is_open(force)) {
            true => Status::Done,
            false => Status::Conflict,
        },
    )
}

impl Args {
    fn force(&self) -> Force {
        match (self.force, self.keep) {
            (true, _) => Force::Restore,
            (_, true) => Force::Keep,
            _ => Force::No,
        }
    }

    fn which(&self) -> UndoTarget<'_> {
        match (&self.partition, self.all, self.to, self.at_boot) {
            (Some(name), ..) => UndoTarget::Named(name),
            (None, true, ..) => UndoTarget::All,
            (None, _, Some(to), _) => UndoTarget::To(to),
            (None, _, _, true) => UndoTarget::Because("boot"),
            (None, false, None, false) => UndoTarget::Last,
        }
    }
}

/// Frees the latency limits of the partitions, then undoes their changes.
fn undo(session: &Session, changing: &ChangeLock, which: UndoTarget, force: Force) -> Result<UndoOutcome, Failure> {
    // Programs in the partition also lose their latency limits on its CPUs.
    let mut drift = changing.left.clone();
    match apply::latency::free(&changing.host, changing.state(), &concerned(session, which)) {
        Ok(changed) => drift.extend(changed),
        // The partition is removed anyway.
        Err(error) => session.warn_of_leftovers(error),
    }
    let boot_id = session.boot_id();
    let state = changing.state();
    let why = "undo";
    let request = UndoRequest { which, force, why };
    let mut undone = apply::undo(&changing.host, state, boot_id.as_deref(), request)?;
    undone.drift.append(&mut drift);
    Ok(undone)
}

/// CPUs of the partitions that are undone; all of them where that is known only later.
fn concerned(session: &Session, which: UndoTarget) -> CpuSet {
    let in_force = session.in_force();
    let goes = |intent: &&Intent| match which {
        UndoTarget::Named(name) => intent.name.as_str() == name,
        UndoTarget::Last => Some(*intent) == in_force.last(),
        _ => true,
    };
    CpuSet::union(in_force.iter().filter(goes).map(|intent| &intent.cpus))
}

/// Undoing a partition does not change the file, so `apply` or the next boot recreates it.
fn still_declared(session: &Session, name: &str, args: &Args) -> Option<String> {
    if args.all || args.at_boot {
        return None;
    }
    let bytes = session.root().bytes(PATH).ok().flatten()?;
    let declared = declared::parse(&bytes).ok()?;
    let one = declared.iter().find(|one| one.name().as_str() == name)?;
    Some(format!(
        "{PATH}:{} still declares partition {name}: `quietcore apply` brings it back",
        one.line
    ))
}

fn show(undone: &UndoOutcome, left: &[String], removed: &[InstalledPath], screen: &mut Screen) {
    screen.json(&UndoJson {
        schema: "quietcore.undo/1",
        was_in_force: undone.was_in_force,
        taken: &undone.undone_partitions,
        still_in_force: left,
        entries: &undone.entries,
        drift: undone.left_alone().collect(),
        failed: &undone.failed,
        notes: &undone.notes,
        removed,
    });
    let entries = plans::entries(&undone.entries, screen);
    screen.text(&text(undone, &entries, left, removed));
}

fn text(undone: &UndoOutcome, entries: &str, left: &[String], removed: &[InstalledPath]) -> String {
    let files: String = removed
        .iter()
        .map(|one| format!("{}  {}\n", one.path, one.outcome))
        .collect();
    if !undone.was_in_force && undone.equal() {
        if !left.is_empty() {
            return format!("Nothing of that was active; still active: {}.\n", left.join(", "));
        }
        let notes: String = undone.notes.iter().map(|note| format!("{note}\n")).collect();
        let text = if notes.is_empty() {
            "Nothing is active; nothing to undo.\n".to_owned()
        } else {
            notes
        };
        return text + &files;
    }
    let mut text = format!("{entries}{files}");
    for note in &undone.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    for line in undone.left_alone() {
        text.push_str(&format!("left alone: {line}\n"));
    }
    for line in &undone.failed {
        text.push_str(&format!("not undone: {line}\n"));
    }
    if undone.equal() && !left.is_empty() {
        let (undone_names, left) = (undone.undone_partitions.join(", "), left.join(", "));
        return text + &format!("Partition {undone_names} is undone; still active: {left}.\n");
    }
    text.push_str(match (undone.equal(), undone.notes.is_empty()) {
        (true, true) => "Everything is as it was before.\n",
        (true, false) => "Everything is as it was before, except for what the notes say.\n",
        (false, _) if !undone.is_open(Force::No) => "Everything else is as it was before.\n",
        (false, _) => {
            "Not everything is as before: see above. `quietcore undo --force` restores it, `undo --keep` accepts it.\n"
        }
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_line_agrees_with_the_details() {
        let undone = |notes: &[&str], tasks: &[&str], failed: &[&str]| UndoOutcome {
            was_in_force: true,
            notes: notes.iter().map(ToString::to_string).collect(),
            tasks: tasks.iter().map(ToString::to_string).collect(),
            failed: failed.iter().map(ToString::to_string).collect(),
            ..UndoOutcome::default()
        };
        for (undone, end) in [
            (undone(&[], &[], &[]), "Everything is as it was before.\n"),
            (
                undone(&["a worker is wider"], &[], &[]),
                "except for what the notes say.\n",
            ),
            (
                undone(&[], &["a task is elsewhere"], &[]),
                "Everything else is as it was before.\n",
            ),
            (
                undone(&[], &["a task is elsewhere"], &["a file stays"]),
                "`undo --keep` accepts it.\n",
            ),
            (
                undone(&["a worker is wider"], &[], &["a file stays"]),
                "`undo --keep` accepts it.\n",
            ),
        ] {
            let said = text(&undone, "", &[], &[]);
            assert!(said.ends_with(end), "{said}");
        }
    }
}
