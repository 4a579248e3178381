//! Moves tasks into a partition (`run`, `move`) and out of it, so that undo can move them back.
//!
//! As everywhere, the record with place and mask goes into the journal first, for a whole batch at once. Then come the
//! writes, the read-back, and the record of the result.

mod way;

use crate::fingerprint::ONLINE;
use crate::parcel::{Arrival, MoveContext, MovePurpose, MoveUnit, PlannedMove, ThreadMove};
use crate::record::{ChangeOutcome, Departure, FormerPolicy, HoldingCgroup, JournalEvent, TaskState};
use crate::{ApplyError, Journal, JournalRecord, census, ended_moves, threads};
use machine::{CpuSet, Hierarchy, Task, TaskKey, Version};
use std::collections::BTreeMap;

/// Moves a batch. Refusals are in the result. On v2, the target is prepared for single threads first.
///
/// # Errors
/// A journal that cannot be written; either nothing was moved, or every move is recorded.
pub fn relocate(
    context: &MoveContext,
    journal: &mut Journal,
    parcels: &[PlannedMove],
) -> Result<Vec<Arrival>, ApplyError> {
    if context.hierarchy.version == Version::V2 {
        way::make_way(context, journal, parcels)?;
    }
    batch(context, journal, parcels)
}

/// One task of a batch: index of its parcel, its former place, the pin that it gets, and its former pin.
struct StartedMove {
    number: usize,
    before: TaskState,
    pin: Option<CpuSet>,
    previous_mask: Option<CpuSet>,
}

/// Like [`relocate`], for a prepared target.
fn batch(context: &MoveContext, journal: &mut Journal, parcels: &[PlannedMove]) -> Result<Vec<Arrival>, ApplyError> {
    let mut places = EffectiveCpus::default();
    let mut departures = Vec::new();
    let mut started: Vec<StartedMove> = Vec::new();
    let since = own_start(context);
    for (number, parcel) in parcels.iter().enumerate() {
        for ThreadMove { tid, pin, policy } in &parcel.tasks {
            let version = context.hierarchy.version;
            let Some((task, state)) = census::state_of(context.system, *tid, version)? else {
                continue;
            };
            let is_pinned = pin.is_some() || !parcel.later.is_empty();
            let mask = mask_after_undo(context, &mut places, &state, is_pinned);
            // The parameters of SCHED_DEADLINE are not in /proc, so that policy cannot be restored.
            let former = policy
                .filter(|_| task.policy != machine::Policy::Deadline)
                .map(|given| (FormerPolicy::of(&task), given));
            let waits = (parcel.stay == MovePurpose::Waits).then(|| HoldingCgroup {
                cgroup: below(context, &parcel.to),
                since,
            });
            started.push(StartedMove {
                number,
                before: state.clone(),
                pin: pin.clone(),
                previous_mask: mask.clone().filter(|_| is_pinned_outside(context, parcel, &state)),
            });
            departures.push(Departure {
                state,
                gets_back: mask,
                policy: former,
                waits,
            });
        }
    }
    if started.is_empty() {
        return Ok(Vec::new());
    }
    ended_moves::drop_ended(context.system, journal);
    let of = journal.append(JournalEvent::Moving { tasks: departures })?;
    let outcomes: Vec<ChangeOutcome> = parcels.iter().map(|parcel| enter(context, parcel)).collect();
    let mut arrivals = Vec::with_capacity(started.len());
    let mut masks = Vec::new();
    for one in started {
        let (Some(parcel), Some(outcome)) = (parcels.get(one.number), outcomes.get(one.number)) else {
            continue;
        };
        let arrival = arrive(context, &mut places, parcel, outcome, one)?;
        if let Some(after) = &arrival.after {
            masks.push((after.key, after.mask.clone()));
            masks.extend(parcel.later.iter().map(|mask| (after.key, mask.clone())));
        }
        arrivals.push(arrival);
    }
    journal.append(JournalEvent::Moved { of, masks })?;
    Ok(arrivals)
}

/// The mask that undo gives the task. An unpinned task gets the mask of its cgroup from the kernel. If we are about to
/// pin it, undo restores the mask from before partitions took their CPUs.
fn mask_after_undo(
    context: &MoveContext,
    places: &mut EffectiveCpus,
    state: &TaskState,
    will_pin: bool,
) -> Option<CpuSet> {
    if state.mask.is_subset(context.isolated) {
        return will_pin.then(|| places.of(context, "/").or(context.isolated));
    }
    let usual = places.of(context, state.cgroup.as_deref().unwrap_or("/"));
    if !usual.minus(context.isolated).is_subset(&state.mask) {
        return Some(state.mask.clone());
    }
    will_pin.then(|| state.mask.or(context.isolated))
}

