//! What is moved by hand (`run`, `move`), where to, and how each task fared.

use crate::System;
use crate::record::{FormerPolicy, Outcome, TaskState};
use machine::{CpuSet, Hierarchy};

/// Where tasks are moved.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The machine.
    pub system: &'a dyn System,
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
    /// One thread (`tasks`; on v2 `cgroup.threads`, see [`crate::threads`]).
    Thread,
}

/// What a move is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stay {
    /// The task belongs there from now on.
    #[default]
    Belongs,
    /// It only waits there, in the domain of a threaded partition, while threads of its process are inside (v2).
    Waits,
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
    /// Its threads.
    pub tasks: Vec<Passenger>,
    /// Masks that its threads may be given later; undo takes them for ours.
    pub later: Vec<CpuSet>,
    /// Whether they belong there.
    pub stay: Stay,
}

/// One thread of a parcel.
#[derive(Clone, Debug)]
pub struct Passenger {
    /// Its number.
    pub tid: u32,
    /// CPUs that it shall be pinned to after the move.
    pub pin: Option<CpuSet>,
    /// The policy that the caller gives it after the move.
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
