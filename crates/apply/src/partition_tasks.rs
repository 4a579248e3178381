//! Collects the tasks of a partition that is recreated with other CPUs, so that they can return to it.
//!
//! An active partition cannot be resized in place and stay exactly undoable, so a resize undoes and recreates it. In between,
//! its programs run outside. This module records what they, and the children that they fork in that time, need to return.

use crate::parcel::{Arrival, MoveContext, MovePurpose, MoveUnit, PlannedMove, ThreadMove};
use crate::record::{FormerPolicy, JournalEvent, JournalRecord};
use crate::relocate::relocate;
use crate::{ApplyError, Journal, System, census};
use machine::{CpuSet, MapEntries, Task, TaskKey, Version, tasks};
use std::collections::{BTreeMap, BTreeSet};

/// After this many passes, children that keep appearing are left where they are.
const PASSES: usize = 50;

/// The tasks of one partition.
#[derive(Clone, Debug, Default)]
pub struct PartitionTasks {
    inside: Vec<Task>,
    /// All tasks of the machine at that time; any other task started since.
    known: BTreeSet<TaskKey>,
    /// Tasks whose policy comes from `move`; they lose it when the partition is undone.
    given: BTreeSet<TaskKey>,
    /// IDs of processes of which only some threads were inside.
    divided: BTreeSet<u32>,
    /// The partition's CPUs at that time.
    cpus: CpuSet,
}

/// Where they are moved, and the CPUs there.
#[derive(Clone, Copy, Debug)]
pub struct TaskDestination<'a> {
    /// Directory of the cgroup.
    pub path: &'a str,
    /// Its CPUs.
    pub cpus: &'a CpuSet,
}

impl PartitionTasks {
    /// Reads the tasks of a partition. `records` is the journal with that partition.
    ///
    /// # Errors
    /// The error of reading the cgroup's list.
    pub fn of(
        system: &dyn System,
        records: &[JournalRecord],
        version: Version,
        dwelling: TaskDestination,
    ) -> Result<PartitionTasks, ApplyError> {
        let list = match version {
            Version::V1 => format!("{}/tasks", dwelling.path),
            Version::V2 => format!("{}/cgroup.threads", dwelling.path),
        };
        let inside: Vec<Task> = census::members(system, &list)?
            .into_iter()
            .filter_map(|tid| tasks::read_one(system.root(), tid))
            .collect();
        let all_tasks = tasks::read(system.root()).unwrap_or_default();
        let (all, here) = (by_process(all_tasks.iter()), by_process(inside.iter()));
        let is_divided = |(pid, tasks): &(&u32, &Vec<&Task>)| all.get(*pid).is_some_and(|all| all.len() > tasks.len());
        let divided = here.iter().filter(is_divided).map(|(pid, _)| *pid).collect();
        Ok(PartitionTasks {
            inside,
            divided,
            known: all_tasks.iter().map(|task| task.key).collect(),
            given: given(records),
            cpus: dwelling.cpus.clone(),
        })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inside.is_empty()
    }

    /// Tasks with a real-time policy, which taking the partition apart may change. The parameters of `SCHED_DEADLINE`
    /// are not in /proc, so that policy could not be restored.
    pub(crate) fn real_time(&self) -> Vec<(TaskKey, String, FormerPolicy)> {
        let is_real_time = |task: &&Task| matches!(task.policy, machine::Policy::Fifo | machine::Policy::Rr);
        let inside = self.inside.iter().filter(is_real_time);
        inside
            .map(|task| (task.key, task.comm.clone(), FormerPolicy::of(task)))
            .collect()
    }

    /// Moves them back with the children that they forked since. The moves are journalled. Tasks keep their pins, as
    /// far as the new CPUs allow, and their policies. Tasks that ended since are not in the result.
    ///
    /// # Errors
    /// A journal that cannot be written.
    pub fn move_back(
        &self,
        context: &MoveContext,
        journal: &mut Journal,
        dwelling: TaskDestination,
    ) -> Result<Vec<Arrival>, ApplyError> {
        let mut arrivals = Vec::new();
        let mut done: BTreeSet<TaskKey> = BTreeSet::new();
        for _ in 0..PASSES {
            let all_tasks = tasks::read(context.system.root()).unwrap_or_default();
            let family = self.family(&all_tasks);
            let coming: Vec<&Task> = family.iter().copied().filter(|task| done.insert(task.key)).collect();
            if coming.is_empty() {
                break;
            }
            let parcels = self.parcels(&all_tasks, &coming, context.hierarchy.version, dwelling);
            arrivals.extend(relocate(context, journal, &parcels)?);
        }
        for arrival in &arrivals {
            self.restore_policy(context.system, arrival);
        }
        Ok(arrivals)
    }

