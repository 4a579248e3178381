//! Moving every movable task of a set into another, until no new one appears: threads on v1, processes on v2.
//!
//! A task that forks while it is moved leaves children behind in the old set; so passes are repeated until one
//! finds nothing new. `kthreadd` goes first, because later kernel threads are born where it is.

use super::{Stage, Step, refusal};
use crate::ApplyError;
use crate::census;
use crate::record::{After, Before, Outcome, TaskState};
use machine::{CpuSet, Task, Version};
use plan::{Change, Finding, Level, Movers};
use std::collections::BTreeSet;

/// Passes after which a storm of forks is reported instead of chased. Each pass moves what the one before left,
/// so that even a fork bomb needs only a few: children of moved parents are born in the new set.
const PASSES: usize = 200;

/// Which tasks move where.
pub(crate) struct Road<'a> {
    /// Directory of the set that is emptied.
    pub from: &'a str,
    /// Directory of the set that takes them.
    pub to: &'a str,
    /// CPUs of the taking set.
    pub cpus: &'a CpuSet,
    /// Which tasks.
    pub who: &'a Movers,
}

pub(crate) fn enact(stage: &mut Stage, change: &Change, road: &Road) -> Result<Step, ApplyError> {
    let Road { from, to, cpus, .. } = road;
    let target = match stage.version {
        Version::V1 => format!("{to}/tasks"),
        Version::V2 => format!("{to}/cgroup.procs"),
    };
    let mut done = Tally::default();
    let mut left = Vec::new();
    for _ in 0..PASSES {
        let batch = next_batch(stage, road, &done)?;
        if batch.is_empty() {
            left.clear();
            break;
        }
        done.seq = stage.will(change, Before::Tasks { tasks: batch.clone() })?;
        let masks = move_batch(stage, &batch, &target, cpus, &mut done)?;
        stage.did(done.seq, Outcome::Done, After::Tasks { masks })?;
        left = batch;
    }
    if !left.is_empty() {
        stage.findings.push(Finding::new(
            Level::Error,
            "fork-storm",
            *from,
            format!(
                "tasks kept appearing in {from} after {PASSES} passes, for example {}",
                left[0].comm
            ),
        ));
    }
    let after = format!("{} tasks moved, {} refused", done.moved, done.refused.len());
    let outcome = if done.seq == 0 {
        Outcome::Already
    } else {
        Outcome::Done
    };
    Ok(Step {
        seq: done.seq,
        before: change.before.clone(),
        after: Some(after),
        outcome,
    })
}

#[derive(Default)]
struct Tally {
    seq: u64,
    moved: usize,
    /// Threads that the kernel does not let go.
    refused: BTreeSet<u32>,
}

fn next_batch(stage: &Stage, road: &Road, done: &Tally) -> Result<Vec<TaskState>, ApplyError> {
    const KTHREADD: u32 = 2;
    let mut batch = Vec::new();
    let list = match stage.version {
        Version::V1 => "tasks",
        Version::V2 => "cgroup.threads",
    };
    let mut tids = match road.who {
        // Those that are named move once; who follows them by birth is where its parent is.
        Movers::These(_) if done.seq != 0 => Vec::new(),
        Movers::These(tids) => tids.clone(),
        _ => census::members(stage.system, &format!("{}/{list}", road.from))?,
    };
    tids.sort_unstable_by_key(|&tid| (tid != KTHREADD, tid));
    for tid in tids.into_iter().filter(|tid| !done.refused.contains(tid)) {
        let Some((task, state)) = census::state_of(stage.system, tid, stage.version)? else {
            continue;
        };
        // The cgroup code refuses bound threads with EINVAL (cgroup_procs_write_start); there is no need to try.
        if task.is_movable() && moves(&task, road.who) {
            batch.push(state);
        }
    }
    Ok(batch)
}

fn moves(task: &Task, who: &Movers) -> bool {
    match who {
        Movers::All | Movers::These(_) => true,
        Movers::UserSpace => !task.is_kernel(),
    }
}

fn move_batch(
    stage: &mut Stage,
    batch: &[TaskState],
    target: &str,
    cpus: &CpuSet,
    done: &mut Tally,
) -> Result<Vec<(machine::TaskKey, CpuSet)>, ApplyError> {
    let mut masks = Vec::with_capacity(batch.len());
    for task in batch {
        match stage.system.write(target, &task.key.tid.to_string()) {
            Ok(()) => done.moved += 1,
            Err(error) => match refusal(error)? {
                libc::ESRCH => continue,
                // `kthreadd` is kept in the root cgroup (cgroup_init_kthreadd), and so is a kernel thread that is
                // still being made; an affinity is all that can be set on them.
                libc::EINVAL if narrow(stage, task, cpus)? => {
                    done.refused.insert(task.key.tid);
                    done.moved += 1;
                }
                // EINVAL: a thread that became bound since; EACCES, EPERM: a security module. Tried once.
                errno => {
                    done.refused.insert(task.key.tid);
                    stage.findings.push(Finding::new(
                        Level::Warning,
                        "task-refused",
                        format!("task {}", task.key.tid),
                        format!(
                            "{} cannot be moved: {}",
                            task.comm,
                            std::io::Error::from_raw_os_error(errno)
                        ),
                    ));
                    continue;
                }
            },
        }
        keep_pin(stage, task, cpus)?;
        if let Some(mask) = census::mask_of(stage.system, task.key) {
            masks.push((task.key, mask));
        }
    }
    Ok(masks)
}

/// Sets the affinity of a thread that cannot change its cgroup. `false` when that is refused too.
fn narrow(stage: &Stage, task: &TaskState, cpus: &CpuSet) -> Result<bool, ApplyError> {
    let rest = task.mask.and(cpus);
    let wanted = if rest.is_empty() { cpus } else { &rest };
    match stage.system.set_affinity(task.key.tid, wanted) {
        Ok(()) => Ok(true),
        Err(error) => refusal(error).map(|_| false),
    }
}

/// An attach gives the task the whole mask of the set before 6.2, and always for kernel threads: a pin inside
/// the housekeeping CPUs is set again. Tasks without a pin are never given one.
pub(super) fn keep_pin(stage: &mut Stage, task: &TaskState, cpus: &CpuSet) -> Result<(), ApplyError> {
    let wanted = task.mask.and(cpus);
    let pinned = !cpus.is_subset(&task.mask);
    if !pinned || wanted.is_empty() || census::mask_of(stage.system, task.key).as_ref() == Some(&wanted) {
        return Ok(());
    }
    match stage.system.set_affinity(task.key.tid, &wanted).map_err(refusal) {
        Ok(()) | Err(Ok(libc::ESRCH)) => {}
        Err(Ok(errno)) => stage.findings.push(Finding::new(
            Level::Warning,
            "pin-lost",
            format!("task {}", task.key.tid),
            format!(
                "{} was pinned to {wanted}, and the kernel refused to pin it again: {}",
                task.comm,
                std::io::Error::from_raw_os_error(errno)
            ),
        )),
        Err(Err(error)) => return Err(error),
    }
    Ok(())
}