/// Moves a parcel. On its own it moves the calling process into a cgroup that is no partition of ours, before it executes
/// a program there; that changes nothing that existed, so there is nothing to undo.
#[must_use]
pub fn enter(context: &MoveContext, parcel: &PlannedMove) -> ChangeOutcome {
    let list = match (parcel.unit, context.hierarchy.version) {
        (MoveUnit::Process, _) => "cgroup.procs",
        (MoveUnit::Thread, Version::V1) => "tasks",
        (MoveUnit::Thread, Version::V2) => "cgroup.threads",
    };
    if parcel.unit == MoveUnit::Process && context.hierarchy.version == Version::V2 {
        threads::gather(context, parcel);
    }
    match context
        .system
        .write(&format!("{}/{list}", parcel.to), &parcel.tid.to_string())
    {
        Ok(()) => ChangeOutcome::Done,
        Err(error) => match error.errno().unwrap_or(libc::EIO) {
            libc::ESRCH => ChangeOutcome::Gone,
            errno => ChangeOutcome::Refused(errno),
        },
    }
}

/// Pins the task if requested, and reads where it is.
fn arrive(
    context: &MoveContext,
    places: &mut EffectiveCpus,
    parcel: &PlannedMove,
    outcome: &ChangeOutcome,
    one: StartedMove,
) -> Result<Arrival, ApplyError> {
    let StartedMove {
        before,
        pin,
        previous_mask: had,
        ..
    } = one;
    let mut pin_refused = None;
    let destination = below(context, &parcel.to);
    let pin = match (outcome, pin) {
        (ChangeOutcome::Done, None) => corrected(context, &places.of(context, &destination), &before, had),
        (_, pin) => pin,
    };
    if let (ChangeOutcome::Done, Some(cpus)) = (outcome, pin)
        && let Err(error) = context.system.set_affinity(before.key.tid, &cpus)
    {
        pin_refused = error.errno().filter(|errno| *errno != libc::ESRCH);
    }
    let after = census::state_of(context.system, before.key.tid, context.hierarchy.version)?
        .filter(|(_, state)| state.key == before.key);
    let outcome = match (outcome, &after) {
        (_, None) => ChangeOutcome::Gone,
        (ChangeOutcome::Done, Some((task, state))) if state.cgroup.as_deref() != Some(destination.as_str()) => {
            // cgroup_migrate_add_task skips an exiting task, and the write succeeds anyway.
            match task.is_over() {
                true => ChangeOutcome::Gone,
                false => ChangeOutcome::Otherwise(state.cgroup.clone().unwrap_or_default()),
            }
        }
        (outcome, Some(_)) => outcome.clone(),
    };
    Ok(Arrival {
        before,
        after: after.map(|(_, state)| state),
        outcome,
        pin_refused,
    })
}

/// The mask that the kernel should have given a task with its new place but did not. Before 6.2 an attach drops the
/// former pin, and an attach to the root also gives the task the CPUs of all partitions. `None` if the mask is right.
fn corrected(context: &MoveContext, room: &CpuSet, before: &TaskState, had: Option<CpuSet>) -> Option<CpuSet> {
    let now = census::mask_of(context.system, before.key)?;
    let is_outside = !room.intersects(context.isolated);
    let had = had.filter(|_| is_outside);
    let mask = had.map_or_else(|| now.and(room), |had| had.and(room));
    (context.hierarchy.version == Version::V2 && !mask.is_empty() && mask != now).then_some(mask)
}

/// Whether the mask that undo restores is the task's current pin, outside of all partitions.
fn is_pinned_outside(context: &MoveContext, parcel: &PlannedMove, state: &TaskState) -> bool {
    parcel.later.is_empty() && !state.mask.is_subset(context.isolated)
}

/// A directory as a path below the mount.
fn below(context: &MoveContext, dir: &str) -> String {
    let path = dir.strip_prefix(context.hierarchy.mount.as_str());
    path.filter(|path| !path.is_empty()).unwrap_or("/").to_owned()
}

/// Start time of this process, in clock ticks since boot. A process that starts later may be a child of a moved task.
fn own_start(context: &MoveContext) -> u64 {
    machine::tasks::read_one(context.system.root(), std::process::id()).map_or(0, |own| own.key.start_time)
}

/// Where the tasks of a partition came from, and the masks that they need there: [`TaskOrigins::of`].
pub struct TaskOrigins {
    known: BTreeMap<TaskKey, Departure>,
}

