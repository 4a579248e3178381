//! Making a partition anew as one intention, though it is an undo and an apply.
//!
//! The record of it comes before the first half and names the policies that taking a partition apart may cost. While it
//! is open the journal is not put away, so there is no moment in which nothing tells what was there.

use crate::record::{Event, FormerPolicy, Record};
use crate::undo::{Force, OpenResize, Undone, Which, undo_open};
use crate::{ApplyError, Inhabitants, Journal, Storage, System};
use machine::{CpuSet, Policy, TaskKey, tasks};
use std::collections::BTreeSet;

/// A partition that is being made anew, as the journal tells it.
#[derive(Clone, Debug)]
pub struct Resize {
    /// `seq` of its record.
    pub seq: u64,
    /// When it began, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Name of the partition.
    pub name: String,
    /// The CPUs that it shall get.
    pub cpus: CpuSet,
    /// Who does it.
    pub pid: u32,
    policies: Vec<(TaskKey, String, FormerPolicy)>,
}

impl Resize {
    /// The one that was begun and has not ended.
    #[must_use]
    pub fn open(records: &[Record]) -> Option<Resize> {
        let mut open = None;
        for record in records {
            match &record.event {
                Event::Resizing {
                    name,
                    cpus,
                    pid,
                    policies,
                } => {
                    open = Some(Resize {
                        seq: record.seq,
                        at_ns: record.at_ns,
                        name: name.clone(),
                        cpus: cpus.clone(),
                        pid: *pid,
                        policies: policies.clone(),
                    });
                }
                Event::Resized { of } if open.as_ref().is_some_and(|open: &Resize| open.seq == *of) => {
                    open = None;
                }
                _ => {}
            }
        }
        open
    }

    /// Gives the policies back that taking the partition apart took, and says so. A task that `move` had given its
    /// policy gets the one before that. A policy that somebody gave it since is left alone.
    pub(crate) fn give_policies(&self, system: &dyn System, records: &[Record], undone: &mut Undone) {
        let demoted: BTreeSet<TaskKey> = records
            .iter()
            .filter(|record| record.seq > self.seq)
            .filter_map(|record| match &record.event {
                Event::Demoted { key, .. } => Some(*key),
                _ => None,
            })
            .collect();
        for (key, comm, policy) in self.policies.iter().filter(|(key, ..)| demoted.contains(key)) {
            let wanted = before_move(records, *key).unwrap_or(*policy);
            let now = tasks::read_one(system.root(), key.tid).filter(|now| now.key == *key);
            if now.is_none_or(|now| now.policy != Policy::Other || FormerPolicy::of(&now) == wanted) {
                continue;
            }
            let text = format!("{:?}:{}", wanted.policy, wanted.priority).to_lowercase();
            match system.set_policy(key.tid, wanted) {
                Ok(()) => undone.notes.push(format!(
                    "task {} ({comm}) has policy {text} again, as before the resize",
                    key.tid
                )),
                Err(error) if error.errno() == Some(libc::ESRCH) => {}
                Err(error) => undone.failed.push(format!(
                    "task {} ({comm}) has lost policy {text}: {error}",
                    key.tid
                )),
            }
        }
    }
}

/// The policy of a task before `move` first gave it one.
fn before_move(records: &[Record], key: TaskKey) -> Option<FormerPolicy> {
    records.iter().find_map(|record| match &record.event {
        Event::Moving { tasks } => tasks
            .iter()
            .find(|departure| departure.state.key == key)
            .and_then(|departure| departure.policy)
            .map(|(former, _)| former),
        _ => None,
    })
}

/// Begins to make a partition anew: the record, then the undo of what stands. The caller holds the lock of the state
/// directory, applies next with [`crate::apply_resized`], brings the inhabitants back, and calls [`end`].
///
/// # Errors
/// A journal that cannot be read or written, as [`crate::undo`].
pub fn begin(
    system: &dyn System,
    storage: &dyn Storage,
    name: &str,
    wanted: &CpuSet,
    inhabitants: &Inhabitants,
) -> Result<Undone, ApplyError> {
    let Some(mut journal) = Journal::open(storage)? else {
        return Err(ApplyError::NoPartition {
            name: name.to_owned(),
            in_force: "nothing is".to_owned(),
        });
    };
    journal.append(Event::Resizing {
        name: name.to_owned(),
        cpus: wanted.clone(),
        pid: std::process::id(),
        policies: inhabitants.real_time(),
    })?;
    let which = Which::Named(name);
    undo_open(system, journal, which, Force::No, "resize", OpenResize::GoesOn)
}

/// Ends it: the partition is there, and who lived in it is back. What the journal says of the former one goes into the
/// history, or a partition that is made anew every minute would have an endless journal.
///
/// # Errors
/// A journal that cannot be read or written.
pub fn end(storage: &dyn Storage) -> Result<(), ApplyError> {
    let Some(mut journal) = Journal::open(storage)? else {
        return Ok(());
    };
    if let Some(open) = Resize::open(journal.records()) {
        journal.append(Event::Resized { of: open.seq })?;
        // Where there is no room for it, the journal stays longer than it has to be.
        let _ = journal.put_over_away();
    }
    Ok(())
}
