//! Summarizes the outcome of a move: one record per thread, with the reason if it was left.

use apply::TaskState;
use machine::{CpuSet, Task};
use plan::Finding;
use root::Status;
use serde::Serialize;

/// The outcome for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ThreadOutcome {
    /// It was moved.
    Moved,
    /// It was there already.
    Already,
    /// It was not moved, or not as requested.
    Left,
    /// It ended.
    #[default]
    Gone,
    /// A dry run would move it.
    Would,
}

/// One thread.
#[derive(Clone, Debug, Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MovedTask {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// The real user; `None` if it is gone.
    pub user: Option<String>,
    /// The outcome.
    #[serde(rename = "outcome")]
    pub fate: ThreadOutcome,
    /// Cgroup before.
    pub from: Option<String>,
    /// Cgroup after.
    pub to: Option<String>,
    /// Affinity before.
    pub cpus_before: Option<CpuSet>,
    /// Affinity after.
    pub cpus_after: Option<CpuSet>,
    /// Policy now; `None` if it is gone.
    pub policy: Option<machine::Policy>,
    /// Real-time priority now, 1 to 99; else 0.
    pub priority: u32,
    /// Nice value now.
    pub nice: i32,
    /// Why it was left.
    pub reason: Option<String>,
    /// The error number of the refusal.
    #[serde(skip)]
    pub errno: Option<i32>,
}

impl MovedTask {
    /// A thread that exists.
    #[must_use]
    pub fn of(task: &Task, fate: ThreadOutcome, from: Option<String>, cpus_before: Option<CpuSet>) -> MovedTask {
        MovedTask {
            pid: task.pid,
            tid: task.key.tid,
            comm: task.comm.clone(),
            fate,
            from,
            cpus_before,
            policy: Some(task.policy),
            priority: task.rt_priority,
            nice: task.nice,
            ..MovedTask::default()
        }
    }

    /// A thread that ended.
    #[must_use]
    pub fn exited(state: &TaskState) -> MovedTask {
        MovedTask {
            pid: state.key.tid,
            tid: state.key.tid,
            comm: state.comm.clone(),
            from: state.cgroup.clone(),
            cpus_before: Some(state.mask.clone()),
            ..MovedTask::default()
        }
    }

    /// Records that it was not moved as requested, and why.
    pub fn leave(&mut self, errno: Option<i32>, reason: String) {
        (self.fate, self.errno, self.reason) = (ThreadOutcome::Left, errno, Some(reason));
    }

    /// Copies the policy that the thread has now.
    pub fn set_policy(&mut self, task: &Task) {
        (self.policy, self.priority, self.nice) = (Some(task.policy), task.rt_priority, task.nice);
    }
}

/// The whole move.
pub struct MoveSummary {
    /// Name of the partition.
    pub partition: String,
    /// CPUs of the partition.
    pub cpus: CpuSet,
    /// The tasks left the partition.
    pub out: bool,
    /// Nothing was changed.
    pub dry_run: bool,
    /// New tasks still appeared in the last pass.
    pub storm: bool,
    /// They were selected by name, of any user.
    pub is_by_name: bool,
    /// The threads.
    pub lines: Vec<MovedTask>,
    /// Further findings for the user.
    pub findings: Vec<Finding>,
}

impl MoveSummary {
    /// The number of threads with this outcome.
    #[must_use]
    pub fn count(&self, fate: ThreadOutcome) -> usize {
        self.lines.iter().filter(|line| line.fate == fate).count()
    }

    /// 0 if all threads are where they should be, 3 if only permission was missing, 5 if some were left.
    #[must_use]
    pub fn status(&self) -> Status {
        let left: Vec<&MovedTask> = self
            .lines
            .iter()
            .filter(|line| line.fate == ThreadOutcome::Left)
            .collect();
        let denied = |line: &&MovedTask| matches!(line.errno, Some(libc::EPERM | libc::EACCES));
        match (left.is_empty(), left.iter().all(denied), self.storm) {
            (true, _, false) => Status::Done,
            (false, true, false) if self.count(ThreadOutcome::Moved) == 0 => Status::Denied,
            _ => Status::Conflict,
        }
    }
}
