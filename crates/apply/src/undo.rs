//! Taking back what the journal says, backwards; what somebody else changed since is named and left alone.

mod sets;
mod step;

use crate::entry::Entry;
use crate::home::Map;
use crate::journal::{Journal, JournalState, Storage};
use crate::masks::Wishes;
use crate::record::{Drifted, Event};
use crate::{ApplyError, System, fingerprint};
use machine::{Machine, Version};
use plan::Change;
use std::collections::BTreeMap;
use step::{Step, take_back};

/// What to do about things that somebody else changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Name them, leave them alone, and keep the journal.
    No,
    /// Give them the former state too.
    Restore,
    /// Leave them alone for good, and close the journal.
    Keep,
}

/// What an undo did.
#[derive(Debug, Default)]
pub struct Undone {
    /// Whether there was anything to take back.
    pub was_in_force: bool,
    /// Every step, in the order in which it was taken back.
    pub entries: Vec<Entry>,
    /// What somebody else changed since, and was left alone.
    pub drift: Vec<String>,
    /// What could not be taken back, with the reason.
    pub failed: Vec<String>,
    /// What is worth knowing: demoted tasks, an undo that could not be recorded.
    pub notes: Vec<String>,
}

impl Undone {
    /// Whether the former state is back entirely.
    #[must_use]
    pub fn equal(&self) -> bool {
        self.drift.is_empty() && self.failed.is_empty()
    }

    /// What is not as before.
    #[must_use]
    pub fn remains(&self) -> Vec<String> {
        self.drift.iter().chain(&self.failed).cloned().collect()
    }
}

/// Takes back what is in force. The caller holds the lock of the state directory.
///
/// # Errors
/// A journal that cannot be read; everything else is in the result.
pub fn undo(
    system: &dyn System,
    storage: &dyn Storage,
    boot_id: Option<&str>,
    force: Force,
    why: &str,
) -> Result<Undone, ApplyError> {
    Journal::sweep(storage)?;
    let Some(journal) = Journal::open(storage)? else {
        return Ok(Undone::default());
    };
    if journal.state(boot_id) == JournalState::Void {
        journal.retire()?;
        let notes = vec!["what was in force belonged to an earlier boot and went with it".to_owned()];
        return Ok(Undone {
            notes,
            ..Undone::default()
        });
    }
    undo_open(system, journal, force, why)
}

/// Takes back what an open journal says.
pub(crate) fn undo_open(
    system: &dyn System,
    mut journal: Journal,
    force: Force,
    why: &str,
) -> Result<Undone, ApplyError> {
    let mut undone = Undone {
        was_in_force: true,
        ..Undone::default()
    };
    let records = journal.records().to_vec();
    let Some(Event::Begin { changes, files, .. }) = records.first().map(|record| &record.event) else {
        return Err(ApplyError::Journal {
            record: 1,
            why: "it does not begin with a `begin` record".to_owned(),
        });
    };
    let by_id: BTreeMap<&str, &Change> = changes
        .iter()
        .map(|change| (change.id.as_str(), change))
        .collect();
    let machine = Machine::read(system.root());
    let (mount, version) = machine
        .cgroups
        .cpuset
        .as_ref()
        .map_or((String::new(), Version::V2), |hierarchy| {
            (hierarchy.mount.clone(), hierarchy.version)
        });
    let sets = sets::ours(system, &records, &by_id);

    let (newcomers, set_masks) = sets::newcomers(system, &sets, version)?;
    let mut wishes = Wishes::of(system, &records, &newcomers, &set_masks);
    let (masks, drifted) = (wishes.masks(), wishes.drifted.clone());
    say(
        &mut journal,
        &mut undone,
        Event::UndoBegin {
            why: why.to_owned(),
            masks,
            drifted,
        },
    );
    sets::demote_spinners(system, &mut journal, &sets, version, &mut undone)?;
    if force == Force::Restore {
        wishes.insist();
    } else {
        undone.drift.extend(wishes.drifted.iter().map(|task| {
            let Drifted {
                key,
                comm,
                now,
                before,
            } = task;
            format!(
                "task {} ({comm}): somebody set its mask to {now} since; before it was {before}",
                key.tid
            )
        }));
    }

    let map = Map {
        system,
        mount: &mount,
        version,
        sets: &sets,
        wishes: &wishes,
    };
    for record in records.iter().rev() {
        let Event::Will { change, before } = &record.event else {
            continue;
        };
        let Some(planned) = by_id.get(change.as_str()) else {
            continue;
        };
        let step = Step {
            record,
            records: &records,
            change: planned,
            before,
            force,
        };
        let Some(entry) = take_back(&map, &step, &mut undone)? else {
            continue;
        };
        say(
            &mut journal,
            &mut undone,
            Event::Undid {
                change: entry.change.clone(),
                outcome: entry.outcome.clone(),
            },
        );
        undone.entries.push(entry);
    }
    undone.failed.extend(wishes.fulfil(system));
    verify(system, files, &mut undone);

    if undone.failed.is_empty() && (undone.drift.is_empty() || force == Force::Keep) {
        say(&mut journal, &mut undone, Event::Undone);
        journal.retire()?;
    }
    Ok(undone)
}

/// Undo is itself recorded, but a full disk must not stop it: that is said instead.
fn say(journal: &mut Journal, undone: &mut Undone, event: Event) {
    if let Err(error) = journal.append(event) {
        let note = format!("the undo could not be recorded: {error}");
        if !undone.notes.contains(&note) {
            undone.notes.push(note);
        }
    }
}

/// Holds every file of the state before against now; what drift explains was said already.
fn verify(system: &dyn System, files: &BTreeMap<String, String>, undone: &mut Undone) {
    let machine = Machine::read(system.root());
    let now = fingerprint::files(system.root(), &machine);
    for difference in fingerprint::file_differences(files, &now) {
        let path = difference.split(':').next().unwrap_or_default();
        if !undone
            .drift
            .iter()
            .chain(&undone.failed)
            .any(|line| line.starts_with(path))
        {
            undone.failed.push(difference);
        }
    }
}
