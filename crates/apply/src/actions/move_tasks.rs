//! Moves every movable task of a set into another until no new one appears: threads on v1, processes on v2.
//!
//! A task that forks while it is moved leaves children behind in the old set, so passes repeat until one finds nothing
//! new. `kthreadd` goes first, because later kernel threads start in its set.

use super::{ActionContext, RecordingMode, StepResult, refusal};
use crate::record::{ChangeOutcome, StateAfter, StateBefore, TaskState, UnpinnedTasks};
use crate::{ApplyError, census, threads};
use machine::OrderBy;
use machine::tasks::{KTHREADD, MaskReader};
use machine::{CpuSet, Task, Version};
use plan::{Change, Finding, FindingId, Level, TaskSelector};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// After this many passes, a storm of forks is reported instead of chased. Each pass moves what the one before left, so
/// even a fork bomb needs only a few: children of moved parents start in the new set.
const PASSES: usize = 200;

/// Which tasks move, from where and to where.
pub(crate) struct MoveRoute<'a> {
    /// Directory of the source set.
    pub from: &'a str,
    /// Directory of the target set.
    pub to: &'a str,
    /// CPUs of the target set.
    pub cpus: &'a CpuSet,
    /// Which tasks.
    pub movers: &'a TaskSelector,
}

pub(crate) fn enact(stage: &mut ActionContext, change: &Change, road: &MoveRoute) -> Result<StepResult, ApplyError> {
    let MoveRoute { from, to, cpus, .. } = road;
    let target = match stage.version {
        Version::V1 => format!("{to}/tasks"),
        Version::V2 => format!("{to}/cgroup.procs"),
    };
    let mut done = MoveTally::default();
    let mut left = None;
    for _ in 0..PASSES {
        let batch = next_batch(stage, road, &mut done)?;
        left = batch.example();
        match (&left, batch.unsettled) {
            (Some(_), _) => {}
            // A task that ended before it was read may have left a child.
            (None, true) => continue,
            (None, false) => break,
        }
        done.seq = stage.record_intent(
            change,
            StateBefore::Tasks {
                tasks: batch.tasks.clone(),
                crowd: batch.unpinned.clone(),
            },
        )?;
        let masks = move_batch(stage, &batch.tasks, to, cpus, &mut done)?;
        if let Some(unpinned) = &batch.unpinned {
            move_unpinned(stage, unpinned, &target, &mut done)?;
        }
        done.last = batch.unpinned.map(|unpinned| unpinned.tids).unwrap_or_default();
        stage.record_outcome(done.seq, ChangeOutcome::Done, StateAfter::Tasks { masks })?;
    }
    if let Some(left) = left {
        stage.findings.push(Finding::new(
            Level::Error,
            FindingId::FORK_STORM,
            *from,
            format!("new tasks still appeared in {from} after {PASSES} passes, for example {left}"),
        ));
    }
    let after = done.summary();
    let outcome = if done.seq == 0 {
        ChangeOutcome::Already
    } else {
        ChangeOutcome::Done
    };
    Ok(StepResult {
        seq: done.seq,
        before: change.before.clone(),
        after: Some(after),
        outcome,
    })
}

#[derive(Default)]
struct MoveTally {
    seq: u64,
    moved: usize,
    /// Threads that the kernel refuses to move.
    refused: BTreeMap<u32, String>,
    /// Bound threads, which are not even tried.
    bound: BTreeSet<u32>,
    /// Threads that have to be recorded with their mask, although they are not pinned.
    single: BTreeSet<u32>,
    /// The unpinned tasks of the last pass, by number. One that is still there is exiting, or was moved back: it is read.
    last: Vec<u32>,
}

/// Number of refused tasks to name; the rest is only counted.
const MOST_NAMED: usize = 4;

impl MoveTally {
    fn refuse(&mut self, task: &TaskState, why: &str) {
        let (tid, comm) = (task.key.tid, &task.comm);
        self.refused.insert(tid, format!("{tid} {comm}, {why}"));
    }

