//! Finds active partitions and places tasks in them, for both `run` and `move`.

use crate::comm_pattern::{Glob, Pin};
use crate::rt_group::NoRuntime;
use crate::{ChangeLock, isolation};
use apply::{ApplyLayer, ChangeOutcome, Journal, JournalState, MovePurpose, MoveUnit, PlannedMove, ThreadMove};
use machine::{CpuSet, Hierarchy, Machine, Task, Version};
use plan::Intent;
use plan::words::did_you_mean;
use root::{Failure, Root, Status};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;

/// An active partition.
#[derive(Clone, Debug)]
pub struct ActivePartition {
    /// The directory of its cgroup.
    pub path: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// The cgroup of another program that is the partition, below the mount; `None` if it is a cgroup of our own.
    pub in_place: Option<String>,
    /// CPUs that it and the other active partitions took from all other tasks.
    pub reserved_cpus: CpuSet,
    /// The directory of the housekeeping set, if there is one.
    pub housekeeping: Option<String>,
    /// The cgroup hierarchy version.
    pub version: Version,
    /// The arguments of `apply` that create it.
    pub arguments: String,
}

impl ActivePartition {
    /// The partition of an intent on a hierarchy.
    #[must_use]
    pub fn of(hierarchy: &Hierarchy, intent: &Intent) -> ActivePartition {
        ActivePartition {
            path: intent.cgroup_path(hierarchy),
            in_place: intent.in_place.clone().filter(|_| hierarchy.version == Version::V2),
            cpus: intent.cpus.clone(),
            reserved_cpus: intent.cpus.clone(),
            housekeeping: intent.housekeeping_path(hierarchy),
            version: hierarchy.version,
            arguments: intent.arguments(),
        }
    }

    /// The file that takes a task: one thread on v1, a process on v2.
    #[must_use]
    pub fn door(&self) -> String {
        format!("{}/{}", self.path, self.version.entry_file())
    }

    /// Whether a task in this cgroup, given below the mount, is in the partition.
    #[must_use]
    pub fn has_inside(&self, hierarchy: &Hierarchy, cgroup: &str) -> bool {
        self.is_place_of(cgroup) || (self.in_place.is_none() && hierarchy.dir(cgroup) == self.path)
    }

    /// Whether the partition is the cgroup of another program, and this cgroup is it or inside it.
    #[must_use]
    pub fn is_place_of(&self, cgroup: &str) -> bool {
        self.in_place
            .as_ref()
            .is_some_and(|place| machine::is_within(cgroup, place))
    }

    /// Where a task in this cgroup goes when it joins the partition.
    ///
    /// # Errors
    /// Why it goes nowhere, if the partition is the cgroup of another program.
    pub fn entrance(&self, root: &Root, hierarchy: &Hierarchy, cgroup: &str) -> Result<String, NoEntrance> {
        let Some(place) = &self.in_place else {
            return Ok(self.path.clone());
        };
        let dir = hierarchy.dir(cgroup);
        let place = place.clone();
        if !is_partition(root, &self.path) {
            return Err(NoEntrance::Ended { place });
        }
        match self.is_place_of(cgroup) {
            // A move would collect the threads that its manager has distributed.
            true if apply::threads::is_threaded(root, &dir) => Err(NoEntrance::Threaded { place }),
            true => Ok(dir),
            false => Err(NoEntrance::Outside { place }),
        }
    }

    /// Whether the scheduler spreads unpinned tasks over its CPUs.
    #[must_use]
    pub fn is_balanced(&self, root: &Root, prefix: &str) -> bool {
        let value = |file: String| root.readable_value(&file).unwrap_or_default();
        match self.version {
            Version::V1 => value(format!("{}/{prefix}sched_load_balance", self.path)) != "0",
            Version::V2 => !value(format!("{}/cpuset.cpus.partition", self.path)).starts_with("isolated"),
        }
    }

    /// The CPUs of an expression; all must be in the partition and at least one online.
    fn cpus_of(&self, expression: &str, machine: &Machine) -> Result<CpuSet, Failure> {
        let cpus = isolation::cpus(expression, machine)?;
        if cpus.is_empty() || !cpus.is_subset(&self.cpus) {
            return Err(Failure::usage(
                format!("CPU {cpus} is not in the partition {}", self.path),
                format!("its CPUs are {}", self.cpus),
                "choose from those",
            ));
        }
        if !cpus.intersects(&machine.topology.online) {
            return Err(Failure::unable(
                format!("CPU {cpus} is offline"),
                format!("the online CPUs are {}", machine.topology.online),
                "choose CPUs of the partition that are online",
            ));
        }
        Ok(cpus)
    }
}

/// Why no task joins or leaves a partition that is the cgroup of another program.
#[derive(Clone, Debug)]
pub enum NoEntrance {
    /// The task is not in the cgroup.
    Outside {
        /// The cgroup.
        place: String,
    },
    /// The cgroup is no partition any more.
    Ended {
        /// The cgroup.
        place: String,
    },
    /// The task is inside, and the cgroup distributes single threads.
    Threaded {
        /// The cgroup.
        place: String,
    },
}

