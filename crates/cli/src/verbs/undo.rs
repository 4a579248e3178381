//! `undo`: undoes active changes, or removes everything that quietcore left.

mod traces;

use crate::plans;
use apply::installed::{InstalledPath, RemovalResult};
use apply::{ApplyError, ChangeEntry, Force, LEASE_REASON, UndoOutcome, UndoRequest, UndoTarget};
use experiment::reboots;
use machine::CpuSet;
use plan::Intent;
use plan::declared::{self, PATH};
use root::{Failure, Status};
use serde::Serialize;
use session::{ChangeLock, Session};
use terminal::{Screen, StepLine};

/// Arguments of `undo`.
#[derive(clap::Args)]
pub struct Args {
    /// Undo only this partition [default: the last one applied that is no lease]
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    partition: Option<String>,
    /// Undo everything, also what survives a restart
    ///
    /// Those are units, scripts, words of the boot line, records of boots, and declarations: a hand-written
    /// /etc/quietcore.toml is kept as /etc/quietcore.toml.bak.
    #[arg(long)]
    all: bool,
    /// Undo everything that was applied after this record of `quietcore history`
    #[arg(long, value_name = "SEQ", conflicts_with_all = ["partition", "all"])]
    to: Option<u64>,
    /// Undo what `apply --at-boot` applied
    #[arg(long, conflicts_with_all = ["partition", "all", "to"])]
    at_boot: bool,
    /// Also restore what another program changed since
    #[arg(long, conflicts_with = "skip_changed")]
    force: bool,
    /// Leave what another program changed since, and close the journal
    #[arg(long, alias = "keep")]
    skip_changed: bool,
}

/// JSON of `undo`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct UndoJson<'a> {
    schema: &'static str,
    /// Whether there was something to undo.
    was_in_force: bool,
    /// Names of the partitions that were undone.
    taken: &'a [String],
    /// Names of the partitions that are still active.
    still_in_force: &'a [String],
    /// The changes undone, in order.
    entries: &'a [ChangeEntry],
    /// What another program changed since, and was left alone.
    drift: Vec<&'a String>,
    /// What could not be undone, with the reason.
    failed: &'a [String],
    /// What the user should know.
    notes: &'a [String],
    /// Installed files that were removed.
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
        screen.note("the study that restarts this machine was ended; its results are kept\n");
    }
    // What survives a restart is changed under the same lock.
    let changing = match args.all && traces::find_traces(session)? == traces::RemainingState::Something {
        true => Some(session.lock()?),
        false => session.lock_existing()?,
    };
    let Some(changing) = changing else {
        if let UndoTarget::Named(name) = which {
            let (name, in_force) = (name.to_owned(), Vec::new());
            return Err(ApplyError::NoPartition { name, in_force }.into());
        }
        show(&UndoOutcome::default(), force, &UndoRemainder::default(), screen);
        if ends_study {
            reboots::note_line(session);
        }
        return Ok(Status::Done);
    };
    // A partial undo is useless, so a signal does not stop it: its waits are bounded.
    session::stop_flag();
    let step = StepLine::start("undoing", screen);
    let mut undone = undo(session, &changing, which, force)?;
    drop(step);
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
    let remaining = UndoRemainder {
        active: left,
        removed: removed.placed,
    };
    show(&undone, force, &remaining, screen);
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
        match (self.force, self.skip_changed) {
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
    match apply::latency::free(&*changing.host, changing.state(), &concerned(session, which)) {
        Ok(changed) => drift.extend(changed),
        // The partition is removed anyway.
        Err(error) => session.warn_of_leftovers(error),
    }
    let boot_id = session.boot_id();
    let state = changing.state();
    let why = "undo";
    let request = UndoRequest { which, force, why };
    let mut undone = apply::undo(&*changing.host, state, boot_id.as_deref(), request)?;
    undone.drift.append(&mut drift);
    Ok(undone)
}

/// CPUs of the partitions that are undone; all of them where that is known only later.
fn concerned(session: &Session, which: UndoTarget) -> CpuSet {
    let in_force = session.in_force_because();
    let last = in_force.iter().rfind(|(_, reason)| reason != LEASE_REASON);
    let goes = |one: &&(Intent, String)| match which {
        UndoTarget::Named(name) => one.0.name.as_str() == name,
        UndoTarget::Last => Some(*one) == last,
        _ => true,
    };
    CpuSet::union(in_force.iter().filter(goes).map(|(intent, _)| &intent.cpus))
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
        "{PATH}:{} still declares partition {name}: `quietcore apply` applies it again",
        one.line
    ))
}

/// What an undo leaves active, and the files that it removed.
#[derive(Default)]
struct UndoRemainder {
    active: Vec<String>,
    removed: Vec<InstalledPath>,
}

fn show(undone: &UndoOutcome, force: Force, remaining: &UndoRemainder, screen: &mut Screen) {
    screen.json(&UndoJson {
        schema: "quietcore.undo/1",
        was_in_force: undone.was_in_force,
        taken: &undone.undone_partitions,
        still_in_force: &remaining.active,
        entries: &undone.entries,
        drift: undone.left_alone().collect(),
        failed: &undone.failed,
        notes: &undone.notes,
        removed: &remaining.removed,
    });
    let entries = plans::entries(&undone.entries, screen);
    screen.report(
        &verdict(undone, force, remaining),
        &text(undone, &entries, force, remaining),
    );
}