    /// How many tasks moved, how many did not, and their names.
    fn summary(&self) -> String {
        let count = self.refused.len();
        let named: Vec<&str> = self.refused.values().take(MOST_NAMED).map(String::as_str).collect();
        let names = match (count, count.saturating_sub(named.len())) {
            (0, _) => String::new(),
            (_, 0) => format!(" ({})", named.join("; ")),
            (_, more) => format!(" ({}; and {more} more)", named.join("; ")),
        };
        format!("{} tasks moved, {count} refused{names}", self.moved)
    }
}

/// The tasks of one pass.
struct Batch {
    tasks: Vec<TaskState>,
    unpinned: Option<UnpinnedTasks>,
    /// Whether a listed task has ended since.
    unsettled: bool,
}

impl Batch {
    /// The name of one task; `None` if there is none.
    fn example(&self) -> Option<String> {
        let unpinned = self.unpinned.as_ref().and_then(|unpinned| unpinned.tids.first());
        let named = self.tasks.first().map(|task| task.comm.clone());
        named.or_else(|| unpinned.map(|tid| format!("task {tid}")))
    }
}

/// The file with the threads of a cgroup.
pub(super) fn thread_list(stage: &ActionContext, dir: &str) -> String {
    match stage.version {
        Version::V1 => format!("{dir}/tasks"),
        Version::V2 => format!("{dir}/cgroup.threads"),
    }
}

fn next_batch(stage: &ActionContext, road: &MoveRoute, done: &mut MoveTally) -> Result<Batch, ApplyError> {
    let tids = candidates(stage, road, done)?;
    // v2 moves processes and keeps pins. With `=user`, each task must be read to distinguish it from a kernel thread.
    let together = stage.recording_mode == RecordingMode::Together
        && stage.version == Version::V1
        && *road.movers == TaskSelector::All;
    let mut glance = MaskReader::new(stage.system.root());
    let mut tasks = Vec::new();
    let mut alike = Vec::new();
    let mut unsettled = false;
    for tid in tids {
        if done.refused.contains_key(&tid) || done.bound.contains(&tid) {
            continue;
        }
        let is_new = !done.single.contains(&tid) && done.last.binary_search(&tid).is_err();
        if together && tid != KTHREADD && is_new {
            match glance.mask(tid) {
                None => {
                    unsettled = true;
                    continue;
                }
                Some(mask) if stage.is_everywhere(mask) => {
                    alike.push(tid);
                    continue;
                }
                Some(_) => {}
            }
        }
        let Some(task) = machine::tasks::read_stat(stage.system.root(), tid) else {
            unsettled = true;
            continue;
        };
        // The cgroup code silently skips exiting tasks (cgroup_migrate_add_task), so retries would never end. It refuses
        // bound threads with EINVAL (cgroup_procs_write_start), so they are not tried.
        if task.is_over() || !task.is_movable() {
            done.bound.insert(tid);
            continue;
        }
        let Some((task, state)) = census::state_with(stage.system, task, stage.version) else {
            unsettled = true;
            continue;
        };
        if moves(&task, road.movers) {
            tasks.push(stage.state_to_record(state));
        }
    }
    let was_unpinned = !alike.is_empty();
    let unpinned = unpinned_of(stage, road, alike)?;
    Ok(Batch {
        // Children of explicitly named tasks are not followed.
        unsettled: (unsettled || (was_unpinned && unpinned.is_none()))
            && !matches!(road.movers, TaskSelector::These(_)),
        tasks,
        unpinned,
    })
}

/// The tasks that a batch tries to move, in order.
fn candidates(stage: &ActionContext, road: &MoveRoute, done: &MoveTally) -> Result<Vec<u32>, ApplyError> {
    let mut tids = match road.movers {
        // Explicitly named tasks move once; their new children start where the parent is.
        TaskSelector::These(_) if done.seq != 0 => Vec::new(),
        TaskSelector::These(tids) => tids.clone(),
        _ => census::members(stage.system, &thread_list(stage, road.from))?,
    };
    tids.order_by_key(|&tid| (tid != KTHREADD, tid));
    Ok(tids)
}