    /// Those that still exist, and their descendants since.
    fn family<'t>(&self, all_tasks: &'t [Task]) -> Vec<&'t Task> {
        let mut family: BTreeSet<TaskKey> = self.inside.iter().map(|task| task.key).collect();
        let by_tid: BTreeMap<u32, TaskKey> = all_tasks.iter().map(|task| (task.key.tid, task.key)).into_map();
        let is_of = |family: &BTreeSet<TaskKey>, tid: u32| by_tid.get(&tid).is_some_and(|key| family.contains(key));
        loop {
            let before = family.len();
            for task in all_tasks.iter().filter(|task| !self.known.contains(&task.key)) {
                let parent = if task.pid == task.key.tid { task.ppid } else { task.pid };
                if is_of(&family, parent) {
                    family.insert(task.key);
                }
            }
            if family.len() == before {
                break;
            }
        }
        all_tasks.iter().filter(|task| family.contains(&task.key)).collect()
    }

    /// Whole processes if all their threads return, single threads otherwise; on v2 single threads only of divided processes.
    fn parcels(
        &self,
        all_tasks: &[Task],
        coming: &[&Task],
        version: Version,
        dwelling: TaskDestination,
    ) -> Vec<PlannedMove> {
        let threads = by_process(all_tasks.iter());
        let parcel = |tid: u32, unit: MoveUnit, tasks: &[&Task]| PlannedMove {
            tid,
            unit,
            to: dwelling.path.to_owned(),
            tasks: tasks
                .iter()
                .map(|task| ThreadMove {
                    tid: task.key.tid,
                    pin: self.pin(task.key, dwelling.cpus),
                    policy: self.policy(task.key).filter(|_| self.given.contains(&task.key)),
                })
                .collect(),
            later: Vec::new(),
            stay: MovePurpose::Belongs,
        };
        let mut parcels = Vec::new();
        for (pid, tasks) in by_process(coming.iter().copied()) {
            let is_whole = match version {
                Version::V1 => threads.get(&pid).map(Vec::len) == Some(tasks.len()),
                Version::V2 => !self.divided.contains(&pid),
            };
            if is_whole {
                parcels.push(parcel(pid, MoveUnit::Process, &tasks));
            } else {
                parcels.extend(
                    tasks
                        .iter()
                        .map(|task| parcel(task.key.tid, MoveUnit::Thread, &[*task])),
                );
            }
        }
        parcels
    }

    fn task(&self, key: TaskKey) -> Option<&Task> {
        self.inside.iter().find(|task| task.key == key)
    }

    /// The CPUs that it was pinned to inside, as far as they still belong to the partition.
    fn pin(&self, key: TaskKey, cpus: &CpuSet) -> Option<CpuSet> {
        let mask = self.task(key)?.allowed.as_ref()?;
        let is_pinned = !self.cpus.is_subset(mask);
        Some(mask.and(cpus)).filter(|pin| is_pinned && !pin.is_empty())
    }

    /// The policy that it had inside. The parameters of `SCHED_DEADLINE` are not in /proc; such a task is never
    /// demoted, and keeps its policy.
    fn policy(&self, key: TaskKey) -> Option<FormerPolicy> {
        let task = self.task(key)?;
        (task.policy != machine::Policy::Deadline).then(|| FormerPolicy::of(task))
    }

    /// Restores the policy of a task that undo demoted, or that had its policy from `move`.
    fn restore_policy(&self, system: &dyn System, arrival: &Arrival) {
        let key = arrival.before.key;
        let Some(policy) = self.policy(key) else { return };
        let now = tasks::read_one(system.root(), key.tid).filter(|task| task.key == key);
        if now.is_some_and(|task| FormerPolicy::of(&task) != policy) {
            // A refusal shows in the task's policy, which the caller reads back.
            let _ = system.set_policy(key.tid, policy);
        }
    }

    /// Tasks without the policy that they had inside, by name and ID.
    #[must_use]
    pub fn without_policy(&self, system: &dyn System) -> Vec<String> {
        self.inside
            .iter()
            .filter_map(|task| {
                let policy = self.policy(task.key)?;
                let now = tasks::read_one(system.root(), task.key.tid).filter(|now| now.key == task.key)?;
                (FormerPolicy::of(&now) != policy).then(|| format!("task {} ({})", task.key.tid, task.comm))
            })
            .collect()
    }
}

fn by_process<'t>(tasks: impl Iterator<Item = &'t Task>) -> BTreeMap<u32, Vec<&'t Task>> {
    let mut processes: BTreeMap<u32, Vec<&Task>> = BTreeMap::new();
    for task in tasks {
        processes.entry(task.pid).or_default().push(task);
    }
    processes
}

fn given(records: &[JournalRecord]) -> BTreeSet<TaskKey> {
    let moving = records.iter().filter_map(|record| match &record.event {
        JournalEvent::Moving { tasks } => Some(tasks),
        _ => None,
    });
    moving
        .flatten()
        .filter(|departure| departure.policy.is_some())
        .map(|departure| departure.state.key)
        .collect()
}
