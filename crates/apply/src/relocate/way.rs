//! Prepares a threaded partition on cgroup v2 for single threads.
//!
//! The partition becomes threaded, and the process of each single thread waits in its domain ([`crate::threads`]).

use super::batch;
use crate::parcel::{MoveContext, MovePurpose, MoveUnit, PlannedMove, ThreadMove};
use crate::threads::{dir_of, domain_of, is_populated, is_threaded, threads_of};
use crate::{ApplyError, Journal, JournalEvent};
use machine::Version;
use std::collections::{BTreeMap, BTreeSet};

/// Prepares the targets of the single threads among these parcels: empty partitions become threaded, and processes in
/// another domain move to the domain of the partition and wait there.
///
/// # Errors
/// A journal that cannot be written. Kernel refusals show when the threads are moved.
pub(super) fn make_way(
    context: &MoveContext,
    journal: &mut Journal,
    parcels: &[PlannedMove],
) -> Result<(), ApplyError> {
    let root = context.system.root();
    let mount = &context.hierarchy.mount;
    let mut waiting: BTreeMap<u32, String> = BTreeMap::new();
    for parcel in parcels.iter().filter(|parcel| parcel.unit == MoveUnit::Thread) {
        let Some(task) = machine::tasks::read_one(root, parcel.tid) else {
            continue;
        };
        let Some(cgroup) = machine::tasks::cgroup_of(root, parcel.tid, Version::V2) else {
            continue;
        };
        let theirs = domain_of(root, mount, &cgroup);
        let to = parcel.to.strip_prefix(mount.as_str()).unwrap_or(&parcel.to);
        // A target in the same domain accepts the thread: its process's own cgroup, or a threaded one there.
        if theirs == domain_of(root, mount, to) {
            continue;
        }
        if !is_threaded(root, &parcel.to) && !make_threaded(context, journal, &parcel.to)? {
            continue;
        }
        let destination = domain_of(root, mount, to);
        if theirs != destination {
            waiting.insert(task.pid, destination);
        }
    }
    for (pid, domain) in waiting {
        wait_in(context, journal, pid, &dir_of(mount, &domain))?;
    }
    Ok(())
}

/// Makes the cgroup threaded; returns whether it accepts single threads now. This cannot be undone, and ends with the cgroup.
fn make_threaded(context: &MoveContext, journal: &mut Journal, dir: &str) -> Result<bool, ApplyError> {
    if is_populated(context.system.root(), dir) {
        return Ok(false);
    }
    let path = format!("{dir}/cgroup.type");
    journal.append(JournalEvent::Threading { path: path.clone() })?;
    match context.system.write(&path, "threaded") {
        Ok(()) => Ok(is_threaded(context.system.root(), dir)),
        Err(error) if error.errno().is_some() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Moves a process with all its threads to where it waits. New threads move with it. They are handled too, because
/// before 6.2 the kernel gives them the CPUs of all partitions there.
fn wait_in(context: &MoveContext, journal: &mut Journal, pid: u32, dir: &str) -> Result<(), ApplyError> {
    let mut seen = BTreeSet::new();
    loop {
        let threads = threads_of(context.system.root(), pid);
        let tasks: Vec<ThreadMove> = threads
            .into_iter()
            .filter(|tid| seen.insert(*tid))
            .map(|tid| ThreadMove {
                tid,
                pin: None,
                policy: None,
            })
            .collect();
        if tasks.is_empty() {
            return Ok(());
        }
        let parcel = PlannedMove {
            tid: pid,
            unit: MoveUnit::Process,
            to: dir.to_owned(),
            tasks,
            later: Vec::new(),
            stay: MovePurpose::Waits,
        };
        batch(context, journal, &[parcel])?;
    }
}
