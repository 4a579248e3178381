//! Moving tasks by hand, into a partition (`run`, `move`) and out of it again, so that undo brings them home.
//!
//! As everywhere: the record with place and mask goes into the journal first, for a whole batch at once, then come
//! the writes, the read-back, and the record of what the kernel made of it.

use crate::record::{Departure, Event, FormerPolicy, Outcome, TaskState};
use crate::{ApplyError, Journal, Record, System, census};
use machine::{CpuSet, Hierarchy, Task, TaskKey, Version};
use std::collections::BTreeMap;

/// Where tasks are moved, and who keeps the record.
pub struct Ride<'a, 'j> {
    /// The machine.
    pub system: &'a dyn System,
    /// The journal of what is in force.
    pub journal: &'a mut Journal<'j>,
    /// The cpuset hierarchy.
    pub hierarchy: &'a Hierarchy,
    /// The CPUs that partitions took from everybody else.
    pub isolated: &'a CpuSet,
}

/// What one write moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A process with all its threads (`cgroup.procs`).
    Process,
    /// One thread (`tasks`, v1 only).
    Thread,
}

/// One process or thread that is to be moved.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The number that is written.
    pub tid: u32,
    /// What is moved with it.
    pub unit: Unit,
    /// Directory of the cgroup that takes it.
    pub to: String,
    /// Its threads, each with the CPUs that it shall be pinned to there, if any.
    pub tasks: Vec<(u32, Option<CpuSet>)>,
    /// Masks that its threads may be given later; undo takes them for ours.
    pub later: Vec<CpuSet>,
    /// The policy that it is given after the move, if any.
    pub policy: Option<FormerPolicy>,
}

/// How one task fared.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The task where it was.
    pub before: TaskState,
    /// Where it is; `None` when it is gone.
    pub after: Option<TaskState>,
    /// How the move went.
    pub outcome: Outcome,
    /// The errno with which the kernel refused the pin.
    pub pin_refused: Option<i32>,
}

/// Moves a batch. Refusals are in the result.
///
/// # Errors
/// A journal that cannot be written; nothing was moved then, or everything that was is recorded.
pub fn relocate(ride: &mut Ride, parcels: &[Parcel]) -> Result<Vec<Arrival>, ApplyError> {
    let mut places = Effective::default();
    let mut departures = Vec::new();
    let mut begun: Vec<(usize, TaskState, Option<CpuSet>)> = Vec::new();
    for (number, parcel) in parcels.iter().enumerate() {
        for (tid, pin) in &parcel.tasks {
            let version = ride.hierarchy.version;
            let Some((task, state)) = census::state_of(ride.system, *tid, version)? else {
                continue;
            };
            let mask = gets_back(
                ride,
                &mut places,
                &state,
                pin.is_some() || !parcel.later.is_empty(),
            );
            let former = parcel.policy.map(|given| (FormerPolicy::of(&task), given));
            departures.push(Departure {
                state: state.clone(),
                gets_back: mask,
                policy: former,
            });
            begun.push((number, state, pin.clone()));
        }
    }
    if begun.is_empty() {
        return Ok(Vec::new());
    }
    let of = ride.journal.append(Event::Moving { tasks: departures })?;
    let outcomes: Vec<Outcome> = parcels.iter().map(|parcel| send(ride, parcel)).collect();
    let mut arrivals = Vec::with_capacity(begun.len());
    let mut masks = Vec::new();
    for (number, before, pin) in begun {
        let (Some(parcel), Some(outcome)) = (parcels.get(number), outcomes.get(number)) else {
            continue;
        };
        let arrival = arrive(ride, parcel, outcome, before, pin)?;
        if let Some(after) = &arrival.after {
            masks.push((after.key, after.mask.clone()));
            masks.extend(parcel.later.iter().map(|mask| (after.key, mask.clone())));
        }
        arrivals.push(arrival);
    }
    ride.journal.append(Event::Moved { of, masks })?;
    Ok(arrivals)
}

