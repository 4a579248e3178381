//! Decides which mask each task gets back, before any task is moved; the masks are set after all moves.
//!
//! Masks cannot be restored while the partition exists (the kernel cuts them to the cpuset), and moving a task may
//! rewrite its mask. So the intended masks are computed first, from the journal and from each task's current mask.

use crate::crowds::Crowds;
use crate::layers::is_in;
use crate::record::{After, Before, Departure, Drifted, Event, FormerPolicy, Outcome, Record, answered};
use crate::{System, census};
use machine::{CpuSet, Task, TaskKey, Version};
use std::collections::{BTreeMap, BTreeSet};

/// What the journal has about one task.
#[derive(Clone, Debug, Default)]
struct Past {
    comm: String,
    /// The mask before our first change.
    before: Option<CpuSet>,
    /// Masks that it had after one of our changes.
    ours: BTreeSet<CpuSet>,
    /// Whether a change of it was started and its outcome never recorded.
    open: bool,
    /// Whether we moved it into a partition.
    joined: bool,
    cgroup: Option<String>,
    /// Its policy before `move` changed it, and the policy from `move`.
    policy: Option<(FormerPolicy, FormerPolicy)>,
}

impl Past {
    /// For a task that may be recorded in a crowd, before a record of its own.
    fn in_crowd(crowds: &Crowds, key: TaskKey) -> Past {
        let crowd = crowds.one(key);
        Past {
            before: crowd.map(|crowd| crowd.mask.clone()),
            cgroup: crowd.map(|crowd| crowd.cgroup.clone()),
            ..Past::default()
        }
    }

    /// Whether this mask is its former one, or may be one of ours.
    fn has_set(&self, mask: &CpuSet) -> bool {
        self.open || self.before.as_ref() == Some(mask) || self.ours.contains(mask)
    }