/// Unpinned tasks as one journal entry. All have the mask of the first that still exists.
fn unpinned_of(stage: &ActionContext, road: &MoveRoute, tids: Vec<u32>) -> Result<Option<UnpinnedTasks>, ApplyError> {
    for tid in &tids {
        if let Some((_, state)) = census::state_of(stage.system, *tid, stage.version)? {
            let cgroup = road.from.strip_prefix(stage.mount).filter(|path| !path.is_empty());
            return Ok(Some(UnpinnedTasks {
                cgroup: cgroup.unwrap_or("/").to_owned(),
                mask: state.mask,
                at_s: census::uptime_s(stage.system),
                tids,
            }));
        }
    }
    Ok(None)
}

fn moves(task: &Task, movers: &TaskSelector) -> bool {
    match movers {
        TaskSelector::All | TaskSelector::These(_) => true,
        TaskSelector::UserSpace => !task.is_kernel(),
    }
}

fn move_batch(
    stage: &mut ActionContext,
    batch: &[TaskState],
    to: &str,
    cpus: &CpuSet,
    done: &mut MoveTally,
) -> Result<Vec<(machine::TaskKey, CpuSet)>, ApplyError> {
    let mut masks = Vec::with_capacity(batch.len());
    let named: BTreeSet<u32> = batch.iter().map(|task| task.key.tid).collect();
    for task in batch {
        let Some(target) = door(stage, task, to, &named) else {
            done.refuse(task, "other threads of its process are in a partition");
            continue;
        };
        match stage.system.write(&target, &task.key.tid.to_string()) {
            Ok(()) => done.moved += 1,
            Err(error) => match refusal(error)? {
                libc::ESRCH => continue,
                // The kernel keeps `kthreadd` in the root cgroup (cgroup_init_kthreadd), as well as a kernel thread
                // that is still being created. Only their affinity can be set.
                libc::EINVAL if narrow(stage, task, cpus)? => {
                    done.refuse(
                        task,
                        "the kernel keeps it in its cgroup, so its affinity was narrowed instead",
                    );
                    done.moved += 1;
                }
                // EINVAL: the thread became bound since. EACCES, EPERM: a security module. Not retried.
                errno => {
                    refuse(stage, task, errno, done);
                    continue;
                }
            },
        }
        restore_pin(stage, task, cpus)?;
        if let Some(mask) = census::mask_of(stage.system, task.key) {
            masks.push((task.key, mask));
        }
    }
    Ok(masks)
}

