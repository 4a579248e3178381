//! Decides which mask each task gets back, before any task is moved; the masks are set after all moves.
//!
//! Masks cannot be restored while the partition exists (the kernel cuts them to the cpuset), and moving a task may
//! rewrite its mask. So the intended masks are computed first, from the journal and from each task's current mask.

use crate::record::{
    ChangeOutcome, Departure, DriftedTask, FormerPolicy, JournalEvent, JournalRecord, StateAfter, StateBefore,
    finished_writes,
};
use crate::unpinned_index::UnpinnedIndex;
use crate::{System, census};
use machine::{CpuSet, MapEntries, Task, TaskKey, Version};
use std::collections::{BTreeMap, BTreeSet};

/// What the journal has about one task.
#[derive(Clone, Debug, Default)]
struct TaskHistory {
    comm: String,
    /// The mask before our first change.
    before: Option<CpuSet>,
    /// Masks that it had after one of our changes.
    own_masks: BTreeSet<CpuSet>,
    /// Whether a change of it was started and its outcome never recorded.
    open: bool,
    /// Whether we moved it into a partition.
    joined: bool,
    cgroup: Option<String>,
    /// Its policy before `move` changed it, and the policy from `move`.
    policy: Option<(FormerPolicy, FormerPolicy)>,
}

impl TaskHistory {
    /// For a task that may be recorded in a crowd, before a record of its own.
    fn of_unpinned(unpinned_index: &UnpinnedIndex, key: TaskKey) -> TaskHistory {
        let unpinned = unpinned_index.one(key);
        TaskHistory {
            before: unpinned.map(|unpinned| unpinned.mask.clone()),
            cgroup: unpinned.map(|unpinned| unpinned.cgroup.clone()),
            ..TaskHistory::default()
        }
    }

    /// Whether this mask is its former one, or may be one of ours.
    fn has_set(&self, mask: &CpuSet) -> bool {
        self.open || self.before.as_ref() == Some(mask) || self.own_masks.contains(mask)
    }

    /// `run` or `move` is about to move it.
    fn record_departure(&mut self, departure: &Departure, answered: bool) {
        let Departure {
            state,
            gets_back,
            policy,
            ..
        } = departure;
        self.comm.clone_from(&state.comm);
        if self.cgroup.is_none() {
            self.cgroup.clone_from(&state.cgroup);
        }
        self.open |= !answered;
        // A mask that is neither the former one nor ours was set by another program since.
        let known = self.before.as_ref() == Some(&state.mask) || self.own_masks.contains(&state.mask);
        if let Some(mask) = gets_back
            && (self.before.is_none() || !known)
        {
            self.before = Some(mask.clone());
        }
        if let Some((former, given)) = policy {
            let first = self.policy.map_or(*former, |(first, _)| first);
            self.policy = Some((first, *given));
        }
    }
}

/// CPUs of the partitions, and those left for everything else.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuDivision {
    /// The isolated CPUs.
    pub isolated: CpuSet,
    /// The other online CPUs.
    pub housekeeping: CpuSet,
}

impl CpuDivision {
    /// What is left of a mask. An empty result becomes the housekeeping CPUs, as everywhere a mask is computed here.
    pub fn of(&self, mask: &CpuSet) -> CpuSet {
        let rest = mask.minus(&self.isolated);
        if !self.isolated.is_empty() && rest.and(&self.housekeeping).is_empty() {
            self.housekeeping.clone()
        } else {
            rest
        }
    }
}

/// The state before and after one partition is undone.
#[derive(Clone, Debug)]
pub(crate) struct UndoScope {
    /// `seq` of the `begin` that is undone.
    pub layer: u64,
    /// With the partition.
    pub with: CpuDivision,
    /// Without it.
    pub without: CpuDivision,
    /// Cgroups of the remaining partitions; tasks in them are not changed.
    pub stay: Vec<String>,
    /// Version of the cpuset hierarchy, for finding tasks' cgroups.
    pub version: Version,
    /// Whether the partition has ended without us, for example because its cgroup was removed.
    pub end: PartitionEnd,
}