/// The mask that undo gives the task. One that nobody pinned gets the mask of its cgroup from the kernel, unless we
/// are about to pin it: then it gets what it had before partitions took their CPUs.
fn gets_back(ride: &Ride, places: &mut Effective, state: &TaskState, will_pin: bool) -> Option<CpuSet> {
    if state.mask.is_subset(ride.isolated) {
        return will_pin.then(|| places.of(ride, "/").or(ride.isolated));
    }
    let usual = places.of(ride, state.cgroup.as_deref().unwrap_or("/"));
    if !usual.minus(ride.isolated).is_subset(&state.mask) {
        return Some(state.mask.clone());
    }
    will_pin.then(|| state.mask.or(ride.isolated))
}

fn send(ride: &Ride, parcel: &Parcel) -> Outcome {
    let list = match parcel.unit {
        Unit::Process => "cgroup.procs",
        Unit::Thread => "tasks",
    };
    match ride
        .system
        .write(&format!("{}/{list}", parcel.to), &parcel.tid.to_string())
    {
        Ok(()) => Outcome::Done,
        Err(error) => match error.errno().unwrap_or(libc::EIO) {
            libc::ESRCH => Outcome::Gone,
            errno => Outcome::Refused(errno),
        },
    }
}

/// Pins the task where that is wanted, and looks where it is.
fn arrive(
    ride: &Ride,
    parcel: &Parcel,
    outcome: &Outcome,
    before: TaskState,
    pin: Option<CpuSet>,
) -> Result<Arrival, ApplyError> {
    let mut pin_refused = None;
    if let (Outcome::Done, Some(cpus)) = (outcome, pin)
        && let Err(error) = ride.system.set_affinity(before.key.tid, &cpus)
    {
        pin_refused = error.errno().filter(|errno| *errno != libc::ESRCH);
    }
    let after = census::state_of(ride.system, before.key.tid, ride.hierarchy.version)?
        .map(|(_, state)| state)
        .filter(|state| state.key == before.key);
    let wanted = parcel
        .to
        .strip_prefix(ride.hierarchy.mount.as_str())
        .filter(|path| !path.is_empty())
        .unwrap_or("/");
    let outcome = match (outcome, &after) {
        (_, None) => Outcome::Gone,
        (Outcome::Done, Some(state)) if state.cgroup.as_deref() != Some(wanted) => {
            Outcome::Otherwise(state.cgroup.clone().unwrap_or_default())
        }
        (outcome, Some(_)) => outcome.clone(),
    };
    Ok(Arrival {
        before,
        after,
        outcome,
        pin_refused,
    })
}

/// Where a task of a partition came from, with the mask that it has to be given there: [`Homes::of`].
pub struct Homes {
    known: BTreeMap<TaskKey, Departure>,
}

impl Homes {
    /// What the journal knows of those that `run` and `move` brought in.
    #[must_use]
    pub fn read(records: &[Record]) -> Homes {
        let mut known = BTreeMap::new();
        for record in records {
            match &record.event {
                Event::Moving { tasks } => {
                    known.extend(
                        tasks
                            .iter()
                            .map(|departure| (departure.state.key, departure.clone())),
                    );
                }
                Event::Joined { task } => {
                    let departure = Departure {
                        state: task.clone(),
                        gets_back: None,
                        policy: None,
                    };
                    known.insert(task.key, departure);
                }
                _ => {}
            }
        }
        Homes { known }
    }

