//! Undoes what the journal records, in reverse order. What another program changed since is reported and left alone.

mod by_hand;
mod change;
mod cpu_list;
mod cycle;
mod layer;
mod offline;
mod owner;
mod policies;
mod sets;
mod shared;
mod sharing;
mod slice;
mod step;
mod unban;
mod verify;
mod waiting;
mod workers;

use crate::entry::ChangeEntry;
use crate::journal::{Journal, JournalState, Storage};
use crate::layers::LayerState;
use crate::record::JournalEvent;
use crate::resize_record::Resize;
use crate::{ApplyError, System};
use layer::undo_layer;
pub(crate) use sharing::shared_now;
use std::collections::BTreeSet;
pub(crate) use unban::irq_of;

/// How to handle things that another program changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Report them, leave them alone, and keep the journal.
    No,
    /// Restore their former state too.
    Restore,
    /// Leave them alone permanently, and close the journal.
    Keep,
}

/// Which apply is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoTarget<'a> {
    /// The last one that is no lease: a lease belongs to its owner.
    Last,
    /// All of them.
    All,
    /// The one of this partition.
    Named(&'a str),
    /// All that were applied for this reason.
    Because(&'a str),
    /// The one that this guard watches.
    Guarded(&'a str),
    /// Every one that started after this record.
    To(u64),
}

/// What to undo, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoRequest<'a> {
    /// Which apply.
    pub which: UndoTarget<'a>,
    /// What to do with things that another program changed since.
    pub force: Force,
    /// The reason, for the journal.
    pub why: &'a str,
}

/// What happens to a resize that has started and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenResize {
    /// It was interrupted: restore the state before the partition, including policies.
    Finish,
    /// This undo is a step of it.
    Continues,
}

/// What an undo did.
#[derive(Debug, Default)]
pub struct UndoOutcome {
    /// Whether there was anything to undo.
    pub was_in_force: bool,
    /// Names of the undone partitions, in the order of the undo.
    pub undone_partitions: Vec<String>,
    /// Every step, in the order of the undo.
    pub entries: Vec<ChangeEntry>,
    /// Files that another program has changed since, and that were left alone.
    pub drift: Vec<String>,
    /// Tasks whose affinity another program has set since, and that were left alone. They do not keep the journal open:
    /// any user can have such a task.
    pub tasks: Vec<String>,
    /// What could not be undone, with the reason.
    pub failed: Vec<String>,
    /// Other information for the user: demoted tasks, an undo that could not be recorded.
    pub notes: Vec<String>,
    /// Interrupts that a running irqbalance has placed since and will place again, so that restoring them is pointless.
    pub placed: BTreeSet<String>,
    /// That irqbalance; the outer `None` until it was searched for.
    pub placer: Option<Option<ActiveIrqbalance>>,
}

/// An irqbalance that places interrupts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveIrqbalance {
    /// Its process.
    pub pid: u32,
    /// Interrupts that it never places.
    pub left_alone: BTreeSet<u32>,
}

impl UndoOutcome {
    /// Whether the former state is fully restored.
    #[must_use]
    pub fn equal(&self) -> bool {
        self.drift.is_empty() && self.failed.is_empty() && self.tasks.is_empty()
    }

    /// Whether the journal stays: something could not be restored, or another program changed a file and it is
    /// undecided whose value stays.
    #[must_use]
    pub fn is_open(&self, force: Force) -> bool {
        !self.failed.is_empty() || (!self.drift.is_empty() && force != Force::Keep)
    }

    /// What other programs have changed since and was left alone.
    pub fn left_alone(&self) -> impl Iterator<Item = &String> {
        self.drift.iter().chain(&self.tasks)
    }

    /// What differs from the former state.
    #[must_use]
    pub fn remains(&self) -> Vec<String> {
        self.left_alone().chain(&self.failed).cloned().collect()
    }
}

/// Undoes what is active. An interrupted undo is finished first. The caller holds the lock of the state directory.
///
/// # Errors
/// A journal that cannot be read, [`ApplyError::NoPartition`], [`ApplyError::Within`]. Everything else is in the result.
pub fn undo(
    system: &dyn System,
    storage: &dyn Storage,
    boot_id: Option<&str>,
    request: UndoRequest,
) -> Result<UndoOutcome, ApplyError> {
    Journal::sweep(storage)?;
    let Some(journal) = Journal::open(storage)? else {
        return match request.which {
            UndoTarget::Named(name) => Err(no_partition(name, &[])),
            _ => Ok(UndoOutcome::default()),
        };
    };
    let state = journal.state(boot_id);
    if state == JournalState::Void {
        journal.retire()?;
        let notes = vec!["the active partitions belonged to an earlier boot and ended with it".to_owned()];
        return Ok(UndoOutcome {
            notes,
            ..UndoOutcome::default()
        });
    }
    if state == JournalState::Ended {
        journal.retire()?;
        return Ok(UndoOutcome {
            was_in_force: true,
            ..UndoOutcome::default()
        });
    }
    undo_open(system, journal, request, OpenResize::Finish)
}