/// Who ended a v2 partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartitionEnd {
    /// The undo does.
    ByUndo,
    /// Another program did. The kernel then gave all tasks of the root cgroup every CPU (`update_tasks_cpumask`).
    ByOthers,
}

/// The intended mask of each task when one partition is undone.
pub(crate) struct IntendedMasks {
    masks: BTreeMap<TaskKey, CpuSet>,
    original_cgroups: BTreeMap<TaskKey, String>,
    policies: BTreeMap<TaskKey, (FormerPolicy, FormerPolicy)>,
    /// IDs of the tasks that the journal recorded one by one.
    known: BTreeSet<u32>,
    unpinned_index: UnpinnedIndex,
    /// Tasks whose mask another program changed since.
    pub drifted: Vec<DriftedTask>,
}

impl IntendedMasks {
    /// Computes the intended masks. `newcomers` are tasks in our sets now; those that the journal does not know started since.
    pub fn of(
        system: &dyn System,
        records: &[JournalRecord],
        scope: &UndoScope,
        newcomers: &[Task],
        set_masks: &[CpuSet],
    ) -> IntendedMasks {
        let unpinned_index = UnpinnedIndex::of(records);
        let past = past_of(records, &unpinned_index);
        let (masks, drifted) = decided(records, scope.layer);
        let mut intended_masks = IntendedMasks {
            masks,
            original_cgroups: BTreeMap::new(),
            policies: BTreeMap::new(),
            known: past.keys().map(|key| key.tid).collect(),
            unpinned_index,
            drifted,
        };
        let inside: BTreeSet<TaskKey> = newcomers.iter().map(|task| task.key).collect();
        for (key, past) in &past {
            let Some(now) = census::mask_of(system, *key) else {
                continue;
            };
            if !scope.stay.is_empty() && scope.contains(system, *key) {
                continue;
            }
            if let Some(policy) = past.policy
                && (scope.stay.is_empty() || inside.contains(key))
            {
                intended_masks.policies.insert(*key, policy);
            }
            if let Some(cgroup) = &past.cgroup {
                intended_masks.original_cgroups.insert(*key, cgroup.clone());
            }
            if intended_masks.masks.contains_key(key) {
                continue;
            }
            let Some(before) = &past.before else { continue };
            let intended = scope.without.of(before);
            // In a set that is being removed, its mask is the set's, or a pin inside it.
            let inside = inside.contains(key) && (past.joined || set_masks.contains(&now));
            let is_reset = scope.end == PartitionEnd::ByOthers && scope.without.housekeeping.is_subset(&now);
            if inside || is_reset || now == intended || now == scope.with.of(before) || past.has_set(&now) {
                intended_masks.masks.insert(*key, intended);
            } else if !is_irq_thread(system, *key) {
                intended_masks.drifted.push(DriftedTask {
                    key: *key,
                    comm: past.comm.clone(),
                    now: now.clone(),
                    before: intended,
                });
                intended_masks.masks.insert(*key, now);
            }
        }
        intended_masks.add_unrecorded_tasks(newcomers, &past, scope, set_masks);
        intended_masks
    }

