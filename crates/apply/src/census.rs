//! Reads tasks' places and masks, as the journal records them.

use crate::fingerprint::ONLINE;
use crate::record::TaskState;
use crate::stage::ActionContext;
use crate::{ApplyError, System};
use machine::tasks::ThreadList;
use machine::{CpuSet, Task, Version};

/// A task's current place and mask; `None` if it has ended.
pub(crate) fn state_of(
    system: &dyn System,
    tid: u32,
    version: Version,
) -> Result<Option<(Task, TaskState)>, ApplyError> {
    let task = machine::tasks::read_stat(system.root(), tid);
    Ok(task.and_then(|task| state_with(system, task, version)))
}

/// Like [`state_of`], for a task already read with [`machine::tasks::read_stat`].
pub(crate) fn state_with(system: &dyn System, task: Task, version: Version) -> Option<(Task, TaskState)> {
    let task = machine::tasks::with_status(system.root(), task);
    let state = TaskState {
        key: task.key,
        comm: task.comm.clone(),
        cgroup: machine::tasks::cgroup_of(system.root(), task.key.tid, version),
        mask: task.allowed.clone()?,
    };
    Some((task, state))
}

/// The mask of a task, if it is still the same one.
pub(crate) fn mask_of(system: &dyn System, key: machine::TaskKey) -> Option<CpuSet> {
    machine::tasks::read_one(system.root(), key.tid)
        .filter(|task| task.key == key)
        .and_then(|task| task.allowed)
}

/// Movable tasks with a narrower mask than the machine's: the pins that the kernel may drop as a result of a cpuset write.
pub(crate) fn pinned(stage: &mut ActionContext) -> Result<Vec<TaskState>, ApplyError> {
    let known = match stage.pins.take() {
        Some(known) => again(stage, known)?,
        None => unusual_tasks(stage)?,
    };
    *stage.pins = Some(known.clone());
    let still = |task: &TaskState| !stage.is_usual(&task.mask);
    Ok(known.into_iter().filter(still).collect())
}

/// The current state of the same tasks.
fn again(stage: &ActionContext, known: Vec<TaskState>) -> Result<Vec<TaskState>, ApplyError> {
    let mut now = Vec::with_capacity(known.len());
    for task in known {
        let state = state_of(stage.system, task.key.tid, stage.version)?;
        now.extend(state.map(|(_, state)| state).filter(|state| state.key == task.key));
    }
    Ok(now)
}

fn unusual_tasks(stage: &mut ActionContext) -> Result<Vec<TaskState>, ApplyError> {
    let (system, version) = (stage.system, stage.version);
    // If a CPU goes offline in the middle, cgroups leave their tasks the online part of the usual CPUs.
    let online = machine::cpu_list(system.root(), ONLINE);
    let left: Vec<CpuSet> = online
        .iter()
        .flat_map(|online| stage.usual.iter().map(|usual| usual.and(online)))
        .collect();
    let is_usual = |mask: &CpuSet| stage.is_usual(mask) || left.contains(mask);
    let threads = ThreadList::read(system.root(), stage.mount, version);
    let tasks = machine::tasks::unusual(system.root(), threads.as_ref(), is_usual).unwrap_or_default();
    let mut pinned = Vec::new();
    for task in tasks {
        let Some(mask) = task.allowed.clone().filter(|mask| !is_usual(mask)) else {
            continue;
        };
        // The processes that keep CPUs busy for us end with this change.
        if task.is_movable() && !stage.busy.pids().contains(&task.key.tid) {
            let cgroup = machine::tasks::cgroup_of(system.root(), task.key.tid, version);
            if cgroup
                .as_deref()
                .is_some_and(|cgroup| stage.is_active_partition(cgroup))
            {
                continue;
            }
            pinned.push(TaskState {
                key: task.key,
                comm: task.comm,
                cgroup,
                mask,
            });
        }
    }
    *stage.threads = threads;
    Ok(pinned)
}

/// The mask that a task had before a CPU went offline in the middle, if its mask is exactly the online CPUs. The kernel
/// gives some of its own threads only the online CPUs (`rcutree_affinity_setting`), and all CPUs when one returns.
pub(crate) fn whole(stage: &ActionContext, mask: CpuSet) -> CpuSet {
    let online = machine::cpu_list(stage.system.root(), ONLINE);
    match (stage.usual.first(), online) {
        (Some(all), Some(online)) if all.and(&online) == mask => all.clone(),
        _ => mask,
    }
}

/// Seconds since boot, rounded up; `None` if unknown.
pub(crate) fn uptime_s(system: &dyn System) -> Option<u64> {
    let text = system.root().readable_value("/proc/uptime")?;
    let whole = text.split(['.', ' ']).next()?;
    Some(whole.parse::<u64>().ok()? + 1)
}

/// The current masks of these tasks, without those that have ended.
pub(crate) fn masks_now(system: &dyn System, tasks: &[TaskState]) -> Vec<(machine::TaskKey, CpuSet)> {
    tasks
        .iter()
        .filter_map(|task| mask_of(system, task.key).map(|mask| (task.key, mask)))
        .collect()
}

/// IDs in a cgroup's `tasks` or `cgroup.procs` file. A process in a process namespace above ours is a 0 there, which
/// system calls and kernel files interpret as the calling process.
pub(crate) fn members(system: &dyn System, path: &str) -> Result<Vec<u32>, ApplyError> {
    let text = system.root().text(path)?.unwrap_or_default();
    let numbers = text.lines().filter_map(|line| line.trim().parse().ok());
    Ok(numbers.filter(|tid| *tid != 0).collect())
}
