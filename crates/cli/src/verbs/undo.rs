//! `undo`: undoes active changes, or removes everything that quietcore left.

mod traces;

use crate::plans;
use apply::installed::{InstalledPath, RemovalResult};
use apply::{ApplyError, ChangeEntry, Force, LEASE_REASON, UndoOutcome, UndoRequest, UndoTarget};
use experiment::reboots;
use machine::CpuSet;
use plan::Intent;
use plan::declared::{self, PATH};
use report::{UndoRemainder, undo_text, undo_verdict};
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
    let undone = apply::undo(&*changing.host, state, boot_id.as_deref(), request);
    let has_just_ended = |name: &str| {
        changing
            .ended_leases
            .iter()
            .any(|end| end.lease.partition == name && !end.is_open)
    };
    let mut undone = match (undone, which) {
        // Its owner has ended, so taking the lock undid it.
        (Err(ApplyError::NoPartition { .. }), UndoTarget::Named(name)) if has_just_ended(name) => UndoOutcome {
            was_in_force: true,
            undone_partitions: vec![name.to_owned()],
            ..UndoOutcome::default()
        },
        (undone, _) => undone?,
    };
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
        &undo_verdict(undone, force, remaining),
        &undo_text(undone, &entries, force, remaining),
    );
}