impl TaskOrigins {
    /// Reads from the journal where `run` and `move` found the tasks that they moved in.
    #[must_use]
    pub fn read(records: &[JournalRecord]) -> TaskOrigins {
        let mut known = BTreeMap::new();
        for record in records {
            match &record.event {
                JournalEvent::Moving { tasks } => {
                    for departure in tasks {
                        let mut departure = departure.clone();
                        // A task that only waited there returns to its place before that.
                        let former: Option<&Departure> = known.get(&departure.state.key);
                        if let Some(former) = former.filter(|former| former.waits_in(&departure.state)) {
                            departure.state.cgroup.clone_from(&former.state.cgroup);
                        }
                        known.insert(departure.state.key, departure);
                    }
                }
                JournalEvent::Joined { task } => {
                    let departure = Departure {
                        state: task.clone(),
                        gets_back: None,
                        policy: None,
                        waits: None,
                    };
                    known.insert(task.key, departure);
                }
                _ => {}
            }
        }
        TaskOrigins { known }
    }

    /// Returns the cgroup directory that the task came from (its process's or its parent's, for a task that started inside) and
    /// the mask to set there: its former one, or all CPUs of the place for a task pinned inside. `None` leaves the mask to the
    /// kernel. Last comes the policy from before `move` changed it, if the task still has the one from `move`.
    #[must_use]
    pub fn of(
        &self,
        context: &MoveContext,
        task: &Task,
        inside: &str,
        otherwise: &str,
    ) -> (String, Option<CpuSet>, Option<FormerPolicy>) {
        let own = self.known.get(&task.key);
        let origin = own.or_else(|| self.ancestor_departure(context, task, inside));
        let mount = &context.hierarchy.mount;
        let dir = origin
            .and_then(|departure| departure.state.cgroup.clone())
            .map(|cgroup| format!("{mount}{}", cgroup.trim_end_matches('/')))
            .filter(|dir| dir != inside && matches!(context.system.root().kind(dir), Ok(Some(_))))
            .unwrap_or_else(|| otherwise.to_owned());
        let former = own
            .filter(|departure| departure.gets_back.as_ref() == Some(&departure.state.mask))
            .map(|departure| departure.state.mask.clone());
        let cgroup = |dir: &str| dir.strip_prefix(mount.as_str()).unwrap_or("/").to_owned();
        let mut places = EffectiveCpus::default();
        let whole = places.of(context, &cgroup(inside));
        let pinned_inside = task.allowed.as_ref().is_some_and(|mask| *mask != whole);
        let mask = former.or_else(|| {
            pinned_inside
                .then(|| places.of(context, &cgroup(&dir)).minus(context.isolated))
                .filter(|mask| !mask.is_empty())
        });
        let policy = own
            .and_then(|departure| departure.policy)
            .filter(|(_, given)| *given == FormerPolicy::of(task))
            .map(|(former, _)| former);
        (dir, mask, policy)
    }

    fn ancestor_departure(&self, context: &MoveContext, task: &Task, inside: &str) -> Option<&Departure> {
        const GENERATIONS: usize = 64;
        let mut child = task.clone();
        for _ in 0..GENERATIONS {
            // A thread's own process takes precedence over its parent.
            let next = if child.pid == child.key.tid {
                child.ppid
            } else {
                child.pid
            };
            let version = context.hierarchy.version;
            let parent = machine::tasks::read_one(context.system.root(), next)?;
            if let Some(known) = self.known.get(&parent.key) {
                return Some(known);
            }
            let cgroup = machine::tasks::cgroup_of(context.system.root(), next, version)?;
            if format!("{}{cgroup}", context.hierarchy.mount) != inside {
                return None;
            }
            child = parent;
        }
        None
    }
}

/// The CPUs that a cgroup gives its tasks, cached.
#[derive(Default)]
struct EffectiveCpus {
    known: BTreeMap<String, CpuSet>,
}

impl EffectiveCpus {
    fn of(&mut self, context: &MoveContext, cgroup: &str) -> CpuSet {
        if let Some(known) = self.known.get(cgroup) {
            return known.clone();
        }
        let cpus = effective(context, cgroup);
        self.known.insert(cgroup.to_owned(), cpus.clone());
        cpus
    }
}

/// `cpuset.cpus.effective` of the cgroup, or of the nearest one above it that has the file.
fn effective(context: &MoveContext, cgroup: &str) -> CpuSet {
    let Hierarchy {
        mount, version, prefix, ..
    } = context.hierarchy;
    let files = match version {
        // A v1 set's own list is the effective one, unless a CPU is offline.
        Version::V1 => [format!("{prefix}effective_cpus"), format!("{prefix}cpus")],
        Version::V2 => ["cpuset.cpus.effective".to_owned(), "cpuset.cpus".to_owned()],
    };
    let root = context.system.root();
    let mut dir = cgroup.trim_end_matches('/');
    loop {
        for file in &files {
            let cpus = machine::cpu_list(root, &format!("{mount}{dir}/{file}"));
            if let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) {
                return cpus;
            }
        }
        match dir.rsplit_once('/') {
            Some((above, _)) => dir = above,
            None => break,
        }
    }
    machine::cpu_list(root, ONLINE).unwrap_or_default()
}