impl fmt::Display for NoEntrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoEntrance::Outside { place } => write!(
                f,
                "the partition is the cgroup {place} of another program, and only its manager moves tasks into it or out of it"
            ),
            NoEntrance::Ended { place } => write!(
                f,
                "the cgroup {place} is no partition any more: it was removed, or made again by its manager"
            ),
            NoEntrance::Threaded { place } => write!(
                f,
                "its manager distributes its threads over the cgroups in {place}; pin single threads with taskset"
            ),
        }
    }
}

/// Whether a v2 cgroup is a valid partition.
pub(crate) fn is_partition(root: &Root, dir: &str) -> bool {
    let state = root.readable_value(&format!("{dir}/cpuset.cpus.partition"));
    matches!(state.as_deref(), Some("isolated" | "root"))
}

/// The error when no such partition is active, with similar names of those that are.
#[must_use]
pub fn no_partition(name: &str, in_force: &[Intent]) -> Failure {
    let names = in_force.iter().map(|intent| intent.name.as_str());
    Failure::unable(
        format!("there is no partition {}", report::safe(name)),
        "no partition of that name is active",
        did_you_mean(name, names)
            .unwrap_or_else(|| "create it with `quietcore apply --cpus CPUS`, see `quietcore history`".to_owned()),
    )
}

/// The active partition with that name.
///
/// # Errors
/// A journal that cannot be read.
pub fn partition_in_force(
    changing: &ChangeLock,
    machine: &Machine,
    name: &str,
) -> Result<Option<ActivePartition>, Failure> {
    let Some(journal) = Journal::open(changing.state())? else {
        return Ok(None);
    };
    let state = journal.state(machine.kernel.boot_id.as_deref());
    // In the middle of a resize, a partition may exist in full.
    if !matches!(state, JournalState::InForce | JournalState::Resizing) {
        return Ok(None);
    }
    let Some(hierarchy) = &machine.cgroups.cpuset else {
        return Ok(None);
    };
    let layers = journal.layers();
    let live: Vec<&ApplyLayer> = layers.iter().filter(|layer| layer.is_live()).collect();
    let layer = live.iter().find(|layer| layer.intent.name.as_str() == name);
    Ok(layer.map(|layer| ActivePartition {
        reserved_cpus: apply::isolated(&live),
        ..ActivePartition::of(hierarchy, layer.intent)
    }))
}

/// Moves this process into a partition and pins it if requested, after recording that in the journal. We may give its threads
/// the masks of `later`.
///
/// # Errors
/// A refused move or pin, with the reason.
pub fn join(
    changing: &ChangeLock,
    machine: &Machine,
    partition: &ActivePartition,
    pin: Option<&CpuSet>,
    later: &[CpuSet],
) -> Result<(), Failure> {
    let root = changing.session.root();
    let failed = |why: String, next: String| {
        let what = format!("the process could not join {}", partition.path);
        Failure::unable(what, why, next)
    };
    let (Some(hierarchy), Some(mut journal)) = (&machine.cgroups.cpuset, Journal::open(changing.state())?) else {
        return Err(failed(
            "no partition is active".to_owned(),
            "see `quietcore history`".to_owned(),
        ));
    };
    let own = std::process::id();
    let cgroup = machine::tasks::cgroup_of(root, own, hierarchy.version).unwrap_or_default();
    let entrance = partition.entrance(root, hierarchy, &cgroup);
    let entrance =
        entrance.map_err(|why| failed(why.to_string(), "use a partition with a cgroup of its own".to_owned()))?;
    let parcel = PlannedMove {
        tid: own,
        unit: MoveUnit::Process,
        to: entrance,
        tasks: vec![ThreadMove {
            tid: own,
            pin: pin.cloned(),
            policy: None,
        }],
        later: later.to_vec(),
        stay: MovePurpose::Belongs,
    };
    let ground = changing.move_context(hierarchy, &partition.reserved_cpus);
    let arrivals = apply::relocate(&ground, &mut journal, &[parcel])?;
    let arrival = arrivals
        .first()
        .ok_or_else(|| failed("/proc does not list it".to_owned(), "mount /proc".to_owned()))?;
    match (&arrival.outcome, arrival.pin_refused) {
        (ChangeOutcome::Done, None) => Ok(()),
        (ChangeOutcome::Done, Some(errno)) => Err(Failure::unable(
            "the program cannot be pinned",
            std::io::Error::from_raw_os_error(errno),
            "leave out the CPUs, or look at the error above",
        )),
        (ChangeOutcome::Refused(errno), _) => {
            let task = machine::tasks::read_one(root, own);
            let (why, next) = refused(*errno, task.as_ref(), root, machine, &partition.path);
            Err(failed(why, next))
        }
        (other, _) => Err(failed(
            other.text(),
            "find out which other program moves tasks here".to_owned(),
        )),
    }
}