    /// Adds the tasks in our sets that the journal does not know.
    fn add_unrecorded_tasks(
        &mut self,
        newcomers: &[Task],
        past: &BTreeMap<TaskKey, TaskHistory>,
        scope: &UndoScope,
        set_masks: &[CpuSet],
    ) {
        let by_pid: BTreeMap<u32, &TaskHistory> = past.iter().map(|(key, past)| (key.tid, past)).into_map();
        for task in newcomers.iter().filter(|task| !past.contains_key(&task.key)) {
            if self.masks.contains_key(&task.key) {
                continue;
            }
            let Some(mask) = &task.allowed else { continue };
            let is_thread = task.pid != task.key.tid;
            let parent = by_pid.get(if is_thread { &task.pid } else { &task.ppid });
            let inherited = parent
                .filter(|parent| parent.own_masks.contains(mask))
                .and_then(|parent| parent.before.as_ref())
                .map(|before| scope.without.of(before));
            match inherited {
                Some(before) => drop(self.masks.insert(task.key, before)),
                // The set's own mask is not a pin: the kernel gives the task the mask of its new cgroup.
                None if set_masks.contains(mask) => {}
                None => {
                    // A formerly unpinned task. Another program pinned it since, unless the kernel did
                    // (`kcompactd_cpu_online` gives its thread all CPUs of the node, regardless of its set).
                    let unpinned = self.unpinned_index.one(task.key).filter(|_| !task.is_irq_thread());
                    let before = unpinned.map(|unpinned| scope.without.of(&unpinned.mask));
                    if let Some(before) = before.filter(|before| before != mask) {
                        self.drifted.push(DriftedTask {
                            key: task.key,
                            comm: task.comm.clone(),
                            now: mask.clone(),
                            before,
                        });
                    }
                    self.masks.insert(task.key, mask.clone());
                }
            }
        }
    }

    /// The masks, for the journal.
    pub fn masks(&self) -> Vec<(TaskKey, CpuSet)> {
        self.masks.iter().map(|(key, mask)| (*key, mask.clone())).collect()
    }

    /// The tasks with an intended mask.
    pub fn keys(&self) -> BTreeSet<TaskKey> {
        self.masks.keys().copied().collect()
    }

    /// The cgroup that a task came from, if the journal has it.
    pub fn original_cgroup(&self, key: TaskKey) -> Option<&str> {
        self.original_cgroups.get(&key).map(String::as_str)
    }

    /// The cgroup that a thread ID of a crowd came from; not for tasks that were recorded one by one. If the ID was reused, its
    /// task was forked by one of the crowd or put into our set by hand. That place is suitable in both cases.
    pub fn original_cgroup_of_unpinned(&self, tid: u32) -> Option<&str> {
        if self.known.contains(&tid) {
            return None;
        }
        self.unpinned_index
            .by_number(tid)
            .map(|unpinned| unpinned.cgroup.as_str())
    }

    /// With force, drifted tasks get their former mask too.
    pub fn insist(&mut self) {
        for drifted in &self.drifted {
            self.masks.insert(drifted.key, drifted.before.clone());
        }
    }

    /// Sets the mask of every task that the kernel did not restore. Returns the refused ones.
    pub fn fulfil(&self, system: &dyn System) -> Vec<String> {
        let mut failed = Vec::new();
        for (key, intended) in &self.masks {
            let Some(now) = census::mask_of(system, *key).filter(|now| now != intended) else {
                continue;
            };
            if let Err(error) = system.set_affinity(key.tid, intended)
                && error.errno() != Some(libc::ESRCH)
            {
                failed.push(format!(
                    "task {}: may run on {now}, previously {intended}: {error}",
                    key.tid
                ));
            }
        }
        for (key, (former, given)) in &self.policies {
            let now = machine::tasks::read_one(system.root(), key.tid).filter(|task| task.key == *key);
            // A policy other than ours was set by another program, or by the task itself.
            if now.is_some_and(|task| FormerPolicy::of(&task) == *given)
                && let Err(error) = system.set_policy(key.tid, *former)
                && error.errno() != Some(libc::ESRCH)
            {
                failed.push(format!("task {}: keeps its new policy: {error}", key.tid));
            }
        }
        failed
    }
}

impl UndoScope {
    /// Whether a task is in a remaining partition.
    fn contains(&self, system: &dyn System, key: TaskKey) -> bool {
        let cgroup = machine::tasks::cgroup_of(system.root(), key.tid, self.version);
        cgroup.is_some_and(|cgroup| self.stay.iter().any(|stay| machine::is_within(&cgroup, stay)))
    }
}

/// Whether it is the thread of a threaded interrupt. Its mask is not a pin: when the interrupt fires next, the kernel
/// sets it to the effective affinity of the interrupt (`irq_thread_check_affinity`).
fn is_irq_thread(system: &dyn System, key: TaskKey) -> bool {
    machine::tasks::read_one(system.root(), key.tid).is_some_and(|task| task.is_irq_thread())
}

