//! Moves running tasks into a partition, or back to their original cgroups.
//!
//! Repeats passes until one finds nothing new, which catches tasks that fork during the move. Every batch is recorded in the
//! journal with cgroup and mask before it is moved, and is checked afterwards.

mod owners;
mod place;
mod selection;
mod summary;
mod threads;

use crate::comm_pattern::Pin;
use crate::partition::{self, ActivePartition, NoEntrance, Pins};
use crate::policy::SchedulingPolicy;
use crate::{ChangeLock, Session};
use apply::{
    Arrival, ChangeOutcome, FormerPolicy, Journal, MoveContext, MovePurpose, MoveUnit, PlannedMove, TaskOrigins,
    ThreadMove,
};
use machine::{Hierarchy, Machine, Task, TaskKey, Version};
use owners::Owners;
use plan::Finding;
use root::{Failure, Root};
pub use selection::Selection;
use selection::{Children, MoveSelection};
use std::collections::BTreeSet;
pub use summary::{MoveSummary, MovedTask, ThreadOutcome};

/// Which tasks to move where, and how.
#[derive(Clone, Debug)]
pub struct MoveOptions {
    /// The tasks.
    pub selection: Selection,
    /// Only processes of this user, by name or number.
    pub user: Option<String>,
    /// Include the children of the processes, recursively. Without it, only children created during the move.
    pub children: bool,
    /// The destination.
    pub direction: Direction,
    /// CPUs of the partition for all of them, as an expression.
    pub cpus: Option<String>,
    /// CPUs of the partition for threads by name.
    pub pins: Vec<Pin>,
    /// Their new policy.
    pub policy: Option<SchedulingPolicy>,
    /// Their new nice value.
    pub nice: Option<i32>,
    /// Their cgroup becomes the partition, instead of the tasks moving there.
    pub in_place: bool,
    /// On cgroup v2: a single thread may take its process out of the memory and CPU limits of its slice.
    pub out_of_limits: bool,
    /// Change nothing; report what would be moved.
    pub dry_run: bool,
}

/// Into a partition, or back to the original cgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the partition of this name.
    Into(String),
    /// Out of the partition of this name.
    OutOf(String),
}

/// The direction without the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MoveDirection {
    In,
    Out,
}

/// The number of passes after which a fork storm is reported instead of followed.
const PASSES: usize = 200;

/// Moves tasks.
///
/// # Errors
/// No such partition, no matching task, no permission.
pub fn move_tasks(session: &Session, options: &MoveOptions) -> Result<MoveSummary, Failure> {
    let (way, name) = match &options.direction {
        Direction::Into(name) => (MoveDirection::In, name),
        Direction::OutOf(name) => (MoveDirection::Out, name),
    };
    let nothing = || partition::no_partition(name, &session.in_force());
    if options.in_place {
        place::hand_over(session, options, name)?;
    }
    let changing = session.lock_existing()?.ok_or_else(nothing)?;
    let root = session.root();
    let machine = session.machine();
    let partition = partition::partition_in_force(&changing, &machine, name)?.ok_or_else(nothing)?;
    let hierarchy = machine.cgroups.cpuset.as_ref().ok_or_else(nothing)?;
    let pins = Pins::within(&partition, &machine, options.cpus.as_deref(), &options.pins)?;
    let owners = Owners::new(root, options.user.as_deref())?;
    let mut mover = Mover {
        options,
        way,
        changing: &changing,
        root,
        machine: &machine,
        hierarchy,
        partition: &partition,
        pins: &pins,
        owners: &owners,
        settled: BTreeSet::new(),
        lines: Vec::new(),
        findings: Vec::new(),
        storm: false,
    };
    let mut journal = Journal::open(changing.state())?.ok_or_else(nothing)?;
    mover.passes(&mut journal)?;
    if mover.lines.is_empty() {
        return Err(no_match(options));
    }
    for line in &mut mover.lines {
        line.user = owners.name(line.tid);
    }
    Ok(MoveSummary {
        partition: name.clone(),
        cpus: partition.cpus.clone(),
        out: way == MoveDirection::Out,
        dry_run: options.dry_run,
        storm: mover.storm,
        is_by_name: options.user.is_none() && options.selection.has_names(),
        lines: mover.lines,
        findings: mover.findings,
    })
}