/// Executes a program with these additional variables. Returns only if that failed, with the reason and the exit status that `env` would use.
#[must_use]
pub fn become_program(command: &[OsString], variables: &BTreeMap<&'static str, String>) -> Failure {
    let Some((program, arguments)) = command.split_first() else {
        return Failure::usage(
            "no program was named",
            "the command line contains no program",
            "write it after --",
        );
    };
    let error = std::process::Command::new(program)
        .args(arguments)
        .envs(variables)
        .exec();
    let (code, next) = match error.kind() {
        ErrorKind::NotFound => (127, "check the name, or give its full path"),
        _ => (126, "check that it is an executable file for this machine"),
    };
    Failure::new(
        Status::Program(code),
        format!("{} could not be started", program.to_string_lossy()),
        error,
        next,
    )
}

/// The CPUs of a partition for its tasks.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    /// CPUs for every thread that no pattern matches.
    pub all: Option<CpuSet>,
    /// CPUs by thread name.
    pub named: Vec<(Glob, CpuSet)>,
}

impl Pins {
    /// Resolves CPU expressions: one for all tasks, and those for names. Each must be within the partition and online.
    ///
    /// # Errors
    /// Expressions that do not parse, and CPUs that the partition does not have.
    pub fn within(
        partition: &ActivePartition,
        machine: &Machine,
        all: Option<&str>,
        named: &[Pin],
    ) -> Result<Pins, Failure> {
        let within = |expression: &str| partition.cpus_of(expression, machine);
        let named = named
            .iter()
            .map(|pin| Ok((pin.glob.clone(), within(&pin.cpus)?)))
            .collect::<Result<_, Failure>>()?;
        Ok(Pins {
            all: all.map(within).transpose()?,
            named,
        })
    }

    /// The pattern that matches a thread.
    #[must_use]
    pub fn named(&self, comm: &str) -> Option<usize> {
        self.named.iter().position(|(glob, _)| glob.matches(comm))
    }

    /// The CPUs for a thread of that name, if it is to be pinned.
    #[must_use]
    pub fn of(&self, comm: &str) -> Option<CpuSet> {
        match self.named(comm) {
            Some(place) => self.named.get(place).map(|(_, cpus)| cpus.clone()),
            None => self.all.clone(),
        }
    }
}

/// Why the kernel refuses to move a task into a cgroup, and what to do.
#[must_use]
pub fn refused(errno: i32, task: Option<&Task>, root: &Root, machine: &Machine, dir: &str) -> (String, String) {
    let error = std::io::Error::from_raw_os_error(errno).to_string();
    let realtime = task.is_some_and(|task| task.policy.is_realtime());
    let deadline = task.is_some_and(|task| task.policy == machine::Policy::Deadline);
    let group = task
        .filter(|_| realtime)
        .and_then(|task| NoRuntime::of(root, machine, task.key.tid));
    let has_cpu = matches!(root.kind(&format!("{dir}/cpu.weight")), Ok(Some(_)));
    let both = |why: &str, next: &str| (format!("{why} ({error})"), next.to_owned());
    match errno {
        libc::EINVAL if realtime && has_cpu => both(
            "RT_GROUP_SCHED: this cgroup also has the cpu controller, and no real-time runtime for a FIFO or RR task",
            "remove `cpu` from cgroup.subtree_control above it, or make the task SCHED_OTHER first (--policy other)",
        ),
        libc::EINVAL if group.is_some() => group
            .map(|group| (group.why(), group.next(task.map_or(0, |task| task.key.tid))))
            .unwrap_or_default(),
        libc::EINVAL if task.is_some_and(Task::is_kernel) => both(
            "the kernel does not let this kernel thread move",
            "none needed: it is a kernel thread",
        ),
        libc::EBUSY if deadline => both(
            "the CPUs there have no SCHED_DEADLINE share left for this task",
            "give it another policy first, and then its own policy again",
        ),
        libc::EBUSY => both(
            "a cgroup that passes controllers to its children cannot contain tasks itself",
            "move it to one of its children",
        ),
        libc::ENOSPC => both(
            "the cpuset has no CPU or no memory node",
            "look at its cpuset.cpus and cpuset.mems",
        ),
        libc::EACCES | libc::EPERM => both(
            "not permitted: the task belongs to another user, or the cgroup is not delegated to you",
            "run it as root (sudo quietcore ...)",
        ),
        libc::EOPNOTSUPP => both(
            "on cgroup v2 a single thread can move only to a threaded cgroup, and a cgroup that contains tasks cannot \
             become threaded",
            "recreate the partition with its programs inside: quietcore apply --resize --threaded --cpus CPUS",
        ),
        _ => (error, "look at the cgroup named above".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{PartitionName, Profile};

    #[test]
    fn a_misspelled_partition_gets_the_name_of_one_that_is_active() {
        let name = PartitionName::new("audio").unwrap();
        let active = Intent::new(name, CpuSet::range(2, 2), Profile::Balanced);
        assert_eq!(no_partition("adio", &[active]).next, "did you mean audio?");
        assert!(no_partition("adio", &[]).next.contains("`quietcore apply"));
    }
}