    /// `run` or `move` is about to move it.
    fn leave(&mut self, departure: &Departure, answered: bool) {
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
        let known = self.before.as_ref() == Some(&state.mask) || self.ours.contains(&state.mask);
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
pub(crate) struct Share {
    /// The isolated CPUs.
    pub isolated: CpuSet,
    /// The other online CPUs.
    pub housekeeping: CpuSet,
}

impl Share {
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
pub(crate) struct Scope {
    /// `seq` of the `begin` that is undone.
    pub layer: u64,
    /// With the partition.
    pub with: Share,
    /// Without it.
    pub without: Share,
    /// Cgroups of the remaining partitions; tasks in them are not changed.
    pub stay: Vec<String>,
    /// Version of the cpuset hierarchy, for finding tasks' cgroups.
    pub version: Version,
}

/// The intended mask of each task when one partition is undone.
pub(crate) struct Wishes {
    masks: BTreeMap<TaskKey, CpuSet>,
    homes: BTreeMap<TaskKey, String>,
    policies: BTreeMap<TaskKey, (FormerPolicy, FormerPolicy)>,
    /// IDs of the tasks that the journal recorded one by one.
    known: BTreeSet<u32>,
    crowds: Crowds,
    /// Tasks whose mask another program changed since.
    pub drifted: Vec<Drifted>,
}

impl Wishes {
    /// Computes the intended masks. `newcomers` are tasks in our sets now; those that the journal does not know started since.
    pub fn of(
        system: &dyn System,
        records: &[Record],
        scope: &Scope,
        newcomers: &[Task],
        set_masks: &[CpuSet],
    ) -> Wishes {
        let crowds = Crowds::of(records);
        let past = past_of(records, &crowds);
        let (masks, drifted) = decided(records, scope.layer);
        let mut wishes = Wishes {
            masks,
            homes: BTreeMap::new(),
            policies: BTreeMap::new(),
            known: past.keys().map(|key| key.tid).collect(),
            crowds,
            drifted,
        };
        let inside: BTreeSet<TaskKey> = newcomers.iter().map(|task| task.key).collect();
        for (key, past) in &past {
            let Some(now) = census::mask_of(system, *key) else {
                continue;
            };
            if !scope.stay.is_empty() && scope.holds(system, *key) {
                continue;
            }
            if let Some(policy) = past.policy
                && (scope.stay.is_empty() || inside.contains(key))
            {
                wishes.policies.insert(*key, policy);
            }
            if let Some(cgroup) = &past.cgroup {
                wishes.homes.insert(*key, cgroup.clone());
            }
            if wishes.masks.contains_key(key) {
                continue;
            }
            let Some(before) = &past.before else { continue };
            let wanted = scope.without.of(before);
            // In a set that is being removed, its mask is the set's, or a pin inside it.
            let inside = inside.contains(key) && (past.joined || set_masks.contains(&now));
            if inside || now == wanted || now == scope.with.of(before) || past.has_set(&now) {
                wishes.masks.insert(*key, wanted);
            } else if !is_irq_thread(system, *key) {
                wishes.drifted.push(Drifted {
                    key: *key,
                    comm: past.comm.clone(),
                    now: now.clone(),
                    before: wanted,
                });
                wishes.masks.insert(*key, now);
            }
        }
        wishes.add_newcomers(newcomers, &past, scope, set_masks);
        wishes
    }

    /// Adds the tasks in our sets that the journal does not know.
    fn add_newcomers(
        &mut self,
        newcomers: &[Task],
        past: &BTreeMap<TaskKey, Past>,
        scope: &Scope,
        set_masks: &[CpuSet],
    ) {
        let by_pid: BTreeMap<u32, &Past> = past.iter().map(|(key, past)| (key.tid, past)).collect();
        for task in newcomers.iter().filter(|task| !past.contains_key(&task.key)) {
            if self.masks.contains_key(&task.key) {
                continue;
            }
            let Some(mask) = &task.allowed else { continue };
            let is_thread = task.pid != task.key.tid;
            let parent = by_pid.get(if is_thread { &task.pid } else { &task.ppid });
            let inherited = parent
                .filter(|parent| parent.ours.contains(mask))
                .and_then(|parent| parent.before.as_ref())
                .map(|before| scope.without.of(before));
            match inherited {
                Some(before) => drop(self.masks.insert(task.key, before)),
                // The set's own mask is not a pin: the kernel gives the task the mask of its new cgroup.
                None if set_masks.contains(mask) => {}
                None => {
                    // A formerly unpinned task. Another program pinned it since, unless the kernel did
                    // (`kcompactd_cpu_online` gives its thread all CPUs of the node, regardless of its set).
                    let crowd = self.crowds.one(task.key).filter(|_| !task.is_irq_thread());
                    let before = crowd.map(|crowd| scope.without.of(&crowd.mask));
                    if let Some(before) = before.filter(|before| before != mask) {
                        self.drifted.push(Drifted {
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
        self.masks
            .iter()
            .map(|(key, mask)| (*key, mask.clone()))
            .collect()
    }

    /// The tasks with an intended mask.
    pub fn keys(&self) -> BTreeSet<TaskKey> {
        self.masks.keys().copied().collect()
    }

    /// The cgroup that a task came from, if the journal has it.
    pub fn home(&self, key: TaskKey) -> Option<&str> {
        self.homes.get(&key).map(String::as_str)
    }

    /// The cgroup that a thread ID of a crowd came from; not for tasks that were recorded one by one. If the ID was reused, its
    /// task was forked by one of the crowd or put into our set by hand. That place is suitable in both cases.
    pub fn home_of_crowd(&self, tid: u32) -> Option<&str> {
        if self.known.contains(&tid) {
            return None;
        }
        self.crowds.by_number(tid).map(|crowd| crowd.cgroup.as_str())
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
        for (key, wanted) in &self.masks {
            let Some(now) = census::mask_of(system, *key).filter(|now| now != wanted) else {
                continue;
            };
            if let Err(error) = system.set_affinity(key.tid, wanted)
                && error.errno() != Some(libc::ESRCH)
            {
                failed.push(format!(
                    "task {}: may run on {now}, before {wanted}: {error}",
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
                failed.push(format!(
                    "task {}: keeps the policy that it was given: {error}",
                    key.tid
                ));
            }
        }
        failed
    }
}

impl Scope {
    /// Whether a task is in a remaining partition.
    fn holds(&self, system: &dyn System, key: TaskKey) -> bool {
        let cgroup = machine::tasks::cgroup_of(system.root(), key.tid, self.version);
        cgroup.is_some_and(|cgroup| self.stay.iter().any(|stay| is_in(&cgroup, stay)))
    }
}

/// Whether it is the thread of a threaded interrupt. Its mask is not a pin: when the interrupt fires next, the kernel
/// sets it to the effective affinity of the interrupt (`irq_thread_check_affinity`).
fn is_irq_thread(system: &dyn System, key: TaskKey) -> bool {
    machine::tasks::read_one(system.root(), key.tid).is_some_and(|task| task.is_irq_thread())
}

/// The decisions of an earlier, interrupted undo.
fn decided(records: &[Record], layer: u64) -> (BTreeMap<TaskKey, CpuSet>, Vec<Drifted>) {
    let first = records.first().map_or(0, |record| record.seq);
    let earlier = records.iter().rev().find_map(|record| match &record.event {
        Event::UndoBegin {
            masks,
            drifted,
            layer: of,
            ..
        } if of.unwrap_or(first) == layer => Some((masks.iter().cloned().collect(), drifted.clone())),
        _ => None,
    });
    earlier.unwrap_or_default()
}

/// What [`Wishes::of`] needs to know about members of our sets: IDs that the journal recorded one by one, and those of
/// them whose children may have inherited a mask of ours that is one of `set_masks`.
pub(crate) struct Acquaintance {
    /// Their thread IDs.
    pub known: BTreeSet<u32>,
    /// Processes whose children and threads have to be read.
    pub parents: Vec<u32>,
    /// Whether any tasks were recorded as a crowd.
    pub has_crowd: bool,
}

impl Acquaintance {
    /// Reads it from the journal.
    pub fn of(records: &[Record], set_masks: &[CpuSet]) -> Acquaintance {
        let crowds = Crowds::of(records);
        let past = past_of(records, &crowds);
        let hands_down = |past: &Past| past.ours.iter().any(|mask| set_masks.contains(mask));
        let parents = past.iter().filter(|(_, past)| hands_down(past));
        Acquaintance {
            known: past.keys().map(|key| key.tid).collect(),
            parents: parents.map(|(key, _)| key.tid).collect(),
            has_crowd: !crowds.is_empty(),
        }
    }
}

fn past_of(records: &[Record], crowds: &Crowds) -> BTreeMap<TaskKey, Past> {
    let mut past: BTreeMap<TaskKey, Past> = BTreeMap::new();
    let answered = answered(records);
    for record in records {
        match &record.event {
            Event::Will {
                before: before @ (Before::Tasks { tasks, .. } | Before::Value { tasks, .. }),
                ..
            } => {
                let is_move = matches!(before, Before::Tasks { .. });
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
            Event::Joined { task } => {
                let entry = past
                    .entry(task.key)
                    .or_insert_with(|| Past::in_crowd(crowds, task.key));
                entry.comm.clone_from(&task.comm);
                entry.joined = true;
                if entry.cgroup.is_none() {
                    entry.cgroup.clone_from(&task.cgroup);
                }
            }
            Event::Moving { tasks } => {
                for departure in tasks {
                    let key = departure.state.key;
                    let entry = past.entry(key).or_insert_with(|| Past::in_crowd(crowds, key));
                    entry.leave(departure, answered.contains(&record.seq));
                }
            }
            Event::Moved { masks, .. } => {
                for (key, mask) in masks {
                    past.entry(*key).or_default().ours.insert(mask.clone());
                }
            }
            Event::Did {
                after: After::Value { masks, .. } | After::Tasks { masks },
                outcome,
                ..
            } => {
                for (key, mask) in masks {
                    let entry = past.entry(*key).or_default();
                    entry.ours.insert(mask.clone());
                    entry.open |= matches!(outcome, Outcome::Refused(_));
                }
            }
            _ => {}
        }
    }
    past
}