/// The decisions of an earlier, interrupted undo.
fn decided(records: &[JournalRecord], layer: u64) -> (BTreeMap<TaskKey, CpuSet>, Vec<DriftedTask>) {
    let first = records.first().map_or(0, |record| record.seq);
    let earlier = records.iter().rev().find_map(|record| match &record.event {
        JournalEvent::UndoBegin {
            masks,
            drifted,
            layer: of,
            ..
        } if of.unwrap_or(first) == layer => Some((masks.iter().cloned().into_map(), drifted.clone())),
        _ => None,
    });
    earlier.unwrap_or_default()
}

/// What [`IntendedMasks::of`] needs to know about members of our sets: IDs that the journal recorded one by one, and those of
/// them whose children may have inherited a mask of ours that is one of `set_masks`.
pub(crate) struct KnownMembers {
    /// Their thread IDs.
    pub known: BTreeSet<u32>,
    /// Processes whose children and threads have to be read.
    pub parents: Vec<u32>,
    /// Whether any tasks were recorded as a crowd.
    pub has_unpinned: bool,
}

impl KnownMembers {
    /// Reads it from the journal.
    pub fn of(records: &[JournalRecord], set_masks: &[CpuSet]) -> KnownMembers {
        let unpinned_index = UnpinnedIndex::of(records);
        let past = past_of(records, &unpinned_index);
        let hands_down = |past: &TaskHistory| past.own_masks.iter().any(|mask| set_masks.contains(mask));
        let parents = past.iter().filter(|(_, past)| hands_down(past));
        KnownMembers {
            known: past.keys().map(|key| key.tid).collect(),
            parents: parents.map(|(key, _)| key.tid).collect(),
            has_unpinned: !unpinned_index.is_empty(),
        }
    }
}

fn past_of(records: &[JournalRecord], unpinned_index: &UnpinnedIndex) -> BTreeMap<TaskKey, TaskHistory> {
    let mut past: BTreeMap<TaskKey, TaskHistory> = BTreeMap::new();
    let answered = finished_writes(records);
    for record in records {
        match &record.event {
            JournalEvent::Will {
                before: before @ (StateBefore::Tasks { tasks, .. } | StateBefore::Value { tasks, .. }),
                ..
            } => {
                let is_move = matches!(before, StateBefore::Tasks { .. });
                for task in tasks {
                    let entry = past.entry(task.key).or_default();
                    entry.comm.clone_from(&task.comm);
                    entry.before.get_or_insert_with(|| task.mask.clone());
                    entry.open |= !answered.contains(&record.seq);
                    if is_move && entry.cgroup.is_none() {
                        entry.cgroup.clone_from(&task.cgroup);
                    }
                }
            }
            JournalEvent::Joined { task } => {
                let entry = past
                    .entry(task.key)
                    .or_insert_with(|| TaskHistory::of_unpinned(unpinned_index, task.key));
                entry.comm.clone_from(&task.comm);
                entry.joined = true;
                if entry.cgroup.is_none() {
                    entry.cgroup.clone_from(&task.cgroup);
                }
            }
            JournalEvent::Moving { tasks } => {
                for departure in tasks {
                    let key = departure.state.key;
                    let entry = past
                        .entry(key)
                        .or_insert_with(|| TaskHistory::of_unpinned(unpinned_index, key));
                    entry.record_departure(departure, answered.contains(&record.seq));
                }
            }
            JournalEvent::Moved { masks, .. } => {
                for (key, mask) in masks {
                    past.entry(*key).or_default().own_masks.insert(mask.clone());
                }
            }
            JournalEvent::Did {
                after: StateAfter::Value { masks, .. } | StateAfter::Tasks { masks },
                outcome,
                ..
            } => {
                for (key, mask) in masks {
                    let entry = past.entry(*key).or_default();
                    entry.own_masks.insert(mask.clone());
                    entry.open |= matches!(outcome, ChangeOutcome::Refused(_));
                }
            }
            _ => {}
        }
    }
    past
}