fn text(undone: &UndoOutcome, entries: &str, force: Force, remaining: &UndoRemainder) -> String {
    let files: String = remaining
        .removed
        .iter()
        .map(|one| format!("{}  {}\n", one.path, one.outcome))
        .collect();
    let verdict = verdict(undone, force, remaining);
    if !undone.was_in_force && undone.equal() && !remaining.active.is_empty() {
        return verdict;
    }
    let mut attention = String::new();
    for note in &undone.notes {
        attention.push_str(&format!("note: {note}\n"));
    }
    let label = match is_kept(undone, force) {
        true => "kept",
        false => "left alone",
    };
    for line in undone.left_alone() {
        attention.push_str(&format!("{label}: {line}\n"));
    }
    for line in &undone.failed {
        attention.push_str(&format!("not undone: {line}\n"));
    }
    let sections = [verdict, attention, format!("{entries}{files}")];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    sections.join("\n")
}

/// Whether the user wants to keep all that other programs changed, and nothing else remains.
fn is_kept(undone: &UndoOutcome, force: Force) -> bool {
    force == Force::Keep && !undone.is_open(force)
}

/// What is active now, as one line.
fn verdict(undone: &UndoOutcome, force: Force, remaining: &UndoRemainder) -> String {
    let left = remaining.active.join(", ");
    if !undone.was_in_force && undone.equal() {
        return match (left.is_empty(), remaining.removed.is_empty()) {
            (true, true) => "Nothing is active; nothing to undo.\n".to_owned(),
            (true, false) => "Nothing was active; files that quietcore left were removed or restored.\n".to_owned(),
            (false, _) => format!("Nothing of that was active; still active: {left}.\n"),
        };
    }
    if undone.equal() && !left.is_empty() {
        let names = undone.undone_partitions.join(", ");
        return format!("Partition {names} is undone; still active: {left}.\n");
    }
    let line = match (undone.equal(), undone.notes.len()) {
        (true, 0) => "Everything is as it was before.\n",
        (true, 1) => "Everything is as it was before, except for one note.\n",
        (true, notes) => return format!("Everything is as it was before, except for {notes} notes.\n"),
        (false, _) if is_kept(undone, force) => {
            "What other programs changed is kept. Everything else is as it was before.\n"
        }
        (false, _) if !undone.is_open(Force::No) => "Everything else is as it was before.\n",
        (false, _) => {
            "Not everything is as before. `quietcore undo --force` restores it, `undo --skip-changed` leaves it.\n"
        }
    };
    match left.as_str() {
        "" => line.to_owned(),
        left => format!("{} Still active: {left}.\n", line.trim_end()),
    }
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
            (undone(&["a worker is wider"], &[], &[]), "except for one note.\n"),
            (
                undone(&[], &["a task is elsewhere"], &[]),
                "Everything else is as it was before.\n",
            ),
            (
                undone(&[], &["a task is elsewhere"], &["a file stays"]),
                "`undo --skip-changed` leaves it.\n",
            ),
            (
                undone(&["a worker is wider"], &[], &["a file stays"]),
                "`undo --skip-changed` leaves it.\n",
            ),
        ] {
            let message = text(&undone, "", Force::No, &UndoRemainder::default());
            assert!(message.lines().next().unwrap().ends_with(end.trim_end()), "{message}");
            let quiet = verdict(&undone, Force::No, &UndoRemainder::default());
            assert!(message.starts_with(&quiet) && quiet.lines().count() == 1, "{quiet}");
        }
    }

    #[test]
    fn removed_files_are_something_that_was_undone() {
        let removed = apply::installed::InstalledPath {
            path: "/etc/quietcore.toml.bak".to_owned(),
            outcome: "kept",
        };
        let mut remainder = UndoRemainder::default();
        let line = |remainder: &UndoRemainder| verdict(&UndoOutcome::default(), Force::No, remainder);
        assert_eq!(line(&remainder), "Nothing is active; nothing to undo.\n");
        remainder.removed.push(removed);
        assert_eq!(
            line(&remainder),
            "Nothing was active; files that quietcore left were removed or restored.\n"
        );
        remainder.active.push("net".to_owned());
        assert_eq!(line(&remainder), "Nothing of that was active; still active: net.\n");
        let drifted = UndoOutcome {
            was_in_force: true,
            tasks: vec!["a task is elsewhere".to_owned()],
            ..UndoOutcome::default()
        };
        assert_eq!(
            verdict(&drifted, Force::No, &remainder),
            "Everything else is as it was before. Still active: net.\n"
        );
    }

    #[test]
    fn what_is_kept_is_named_and_nothing_more_is_asked() {
        let undone = UndoOutcome {
            was_in_force: true,
            drift: vec!["/proc/irq/24/smp_affinity_list: `1` now".to_owned()],
            ..UndoOutcome::default()
        };
        let message = text(&undone, "", Force::Keep, &UndoRemainder::default());
        assert!(message.contains("\n\nkept: /proc/irq/24"), "{message}");
        assert!(
            message.contains("is kept") && !message.contains("Not everything"),
            "{message}"
        );
        let message = text(&undone, "", Force::No, &UndoRemainder::default());
        assert!(
            message.contains("left alone: /proc") && message.contains("`undo --skip-changed` leaves it"),
            "{message}"
        );
    }
}
