//! Restores real-time policies after a resize that was interrupted.

use super::UndoOutcome;
use crate::System;
use crate::record::{FormerPolicy, JournalEvent, JournalRecord};
use crate::resize_record::Resize;
use machine::{Policy, TaskKey, tasks};
use std::collections::BTreeSet;

/// Restores and reports the policies that taking the partition apart changed. A task whose policy `move` set gets the
/// one before that. A policy that another program set since is left alone.
pub(super) fn restore_policies(
    open: &Resize,
    system: &dyn System,
    records: &[JournalRecord],
    undone: &mut UndoOutcome,
) {
    let demoted: BTreeSet<TaskKey> = records
        .iter()
        .filter(|record| record.seq > open.seq)
        .filter_map(|record| match &record.event {
            JournalEvent::Demoted { key, .. } => Some(*key),
            _ => None,
        })
        .collect();
    for (key, comm, policy) in open.policies.iter().filter(|(key, ..)| demoted.contains(key)) {
        let former = before_move(records, *key).unwrap_or(*policy);
        let now = tasks::read_one(system.root(), key.tid).filter(|now| now.key == *key);
        if now.is_none_or(|now| now.policy != Policy::Other || FormerPolicy::of(&now) == former) {
            continue;
        }
        let text = format!("{:?}:{}", former.policy, former.priority).to_lowercase();
        match system.set_policy(key.tid, former) {
            Ok(()) => undone.notes.push(format!(
                "task {} ({comm}) has policy {text} again, as before the resize",
                key.tid
            )),
            Err(error) if error.errno() == Some(libc::ESRCH) => {}
            Err(error) => undone
                .failed
                .push(format!("task {} ({comm}) lost policy {text}: {error}", key.tid)),
        }
    }
}

/// The policy of a task before `move` first gave it one.
fn before_move(records: &[JournalRecord], key: TaskKey) -> Option<FormerPolicy> {
    records.iter().find_map(|record| match &record.event {
        JournalEvent::Moving { tasks } => tasks
            .iter()
            .find(|departure| departure.state.key == key)
            .and_then(|departure| departure.policy)
            .map(|(former, _)| former),
        _ => None,
    })
}