    /// The cgroup directory that the task came from (its process's, its parent's, for one born inside), and the
    /// mask that it must be given there: the one that it had, or the whole of the place for one that was pinned
    /// inside. `None` leaves the mask to the kernel.
    #[must_use]
    pub fn of(
        &self,
        ride: &Ride,
        task: &Task,
        inside: &str,
        otherwise: &str,
    ) -> (String, Option<CpuSet>, Option<FormerPolicy>) {
        let own = self.known.get(&task.key);
        let origin = own.or_else(|| self.forebear(ride, task, inside));
        let mount = &ride.hierarchy.mount;
        let dir = origin
            .and_then(|departure| departure.state.cgroup.clone())
            .map(|cgroup| format!("{mount}{}", cgroup.trim_end_matches('/')))
            .filter(|dir| dir != inside && matches!(ride.system.root().kind(dir), Ok(Some(_))))
            .unwrap_or_else(|| otherwise.to_owned());
        let former = own
            .filter(|departure| departure.gets_back.as_ref() == Some(&departure.state.mask))
            .map(|departure| departure.state.mask.clone());
        let cgroup = |dir: &str| dir.strip_prefix(mount.as_str()).unwrap_or("/").to_owned();
        let mut places = Effective::default();
        let whole = places.of(ride, &cgroup(inside));
        let pinned_inside = task.allowed.as_ref().is_some_and(|mask| *mask != whole);
        let mask = former.or_else(|| {
            pinned_inside
                .then(|| places.of(ride, &cgroup(&dir)).minus(ride.isolated))
                .filter(|mask| !mask.is_empty())
        });
        let policy = own
            .and_then(|departure| departure.policy)
            .map(|(former, _)| former);
        (dir, mask, policy)
    }

    fn forebear(&self, ride: &Ride, task: &Task, inside: &str) -> Option<&Departure> {
        const GENERATIONS: usize = 64;
        let mut child = task.clone();
        for _ in 0..GENERATIONS {
            // A thread's own process counts before its parent.
            let next = if child.pid == child.key.tid {
                child.ppid
            } else {
                child.pid
            };
            let version = ride.hierarchy.version;
            let parent = machine::tasks::read_one(ride.system.root(), next)?;
            if let Some(known) = self.known.get(&parent.key) {
                return Some(known);
            }
            let cgroup = machine::tasks::cgroup_of(ride.system.root(), next, version)?;
            if format!("{}{cgroup}", ride.hierarchy.mount) != inside {
                return None;
            }
            child = parent;
        }
        None
    }
}

/// The CPUs that a cgroup gives its tasks, read once each.
#[derive(Default)]
struct Effective {
    known: BTreeMap<String, CpuSet>,
}

impl Effective {
    fn of(&mut self, ride: &Ride, cgroup: &str) -> CpuSet {
        if let Some(known) = self.known.get(cgroup) {
            return known.clone();
        }
        let cpus = effective(ride, cgroup);
        self.known.insert(cgroup.to_owned(), cpus.clone());
        cpus
    }
}

/// `cpuset.cpus.effective` of the cgroup, or of the nearest one above it that has the file.
fn effective(ride: &Ride, cgroup: &str) -> CpuSet {
    let Hierarchy {
        mount,
        version,
        prefix,
        ..
    } = ride.hierarchy;
    let files = match version {
        // A v1 set's own list is the effective one, unless a CPU is off.
        Version::V1 => [format!("{prefix}effective_cpus"), format!("{prefix}cpus")],
        Version::V2 => ["cpuset.cpus.effective".to_owned(), "cpuset.cpus".to_owned()],
    };
    let root = ride.system.root();
    let mut dir = cgroup.trim_end_matches('/');
    loop {
        for file in &files {
            let text = root.value(&format!("{mount}{dir}/{file}")).ok().flatten();
            let cpus = text.and_then(|text| CpuSet::parse_list(&text).ok());
            if let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) {
                return cpus;
            }
        }
        match dir.rsplit_once('/') {
            Some((above, _)) => dir = above,
            None => break,
        }
    }
    let online = root.value("/sys/devices/system/cpu/online").ok().flatten();
    online
        .and_then(|text| CpuSet::parse_list(&text).ok())
        .unwrap_or_default()
}
