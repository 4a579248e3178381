//! Describes what `run` and `move` move, where to, and the result for each task.

use crate::System;
use crate::record::{ChangeOutcome, FormerPolicy, TaskState};
use machine::{CpuSet, Hierarchy};

/// Where tasks are moved.
#[derive(Clone, Copy)]
pub struct MoveContext<'a> {
    /// The machine.
    pub system: &'a dyn System,
    /// The cpuset hierarchy.
    pub hierarchy: &'a Hierarchy,
    /// The CPUs that partitions took from all other tasks.
    pub isolated: &'a CpuSet,
}

/// What one write moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveUnit {
    /// A process with all its threads (`cgroup.procs`).
    Process,
    /// One thread (`tasks`; on v2 `cgroup.threads`, see [`crate::threads`]).
    Thread,
}

/// The purpose of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MovePurpose {
    /// The task stays there from now on.
    #[default]
    Belongs,
    /// It only waits there, in the domain of a threaded partition, while threads of its process are inside (v2).
    Waits,
}

/// One process or thread to move.
#[derive(Clone, Debug)]
pub struct PlannedMove {
    /// The ID to write.
    pub tid: u32,
    /// What is moved with it.
    pub unit: MoveUnit,
    /// Directory of the target cgroup.
    pub to: String,
    /// Its threads.
    pub tasks: Vec<ThreadMove>,
    /// Masks that its threads may get later; undo treats them as ours.
    pub later: Vec<CpuSet>,
    /// Whether they belong there.
    pub stay: MovePurpose,
}

/// One thread of a parcel.
#[derive(Clone, Debug)]
pub struct ThreadMove {
    /// Its thread ID.
    pub tid: u32,
    /// CPUs to pin it to after the move.
    pub pin: Option<CpuSet>,
    /// The policy that the caller sets after the move.
    pub policy: Option<FormerPolicy>,
}

/// The result for one task.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The task before the move.
    pub before: TaskState,
    /// The task after the move; `None` if it has ended.
    pub after: Option<TaskState>,
    /// The outcome of the move.
    pub outcome: ChangeOutcome,
    /// The errno with which the kernel refused the pin.
    pub pin_refused: Option<i32>,
}