fn no_match(options: &MoveOptions) -> Failure {
    let user = options.user.as_ref();
    let owner_text = user.map_or_else(String::new, |user| format!(" of user {}", report::safe(user)));
    let place = match &options.direction {
        Direction::Into(_) => String::new(),
        Direction::OutOf(name) => format!(" in partition {name}"),
    };
    Failure::usage(
        "nothing matches",
        format!("no task{owner_text}{place} is {}", options.selection.text()),
        "`quietcore inspect --tasks` lists processes and threads by name",
    )
}

struct Mover<'a> {
    options: &'a MoveOptions,
    way: MoveDirection,
    changing: &'a ChangeLock<'a>,
    root: &'a Root,
    machine: &'a Machine,
    hierarchy: &'a Hierarchy,
    partition: &'a ActivePartition,
    pins: &'a Pins,
    owners: &'a Owners<'a>,
    /// Threads that are done.
    settled: BTreeSet<TaskKey>,
    lines: Vec<MovedTask>,
    findings: Vec<Finding>,
    storm: bool,
}

impl Mover<'_> {
    fn partition_name(&self) -> &str {
        match &self.options.direction {
            Direction::Into(name) | Direction::OutOf(name) => name,
        }
    }

    fn passes(&mut self, journal: &mut Journal) -> Result<(), Failure> {
        let children = if self.options.children {
            Children::All
        } else {
            Children::CreatedDuringMove
        };
        for _ in 0..PASSES {
            let mut chosen = self.options.selection.choose(self.root, self.owners, children);
            if self.way == MoveDirection::Out {
                // `--out` by name applies to tasks in the partition.
                chosen.retain(|one| one.by_number || !self.is_there(one));
            }
            let parcels = self.parcels(chosen, journal);
            if parcels.is_empty() {
                return Ok(());
            }
            if self.options.dry_run {
                self.preview(&parcels);
                return Ok(());
            }
            let arrivals = apply::relocate(&self.ground(), journal, &parcels)?;
            for arrival in arrivals {
                let passenger = parcels
                    .iter()
                    .flat_map(|parcel| &parcel.tasks)
                    .find(|passenger| passenger.tid == arrival.before.key.tid)
                    .cloned();
                self.settle(arrival, passenger);
            }
        }
        self.storm = true;
        Ok(())
    }

    fn has_ended(&self, task: &Task) -> bool {
        let now = machine::tasks::read_one(self.root, task.key.tid);
        now.is_none_or(|now| now.key != task.key || now.is_over())
    }

    fn is_inside(&self, tid: u32) -> bool {
        let cgroup = machine::tasks::cgroup_of(self.root, tid, self.partition.version);
        cgroup.is_some_and(|cgroup| self.partition.has_inside(self.hierarchy, &cgroup))
    }

    /// The batches that are still to be moved. Tasks that cannot or need not be moved get their line here.
    fn parcels(&mut self, chosen: Vec<MoveSelection>, journal: &Journal) -> Vec<PlannedMove> {
        let homes = (self.way == MoveDirection::Out).then(|| TaskOrigins::read(journal.records()));
        let mut parcels = Vec::new();
        let mut leaving = Vec::new();
        let is_threaded = self.is_threaded();
        for one in chosen {
            if one.tasks.iter().all(|task| self.settled.contains(&task.key)) {
                continue;
            }
            // Among many short-lived tasks, some listed ones exit before their cgroup can be read.
            if one.tasks.iter().all(|task| self.has_ended(task)) {
                self.settled.extend(one.tasks.iter().map(|task| task.key));
                continue;
            }
            if let Some(reason) = self.impossible(&one) {
                self.report_left(&one, &reason);
                continue;
            }
            let target = match self.way {
                MoveDirection::In => self.entrance(&one).unwrap_or_default(),
                MoveDirection::Out => String::new(),
            };
            if self.is_there(&one) && (self.way == MoveDirection::Out || !self.changes_inside()) {
                self.already(&one);
                continue;
            }
            if self.way == MoveDirection::Out && is_threaded {
                leaving.push(one);
                continue;
            }
            let unit = if one.whole { MoveUnit::Process } else { MoveUnit::Thread };
            parcels.push(self.parcel(&one, unit, target, homes.as_ref()));
        }
        if let Some(homes) = &homes {
            parcels.extend(self.outgoing(&leaving, homes));
        }
        parcels
    }

    fn is_threaded(&self) -> bool {
        self.partition.version == Version::V2 && apply::threads::is_threaded(self.root, &self.partition.path)
    }

    fn changes_inside(&self) -> bool {
        let options = self.options;
        self.pins.all.is_some() || !self.pins.named.is_empty() || options.policy.is_some() || options.nice.is_some()
    }

    fn parcel(&self, one: &MoveSelection, unit: MoveUnit, target: String, homes: Option<&TaskOrigins>) -> PlannedMove {
        let mut to = target;
        let tasks = one
            .tasks
            .iter()
            .map(|task| {
                let (pin, former) = match homes {
                    None => (self.pins.of(&task.comm), None),
                    Some(homes) => {
                        let inside = &self.partition.path;
                        let (dir, pin, former) = homes.of(&self.ground(), task, inside, &self.outside());
                        if to.is_empty() || task.key.tid == one.leader {
                            to = dir;
                        }
                        (pin, former)
                    }
                };
                ThreadMove {
                    tid: task.key.tid,
                    pin,
                    policy: self.intended_policy(task).or(former),
                }
            })
            .collect();
        PlannedMove {
            tid: one.leader,
            unit,
            to,
            tasks,
            later: Vec::new(),
            stay: MovePurpose::Belongs,
        }
    }

    fn ground(&self) -> MoveContext<'_> {
        self.changing
            .move_context(self.hierarchy, &self.partition.reserved_cpus)
    }

    /// The destination for tasks of unknown origin.
    fn outside(&self) -> String {
        let set = self.partition.housekeeping.clone();
        set.unwrap_or_else(|| self.hierarchy.mount.clone())
    }

    fn intended_policy(&self, task: &Task) -> Option<FormerPolicy> {
        let nice = self.options.nice.unwrap_or(task.nice);
        match (self.options.policy, self.options.nice) {
            (Some(policy), _) => Some(policy.to_former_policy(nice)),
            (None, Some(nice)) => Some(FormerPolicy {
                nice,
                ..FormerPolicy::of(task)
            }),
            (None, None) => None,
        }
    }

    /// Why a task cannot be moved at all, determined before trying.
    fn impossible(&mut self, one: &MoveSelection) -> Option<String> {
        if let Err(why) = self.entrance(one)
            && !(self.is_there(one) && self.way == MoveDirection::In && !self.changes_inside())
        {
            return Some(why.to_string());
        }
        let bound = one.tasks.iter().find(|task| task.is_kernel() && !task.is_movable());
        if let Some(task) = bound {
            let cpus = task
                .allowed
                .as_ref()
                .map_or("its CPU".to_owned(), |cpus| format!("CPU {cpus}"));
            return Some(format!(
                "the kernel has bound this kernel thread to {cpus}; it cannot be moved"
            ));
        }
        if one.whole || self.partition.version == Version::V1 {
            return None;
        }
        match self.way {
            MoveDirection::In if self.is_there(one) => None,
            MoveDirection::In => self.obstacle(one),
            MoveDirection::Out if self.is_threaded() || self.is_there(one) => None,
            MoveDirection::Out => Some(format!(
                "its process is in the partition as a whole, and on cgroup v2 must leave as a whole: quietcore move \
                 --pid {} --back",
                one.tasks.first().map_or(one.leader, |task| task.pid)
            )),
        }
    }

    /// Where tasks move to. Into the cgroup of another program, and out of it, none do.
    fn entrance(&self, one: &MoveSelection) -> Result<String, NoEntrance> {
        let cgroup = machine::tasks::cgroup_of(self.root, one.leader, self.partition.version).unwrap_or_default();
        match self.way {
            MoveDirection::In => self.partition.entrance(self.root, self.hierarchy, &cgroup),
            MoveDirection::Out => self.partition.entrance(self.root, self.hierarchy, ""),
        }
    }

    /// The line of a task that was not touched.
    fn line(&self, task: &Task, fate: ThreadOutcome) -> MovedTask {
        let from = machine::tasks::cgroup_of(self.root, task.key.tid, self.partition.version);
        MovedTask::of(task, fate, from, task.allowed.clone())
    }

    fn preview(&mut self, parcels: &[PlannedMove]) {
        for parcel in parcels {
            for passenger in &parcel.tasks {
                if let Some(task) = machine::tasks::read_one(self.root, passenger.tid) {
                    let mut line = self.line(&task, ThreadOutcome::Would);
                    line.to = parcel.to.strip_prefix(&self.hierarchy.mount).map(name_of);
                    let whole = (self.way == MoveDirection::In).then(|| self.partition.cpus.clone());
                    line.cpus_after = passenger.pin.clone().or(whole);
                    self.lines.push(line);
                }
            }
        }
    }

    fn report_left(&mut self, one: &MoveSelection, reason: &str) {
        for task in &one.tasks {
            if self.settled.insert(task.key) {
                let reason = Some(reason.to_owned());
                let line = self.line(task, ThreadOutcome::Left);
                self.lines.push(MovedTask { reason, ..line });
            }
        }
    }

    fn already(&mut self, one: &MoveSelection) {
        for task in &one.tasks {
            if self.settled.insert(task.key) {
                let mut line = self.line(task, ThreadOutcome::Already);
                (line.to, line.cpus_after) = (line.from.clone(), task.allowed.clone());
                self.lines.push(line);
            }
        }
    }

    /// Sets the policy of a moved task, and writes its line.
    fn settle(&mut self, arrival: Arrival, passenger: Option<ThreadMove>) {
        let key = arrival.before.key;
        self.settled.insert(key);
        let task = machine::tasks::read_one(self.root, key.tid)
            .filter(|task| task.key == key && arrival.outcome != ChangeOutcome::Gone);
        let Some(task) = task else {
            self.lines.push(MovedTask::exited(&arrival.before));
            return;
        };
        let mut line = MovedTask::of(
            &task,
            ThreadOutcome::Moved,
            arrival.before.cgroup.clone(),
            Some(arrival.before.mask.clone()),
        );
        if let Some(after) = &arrival.after {
            line.to.clone_from(&after.cgroup);
            line.cpus_after = Some(after.mask.clone());
        }
        match (&arrival.outcome, arrival.pin_refused) {
            (ChangeOutcome::Done, None) => {
                if let Some(policy) = passenger.and_then(|passenger| passenger.policy) {
                    self.set_policy(&task, policy, &mut line);
                }
            }
            (ChangeOutcome::Done, Some(errno)) => {
                let error = std::io::Error::from_raw_os_error(errno);
                line.leave(Some(errno), format!("it was moved in, but cannot be pinned: {error}"));
            }
            (ChangeOutcome::Refused(errno), _) => {
                let (why, next) =
                    partition::refused(*errno, Some(&task), self.root, self.machine, &self.partition.path);
                line.leave(Some(*errno), format!("{why}; {next}"));
            }
            (other, _) => {
                line.leave(None, format!("another program moved it immediately: {}", other.text()));
            }
        }
        self.lines.push(line);
    }

    fn set_policy(&self, task: &Task, intended: FormerPolicy, line: &mut MovedTask) {
        let tid = task.key.tid;
        let given = match self.options.policy {
            Some(policy) => policy.set_for(tid).map_err(|errno| (errno, Some(policy))),
            None if intended == FormerPolicy::of(task) => Ok(()),
            None => self
                .changing
                .host
                .set_policy(tid, intended)
                .map_err(|error| (error.errno().unwrap_or(libc::EIO), None)),
        };
        let given = given.and_then(|()| match self.options.nice {
            Some(nice) => root::sched::set_nice(tid, nice).map_err(|errno| (errno, None)),
            None => Ok(()),
        });
        if let Some(now) = machine::tasks::read_one(self.root, tid) {
            line.set_policy(&now);
        }
        if let Err((errno, policy)) = given {
            let (why, next) = match policy {
                Some(policy) => policy.refused(errno, self.root, self.machine, tid),
                None => (
                    std::io::Error::from_raw_os_error(errno).to_string(),
                    "run it as root (sudo quietcore ...)".to_owned(),
                ),
            };
            line.leave(
                Some(errno),
                format!("it was moved in, but its policy was refused: {why}; {next}"),
            );
        }
    }
}

/// The name of a path: `/` for the root, which has no name below its mount.
fn name_of(path: &str) -> String {
    if path.is_empty() {
        "/".to_owned()
    } else {
        path.to_owned()
    }
}