/// Undoes what an open journal records.
pub(crate) fn undo_open(
    system: &dyn System,
    mut journal: Journal,
    request: UndoRequest,
    resize: OpenResize,
) -> Result<UndoOutcome, ApplyError> {
    let which = request.which;
    let mut undone = UndoOutcome::default();
    let mut keeps = Resize::open(journal.records()).is_some();
    if keeps && resize == OpenResize::Finish {
        let Some(open) = finish_resize(system, &mut journal, request, &mut undone)? else {
            return Ok(undone);
        };
        keeps = false;
        let is_all = match which {
            UndoTarget::Last => true,
            UndoTarget::Named(name) => name == open.name,
            _ => false,
        };
        if !journal.layers().iter().any(|layer| layer.is_live()) {
            journal.retire()?;
            return Ok(undone);
        }
        if is_all {
            return Ok(undone);
        }
    }
    while let Some(next) = next_layer(&journal, which, &undone)? {
        undone.was_in_force = true;
        undone.undone_partitions.push(next.name);
        undo_layer(system, &mut journal, next.seq, request, &mut undone)?;
        if undone.is_open(request.force) {
            return Ok(undone);
        }
        let layer = Some(next.seq);
        record_step(&mut journal, &mut undone, JournalEvent::Undone { layer });
        if !journal.layers().iter().any(|layer| layer.is_live()) {
            // During a resize, only the journal has the former state.
            if !keeps {
                journal.retire()?;
            }
            break;
        }
        if !next.is_leftover && !matches!(which, UndoTarget::All | UndoTarget::Because(_) | UndoTarget::To(_)) {
            break;
        }
        // The interrupted one was the last one.
        if next.is_leftover && which == UndoTarget::Last {
            break;
        }
    }
    Ok(undone)
}

/// Undoes whichever half of an interrupted resize exists, and restores the policies that both halves changed. `None` if
/// something is left to decide.
fn finish_resize(
    system: &dyn System,
    journal: &mut Journal,
    request: UndoRequest,
    undone: &mut UndoOutcome,
) -> Result<Option<Resize>, ApplyError> {
    let Some(open) = Resize::open(journal.records()) else {
        return Ok(None);
    };
    undone.was_in_force = true;
    undone.undone_partitions.push(open.name.clone());
    undone.notes.push(format!(
        "recreating partition {} with CPU {} was interrupted; this is the state before the partition",
        open.name, open.cpus
    ));
    let half = journal
        .layers()
        .iter()
        .rfind(|layer| layer.is_live() && layer.intent.name.as_str() == open.name)
        .map(|layer| layer.seq);
    if let Some(seq) = half {
        undo_layer(system, journal, seq, request, undone)?;
        if undone.is_open(request.force) {
            return Ok(None);
        }
        record_step(journal, undone, JournalEvent::Undone { layer: Some(seq) });
    }
    policies::restore_policies(&open, system, journal.records(), undone);
    record_step(journal, undone, JournalEvent::Resized { of: open.seq });
    Ok(Some(open))
}

struct NextLayer {
    seq: u64,
    name: String,
    /// Whether an interrupted process started it.
    is_leftover: bool,
}

fn next_layer(journal: &Journal, which: UndoTarget, undone: &UndoOutcome) -> Result<Option<NextLayer>, ApplyError> {
    let layers = journal.layers();
    let live = || layers.iter().rev().filter(|layer| layer.is_live());
    let leftover = live().find(|layer| layer.state != LayerState::InForce);
    let selected = match which {
        UndoTarget::Last => live().find(|layer| !layer.is_lease()),
        UndoTarget::All => live().next(),
        UndoTarget::Named(name) => live().find(|layer| layer.intent.name.as_str() == name),
        UndoTarget::Because(reason) => live().find(|layer| layer.reason == reason),
        UndoTarget::Guarded(token) => live().find(|layer| layer.guard == Some(token)),
        UndoTarget::To(to) => {
            // A plan is undone as a whole: half of one is never requested.
            if let Some(layer) = live().find(|layer| layer.seq <= to && to < layer.end) {
                return Err(ApplyError::Within {
                    to,
                    name: layer.intent.name.to_string(),
                    before: layer.seq.saturating_sub(1),
                    end: layer.end,
                });
            }
            live().find(|layer| layer.seq > to)
        }
    };
    let next = |layer: &crate::layers::ApplyLayer, is_leftover| NextLayer {
        seq: layer.seq,
        name: layer.intent.name.to_string(),
        is_leftover,
    };
    match (leftover, selected, which) {
        (Some(leftover), Some(selected), _) if leftover.seq == selected.seq => Ok(Some(next(selected, false))),
        (Some(leftover), _, _) => Ok(Some(next(leftover, true))),
        (None, Some(selected), _) => Ok(Some(next(selected, false))),
        (None, None, UndoTarget::Named(name)) if !undone.undone_partitions.iter().any(|taken| taken == name) => {
            let names: Vec<&str> = live().map(|layer| layer.intent.name.as_str()).collect();
            Err(no_partition(name, &names))
        }
        (None, None, _) => Ok(None),
    }
}

/// The error for an unknown partition name, with the names that exist.
pub(crate) fn no_partition(name: &str, in_force: &[&str]) -> ApplyError {
    ApplyError::NoPartition {
        name: name.to_owned(),
        in_force: in_force.iter().map(ToString::to_string).collect(),
    }
}

/// Records a step of the undo. A full disk must not stop the undo, so a failure to record becomes a note.
fn record_step(journal: &mut Journal, undone: &mut UndoOutcome, event: JournalEvent) {
    if let Err(error) = journal.append(event) {
        let note = format!("the undo could not be recorded: {error}");
        if !undone.notes.contains(&note) {
            undone.notes.push(note);
        }
    }
}
