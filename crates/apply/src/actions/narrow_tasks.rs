//! Narrows the affinity of kernel threads that a v2 partition left on the isolated CPUs.
//!
//! Which ones it leaves depends on the kernel: 6.1 rewrites all but per-CPU ones, 7.0 treats them as housekeeping, and
//! a `root` partition leaves `kthreadd`. So they are found by their masks, not by version.

use super::move_tasks::refused;
use super::{ActionContext, StepResult, refusal};
use crate::ApplyError;
use crate::census;
use crate::record::{ChangeOutcome, StateAfter, StateBefore, TaskState};
use machine::tasks::MaskReader;
use machine::{CpuSet, Task};
use plan::{Change, Finding, FindingId, Level};
use std::collections::{BTreeSet, HashSet};

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
    let mut seen = HashSet::new();
    for _ in 0..PASSES {
        let batch = next_batch(stage, isolated, partition, &mut settled, &mut seen)?;
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
    isolated: &CpuSet,
    partition: &str,
    settled: &mut BTreeSet<machine::TaskKey>,
    seen: &mut HashSet<u32>,
) -> Result<Vec<TaskState>, ApplyError> {
    let mut batch = Vec::new();
    for task in candidates(stage, isolated, seen) {
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
            .is_some_and(|cgroup| cgroup == partition || is_below(cgroup, partition))
        {
            continue;
        }
        if task.is_kernel() {
            let mask = census::whole(stage, state.mask);
            batch.push(TaskState { mask, ..state });
        } else if settled.insert(task.key) {
            // A valid partition leaves no such task; a remaining one gets the CPUs from its own cgroup.
            stage.findings.push(Finding::new(
                Level::Warning,
                FindingId::TASK_STAYS,
                format!("task {}", task.key.tid),
                format!(
                    "{} may still run on {isolated}: its cgroup {} allows it",
                    state.comm,
                    state.cgroup.as_deref().unwrap_or("?")
                ),
            ));
        }
    }
    Ok(batch)
}

/// Tasks that may run on the isolated CPUs and were not seen by an earlier pass. A task seen elsewhere gets there only
/// if another program moves it.
fn candidates(stage: &ActionContext, isolated: &CpuSet, seen: &mut HashSet<u32>) -> Vec<Task> {
    let root = stage.system.root();
    let Some(tids) = machine::tasks::listed(root, stage.mount, stage.version) else {
        return machine::tasks::read(root).unwrap_or_default();
    };
    let mut glance = MaskReader::new(root);
    let mut there: Vec<u32> = tids
        .into_iter()
        .filter(|tid| seen.insert(*tid) && glance.mask(*tid).is_some_and(|mask| mask.intersects(isolated)))
        .collect();
    there.sort_unstable();
    there
        .into_iter()
        .filter_map(|tid| machine::tasks::read_one(root, tid))
        .collect()
}

fn is_below(cgroup: &str, partition: &str) -> bool {
    cgroup.strip_prefix(partition).is_some_and(|rest| rest.starts_with('/'))
}
