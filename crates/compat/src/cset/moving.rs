//! Selects the tasks for a command: by PIDSPEC with or without their threads, or all of a set.

use super::tree::{CpusetNode, CpusetTree};
use super::{CsetError, spec};
use machine::Task;
use std::collections::BTreeSet;

/// Whether the other threads of a task's process are moved too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Siblings {
    /// Yes (`--threads`).
    Included,
    /// No.
    Stay,
}

/// Which kernel threads may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelThreads {
    /// None.
    None,
    /// Those without an affinity to some of the CPUs of their set (`-k`).
    Unbound,
    /// All; the kernel refuses some (`-k --force`).
    All,
}

/// The selected tasks, grouped by the action for them.
#[derive(Debug, Default)]
pub struct SelectedTasks {
    /// Threads of programs to move.
    pub user: Vec<u32>,
    /// Kernel threads to move.
    pub kernel: Vec<u32>,
    /// Kernel threads that stay because they are bound.
    pub bound: usize,
    /// Kernel threads that stay because they were not requested.
    pub kernel_left: usize,
    /// Tasks that are not in the source set.
    pub elsewhere: usize,
    /// PIDs without a task.
    pub missing: usize,
}

impl SelectedTasks {
    /// All tasks to move.
    pub fn all(&self) -> Vec<u32> {
        self.user.iter().chain(&self.kernel).copied().collect()
    }

    /// The number of tasks to move.
    pub fn len(&self) -> usize {
        self.user.len() + self.kernel.len()
    }

    fn add(&mut self, tree: &CpusetTree, task: &Task, to: &CpusetNode, kernel: KernelThreads) {
        let current_set = tree.set_of_task(task);
        if current_set.is_some_and(|current_set| current_set.place == to.place) {
            return;
        }
        if !task.is_kernel() {
            return self.user.push(task.key.tid);
        }
        let widest = current_set.map_or(&to.cpus, |current_set| &current_set.cpus);
        let is_bound = !task.is_movable() || task.allowed.as_ref().is_none_or(|allowed| !widest.is_subset(allowed));
        match kernel {
            KernelThreads::None => self.kernel_left += 1,
            KernelThreads::Unbound if is_bound => self.bound += 1,
            KernelThreads::Unbound | KernelThreads::All => self.kernel.push(task.key.tid),
        }
    }
}

/// The PIDs in a PIDSPEC.
///
/// # Errors
/// Groups that are not numbers.
pub fn pids(tree: &CpusetTree, pidspec: &str, siblings: Siblings) -> Result<Vec<u32>, CsetError> {
    let tids: BTreeSet<u32> = tree.machine.tasks.iter().flatten().map(|task| task.key.tid).collect();
    let mut pids = spec::pids(pidspec, &tids)?;
    if siblings == Siblings::Included {
        let of = |tid: &u32| tree.task(*tid).map(|task| task.pid);
        let processes: BTreeSet<u32> = pids.iter().filter_map(of).collect();
        let all = tree.machine.tasks.iter().flatten();
        let added: Vec<u32> = all
            .filter(|task| processes.contains(&task.pid) && !pids.contains(&task.key.tid))
            .map(|task| task.key.tid)
            .collect();
        pids.extend(added);
    }
    Ok(pids)
}

/// Selects, from these PIDs, the tasks that are in `from` and not in `to`.
pub fn of_pids(
    tree: &CpusetTree,
    pids: &[u32],
    from: Option<&CpusetNode>,
    to: &CpusetNode,
    kernel: KernelThreads,
) -> SelectedTasks {
    let mut chosen = SelectedTasks::default();
    for tid in pids {
        let Some(task) = tree.task(*tid) else {
            chosen.missing += 1;
            continue;
        };
        match from {
            Some(from) if task.cgroup.as_deref() != Some(from.place.as_str()) => chosen.elsewhere += 1,
            _ => chosen.add(tree, task, to, kernel),
        }
    }
    chosen
}

/// Selects all tasks of a set.
pub fn of_set(tree: &CpusetTree, from: &CpusetNode, to: &CpusetNode, kernel: KernelThreads) -> SelectedTasks {
    let mut chosen = SelectedTasks::default();
    for task in tree.members(from) {
        chosen.add(tree, task, to, kernel);
    }
    chosen
}