/// Moves unpinned tasks: the set gives each its mask, and the next pass finds those that stayed.
fn move_unpinned(
    stage: &mut ActionContext,
    unpinned: &UnpinnedTasks,
    target: &str,
    done: &mut MoveTally,
) -> Result<(), ApplyError> {
    let mut unsure = Vec::new();
    let mut fatal = None;
    let mut tids = unpinned.tids.iter().copied();
    let mut answer = |tid: u32, moved: Result<(), root::RootError>| {
        match moved.map_err(refusal) {
            Ok(()) => done.moved += 1,
            Err(Ok(libc::ESRCH)) => {}
            Err(Ok(errno)) => unsure.push((tid, errno)),
            Err(Err(error)) => fatal = Some(error),
        }
        if fatal.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    stage.system.attach_each(target, &mut tids, &mut answer)?;
    if let Some(error) = fatal {
        return Err(error);
    }
    for (tid, errno) in unsure {
        let Some((task, state)) = census::state_of(stage.system, tid, stage.version)? else {
            continue;
        };
        if !task.is_movable() {
            done.bound.insert(tid);
        } else if errno == libc::EINVAL {
            // Only its affinity can be set, and for that its own mask has to be recorded first.
            done.single.insert(tid);
        } else {
            refuse(stage, &state, errno, done);
        }
    }
    Ok(())
}

/// Records and reports a task that the kernel refuses to move.
fn refuse(stage: &mut ActionContext, task: &TaskState, errno: i32, done: &mut MoveTally) {
    done.refuse(task, &std::io::Error::from_raw_os_error(errno).to_string());
    stage.findings.push(refused(task, errno));
}

/// The finding for a task whose cgroup or mask the kernel refuses to change.
pub(super) fn refused(task: &TaskState, errno: i32) -> Finding {
    let cause = std::io::Error::from_raw_os_error(errno);
    let message = format!("{} cannot be moved: {cause}", task.comm);
    Finding::new(
        Level::Warning,
        FindingId::TASK_REFUSED,
        format!("task {}", task.key.tid),
        message,
    )
}

/// The file to write a task to. On v2 this moves the whole process, except that a thread moves alone within its domain.
/// `None` if threads of the process are in an active partition: the move would take them out of it.
fn door(stage: &ActionContext, task: &TaskState, to: &str, named: &BTreeSet<u32>) -> Option<String> {
    if stage.version == Version::V1 {
        return Some(format!("{to}/tasks"));
    }
    let root = stage.system.root();
    let pid = machine::tasks::read_one(root, task.key.tid).map_or(task.key.tid, |task| task.pid);
    if !named.contains(&pid) && threads::is_same_domain(root, stage.mount, task.cgroup.as_deref(), to) {
        return Some(format!("{to}/cgroup.threads"));
    }
    let others = match stage.others {
        [] => Vec::new(),
        _ => threads::threads_of(root, pid),
    };
    let is_held = others.into_iter().any(|tid| {
        let cgroup = machine::tasks::cgroup_of(root, tid, Version::V2);
        !named.contains(&tid) && cgroup.is_some_and(|cgroup| stage.is_active_partition(&cgroup))
    });
    (!is_held).then(|| format!("{to}/cgroup.procs"))
}

/// Sets the affinity of a thread that cannot change its cgroup. Returns `false` if that is refused too.
fn narrow(stage: &ActionContext, task: &TaskState, cpus: &CpuSet) -> Result<bool, ApplyError> {
    let rest = task.mask.and(cpus);
    let mask = if rest.is_empty() { cpus } else { &rest };
    match stage.system.set_affinity(task.key.tid, mask) {
        Ok(()) => Ok(true),
        Err(error) => refusal(error).map(|_| false),
    }
}

/// Sets a pin inside the housekeeping CPUs again, because an attach gives the task the whole mask of the set: before
/// 6.2 every task, and later still kernel threads. Tasks without a pin never get one.
pub(super) fn restore_pin(stage: &mut ActionContext, task: &TaskState, cpus: &CpuSet) -> Result<(), ApplyError> {
    let pin = task.mask.and(cpus);
    let pinned = !cpus.is_subset(&task.mask);
    if !pinned || pin.is_empty() || census::mask_of(stage.system, task.key).as_ref() == Some(&pin) {
        return Ok(());
    }
    match stage.system.set_affinity(task.key.tid, &pin).map_err(refusal) {
        Ok(()) | Err(Ok(libc::ESRCH)) => {}
        Err(Ok(errno)) => stage.findings.push(Finding::new(
            Level::Warning,
            FindingId::PIN_LOST,
            format!("task {}", task.key.tid),
            format!(
                "{} was pinned to {pin}, and the kernel refused to restore the pinning: {}",
                task.comm,
                std::io::Error::from_raw_os_error(errno)
            ),
        )),
        Err(Err(error)) => return Err(error),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_tasks_are_reported_with_the_reason() {
        let mut done = MoveTally {
            moved: 61,
            ..MoveTally::default()
        };
        assert_eq!(done.summary(), "61 tasks moved, 0 refused");
        for (tid, comm) in (2..8).zip(["kthreadd", "a", "b", "c", "d", "e"]) {
            let task = TaskState {
                key: machine::TaskKey { tid, start_time: 0 },
                comm: comm.to_owned(),
                cgroup: None,
                mask: CpuSet::new(),
            };
            done.refuse(&task, "the kernel keeps it");
            if tid == 2 {
                assert_eq!(
                    done.summary(),
                    "61 tasks moved, 1 refused (2 kthreadd, the kernel keeps it)"
                );
            }
        }
        assert!(
            done.summary().ends_with("5 c, the kernel keeps it; and 2 more)"),
            "{}",
            done.summary()
        );
    }
}
