//! Which mask each task gets back, decided before anything is moved and set after everything is.
//!
//! Masks cannot be restored while the partition stands (the kernel cuts them to the cpuset), and moving a task
//! may rewrite its mask. So the wish is worked out first, from the journal and from what each task has now.

use crate::crowds::Crowds;
use crate::layers::is_in;
use crate::record::{After, Before, Departure, Drifted, Event, FormerPolicy, Outcome, Record, answered};
use crate::{System, census};
use machine::{CpuSet, Task, TaskKey, Version};
use std::collections::{BTreeMap, BTreeSet};

/// What the journal knows of one task.
#[derive(Clone, Debug, Default)]
struct Past {
    comm: String,
    /// The mask before our first change.
    before: Option<CpuSet>,
    /// Masks that it had after one of our changes.
    ours: BTreeSet<CpuSet>,
    /// Whether a change of it was begun and its outcome never recorded.
    open: bool,
    /// Whether we put it into a partition.
    joined: bool,
    cgroup: Option<String>,
    /// Its policy before `move` gave it one, and that one.
    policy: Option<(FormerPolicy, FormerPolicy)>,
}

impl Past {
    /// Of a task that may have been noted with others, before something is said of it alone.
    fn in_crowd(crowds: &Crowds, key: TaskKey) -> Past {
        let crowd = crowds.one(key);
        Past {
            before: crowd.map(|crowd| crowd.mask.clone()),
            cgroup: crowd.map(|crowd| crowd.cgroup.clone()),
            ..Past::default()
        }
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
        // A mask that neither was there before us nor came from us is somebody's wish of meanwhile.
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

/// CPUs that partitions take, and those that are left for everything else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share {
    /// The isolated CPUs.
    pub isolated: CpuSet,
    /// The other online ones.
    pub housekeeping: CpuSet,
}

impl Share {
    /// What is left of a mask. One that would be empty becomes the housekeeping CPUs, as every planner of a mask
    /// here does it.
    pub fn of(&self, mask: &CpuSet) -> CpuSet {
        let rest = mask.minus(&self.isolated);
        if !self.isolated.is_empty() && rest.and(&self.housekeeping).is_empty() {
            self.housekeeping.clone()
        } else {
            rest
        }
    }
}

/// Before and after one partition is taken back.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// `seq` of the `begin` of the one that is taken back.
    pub layer: u64,
    /// With it.
    pub with: Share,
    /// Without it.
    pub without: Share,
    /// Cgroups of the partitions that stay: their tasks are not touched.
    pub stay: Vec<String>,
    /// How tasks' cgroups are found.
    pub version: Version,
}

/// What each task should have when one partition is taken back.
pub(crate) struct Wishes {
    masks: BTreeMap<TaskKey, CpuSet>,
    homes: BTreeMap<TaskKey, String>,
    policies: BTreeMap<TaskKey, (FormerPolicy, FormerPolicy)>,
    /// Numbers of the tasks that the journal knows one by one.
    known: BTreeSet<u32>,
    crowds: Crowds,
    /// Tasks whose mask somebody else changed since.
    pub drifted: Vec<Drifted>,
}

impl Wishes {
    /// Works out the wishes. `newcomers` are tasks in our sets now; those that the journal does not know were
    /// born since.
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
            // In a set that is taken apart its mask is the set's, or a pin inside it.
            let inside = inside.contains(key) && (past.joined || set_masks.contains(&now));
            let ours = past.open
                || inside
                || now == *before
                || now == wanted
                || now == scope.with.of(before)
                || past.ours.contains(&now);
            if ours {
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
        let by_pid: BTreeMap<u32, &Past> = past.iter().map(|(key, past)| (key.tid, past)).collect();
        for task in newcomers.iter().filter(|task| !past.contains_key(&task.key)) {
            if wishes.masks.contains_key(&task.key) {
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
                Some(before) => drop(wishes.masks.insert(task.key, before)),
                // The set's own mask is nobody's pin: the kernel gives the task its new cgroup's.
                None if set_masks.contains(mask) => {}
                None => {
                    // One of those that nobody had pinned: somebody has since, unless it is the kernel's own doing
                    // (`kcompactd_cpu_online` gives its thread all CPUs of the node, whatever its set says).
                    let crowd = wishes.crowds.one(task.key).filter(|_| !task.is_irq_thread());
                    let before = crowd.map(|crowd| scope.without.of(&crowd.mask));
                    if let Some(before) = before.filter(|before| before != mask) {
                        wishes.drifted.push(Drifted {
                            key: task.key,
                            comm: task.comm.clone(),
                            now: mask.clone(),
                            before,
                        });
                    }
                    wishes.masks.insert(task.key, mask.clone());
                }
            }
        }
        wishes
    }

    /// The masks, for the journal.
    pub fn masks(&self) -> Vec<(TaskKey, CpuSet)> {
        self.masks
            .iter()
            .map(|(key, mask)| (*key, mask.clone()))
            .collect()
    }

    /// The tasks that it is about.
    pub fn keys(&self) -> BTreeSet<TaskKey> {
        self.masks.keys().copied().collect()
    }

    /// The cgroup that a task came from, where the journal knows.
    pub fn home(&self, key: TaskKey) -> Option<&str> {
        self.homes.get(&key).map(String::as_str)
    }

    /// The cgroup that a number of a crowd came from. Not for tasks that are known one by one. Who has the number by
    /// now was born to one of them, or put into our set by hand: in both cases that place is as good as any.
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

    /// Gives every task its mask, where the kernel did not. Returns those that it refused.
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
            // Another policy than ours is somebody else's, or its own.
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
    /// Whether a task is in a partition that stays.
    fn holds(&self, system: &dyn System, key: TaskKey) -> bool {
        let cgroup = machine::tasks::cgroup_of(system.root(), key.tid, self.version);
        cgroup.is_some_and(|cgroup| self.stay.iter().any(|stay| is_in(&cgroup, stay)))
    }
}

/// Whether it is the thread of a threaded interrupt. Its mask is no one's pin: the kernel gives it that of the
/// interrupt's effective affinity when the interrupt fires next (`irq_thread_check_affinity`).
fn is_irq_thread(system: &dyn System, key: TaskKey) -> bool {
    machine::tasks::read_one(system.root(), key.tid).is_some_and(|task| task.is_irq_thread())
}

/// What an earlier undo that was stopped had decided.
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

/// What [`Wishes::of`] has to know about members of our sets: numbers that the journal knows one by one, and those of
/// them whose children may have inherited a mask of ours that is one of `set_masks`.
pub(crate) struct Acquaintance {
    /// Their numbers.
    pub known: BTreeSet<u32>,
    /// Processes whose children and threads have to be looked at.
    pub parents: Vec<u32>,
    /// Whether tasks were noted together at all.
    pub has_crowd: bool,
}

impl Acquaintance {
    /// From the journal.
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
                before: Before::Tasks { tasks, .. } | Before::Value { tasks, .. },
                ..
            } => {
                let is_move = matches!(
                    &record.event,
                    Event::Will {
                        before: Before::Tasks { .. },
                        ..
                    }
                );
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
