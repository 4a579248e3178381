//! Narrows the affinity of kernel threads that a v2 partition left on the isolated CPUs.
//!
//! Which ones it leaves depends on the kernel: 6.1 rewrites all but per-CPU ones, 7.0 treats them as housekeeping, and
//! a `root` partition leaves `kthreadd`. So they are found by their masks, not by version.

use super::move_tasks::refused;
use super::{ActionContext, StepResult, refusal};
use crate::ApplyError;
use crate::census;
use crate::record::{ChangeOutcome, StateAfter, StateBefore, TaskState};
use machine::tasks::{MaskReader, ThreadList};
use machine::{CpuSet, Task};
use plan::{Change, Finding, FindingId, Level};
use root::Root;
use std::collections::BTreeSet;

const PASSES: usize = 50;

pub(crate) fn enact(
    stage: &mut ActionContext,
    change: &Change,
    isolated: &CpuSet,
    housekeeping: &CpuSet,
    partition: &str,
) -> Result<StepResult, ApplyError> {
    let mut seq = 0;
    let mut narrowed = 0;
    let mut settled: BTreeSet<machine::TaskKey> = BTreeSet::new();
    let mut unread = UnreadThreads::of(stage);
    for _ in 0..PASSES {
        let tasks = unread.next(stage.system.root(), isolated);
        let batch = next_batch(stage, tasks, isolated, partition, &mut settled)?;
        if batch.is_empty() {
            break;
        }
        seq = stage.record_intent(
            change,
            StateBefore::Tasks {
                tasks: batch.clone(),
                crowd: None,
            },
        )?;
        let mut masks = Vec::new();
        for task in &batch {
            settled.insert(task.key);
            let rest = task.mask.minus(isolated);
            let intended = if rest.and(housekeeping).is_empty() {
                housekeeping.clone()
            } else {
                rest
            };
            match stage.system.set_affinity(task.key.tid, &intended).map_err(refusal) {
                Ok(()) => narrowed += 1,
                Err(Ok(libc::ESRCH)) => continue,
                Err(Ok(errno)) => stage.findings.push(refused(task, errno)),
                Err(Err(error)) => return Err(error),
            }
            masks.extend(census::mask_of(stage.system, task.key).map(|mask| (task.key, mask)));
        }
        stage.record_outcome(seq, ChangeOutcome::Done, StateAfter::Tasks { masks })?;
    }
    let outcome = if seq == 0 {
        ChangeOutcome::Already
    } else {
        ChangeOutcome::Done
    };
    let after = Some(format!("{narrowed} kernel threads narrowed"));
    Ok(StepResult {
        seq,
        before: change.before.clone(),
        after,
        outcome,
    })
}

fn next_batch(
    stage: &mut ActionContext,
    tasks: Vec<Task>,
    isolated: &CpuSet,
    partition: &str,
    settled: &mut BTreeSet<machine::TaskKey>,
) -> Result<Vec<TaskState>, ApplyError> {
    let mut batch = Vec::new();
    for task in tasks {
        let on_isolated = task
            .allowed
            .as_ref()
            .is_some_and(|allowed| allowed.intersects(isolated));
        if !on_isolated || !task.is_movable() || task.is_over() || settled.contains(&task.key) {
            continue;
        }
        let Some((_, state)) = census::state_of(stage.system, task.key.tid, stage.version)? else {
            continue;
        };
        if state
            .cgroup
            .as_deref()
            .is_some_and(|cgroup| machine::is_within(cgroup, partition))
        {
            continue;
        }
        if task.is_kernel() {
            let mask = census::whole(stage, state.mask);
            batch.push(TaskState { mask, ..state });
        } else if settled.insert(task.key) {
            let finding = keep_off(stage, &state, isolated)?;
            stage.findings.extend(finding);
        }
    }
    Ok(batch)
}

/// Keeps a user task off the isolated CPUs; the finding if that is not possible.
///
/// A child that is forked during the write of the partition still has the mask of before, if it is in the root cgroup
/// (`cpuset_fork` returns early). Requesting that mask again is enough: `__sched_setaffinity` intersects it with the CPUs of the
/// cgroup. From 6.2 on the kernel keeps the request, and without the partition computes the mask from it again; before, it
/// gives all tasks of the cgroup its CPUs, as it does without this call. A child that becomes visible only after the last
/// pass is left to `check`.
fn keep_off(stage: &ActionContext, task: &TaskState, isolated: &CpuSet) -> Result<Option<Finding>, ApplyError> {
    let cgroup = task.cgroup.as_deref().unwrap_or("?");
    if cgroup == "/" {
        // An unpinned task also requests the CPUs of the partitions that exist already.
        let request = stage.state_to_record(task.clone()).mask;
        match stage.system.set_affinity(task.key.tid, &request).map_err(refusal) {
            Ok(()) | Err(Ok(libc::ESRCH)) => {}
            Err(Ok(errno)) => return Ok(Some(refused(task, errno))),
            Err(Err(error)) => return Err(error),
        }
        let mask = census::mask_of(stage.system, task.key);
        if mask.is_none_or(|mask| !mask.intersects(isolated)) {
            return Ok(None);
        }
    }
    let message = format!(
        "{} may still run on {isolated}: its cgroup {cgroup} allows it",
        task.comm
    );
    let subject = format!("task {}", task.key.tid);
    Ok(Some(Finding::new(
        Level::Warning,
        FindingId::TASK_STAYS,
        subject,
        message,
    )))
}

/// The threads that no pass has read yet. A thread that was on other CPUs runs on the isolated ones later only if another
/// program moves it.
struct UnreadThreads {
    /// `None` where the cgroups do not list all threads.
    threads: Option<ThreadList>,
    unread: Vec<u32>,
}

impl UnreadThreads {
    /// All threads.
    fn of(stage: &mut ActionContext) -> UnreadThreads {
        let listed = stage.threads.take();
        let threads = listed.or_else(|| ThreadList::read(stage.system.root(), stage.mount, stage.version));
        let unread = threads.as_ref().map(|threads| threads.tids().to_vec());
        UnreadThreads {
            threads,
            unread: unread.unwrap_or_default(),
        }
    }

    /// The unread threads that may run on these CPUs, among them those created since.
    fn next(&mut self, root: &Root, cpus: &CpuSet) -> Vec<Task> {
        let Some(created) = self.threads.as_mut().and_then(|threads| threads.update(root)) else {
            return machine::tasks::read(root).unwrap_or_default();
        };
        let mut tids = std::mem::take(&mut self.unread);
        tids.extend(created);
        tids.sort_unstable();
        tids.dedup();
        MaskReader::new(root).retain(&mut tids, |mask| mask.intersects(cpus));
        tids.into_iter()
            .filter_map(|tid| machine::tasks::read_one(root, tid))
            .collect()
    }
}
