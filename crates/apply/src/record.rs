//! Defines the journal's records: one before each write, one after it.

use machine::{CpuSet, TaskKey};
use plan::{Change, Intent};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogRecord<E> {
    /// Its number, from 1.
    pub seq: u64,
    /// Wall clock in nanoseconds since 1970.
    pub at_ns: u64,
    /// The version that wrote it, if neither its event nor an earlier record has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What happened, or is about to.
    #[serde(flatten)]
    pub event: E,
}

/// One line of the journal.
pub type JournalRecord = LogRecord<JournalEvent>;

/// The content of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum JournalEvent {
    /// An apply starts.
    Begin {
        /// The current boot. Records of another boot are void, because run-time state is lost at reboot.
        boot_id: String,
        /// Version of the tool.
        tool: String,
        /// The process that applies.
        pid: u32,
        /// Why (`apply`, `prove`).
        reason: String,
        /// Token of the guard, if any.
        guard: Option<String>,
        /// The intended partition.
        intent: Box<Intent>,
        /// The planned changes.
        changes: Vec<Change>,
        /// Every file of the former state.
        files: BTreeMap<String, String>,
        /// The settings that the plan was based on, including those that were already right. If one of them is changed
        /// later and then repaired, undo restores this value.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        found: BTreeMap<String, String>,
    },
    /// This write is next.
    Will {
        /// Identifier of the change.
        change: String,
        /// The state before it.
        before: StateBefore,
    },
    /// The write was made or refused.
    Did {
        /// `seq` of the `will`.
        of: u64,
        /// The outcome.
        outcome: ChangeOutcome,
        /// The state after it.
        after: StateAfter,
    },
    /// Every change was made.
    Applied {
        /// The CPUs that are online now. One that went offline has been removed from every v1 cpuset.
        #[serde(default)]
        online: Option<CpuSet>,
    },
    /// The user confirmed it.
    Confirmed {
        /// `seq` of the confirmed `begin`; none is the first one.
        #[serde(default)]
        layer: Option<u64>,
    },
    /// A task was started in, or moved into, the partition.
    Joined {
        /// The task.
        task: TaskState,
    },
    /// A v2 cgroup of ours is about to become threaded, so that it accepts single threads. That ends with the cgroup.
    Threading {
        /// Its `cgroup.type`.
        path: String,
    },
    /// `run` or `move` is about to move these tasks, into a partition or out of it.
    Moving {
        /// The tasks in their current state.
        tasks: Vec<Departure>,
    },
    /// They were moved or refused.
    Moved {
        /// `seq` of the `moving`.
        of: u64,
        /// Their current masks, and masks that we may give them.
        masks: Vec<(TaskKey, CpuSet)>,
    },
    /// A real-time task in the partition was demoted to `SCHED_OTHER`, so that the partition can be taken apart.
    Demoted {
        /// The task.
        key: TaskKey,
        /// Its name.
        comm: String,
        /// Its former policy and priority, as `fifo:99`.
        former: String,
    },
    /// An active partition is about to be undone and recreated. Until `Resized`, both halves are one operation: if the
    /// process is interrupted in between, undo restores the state before the partition from the journal.
    Resizing {
        /// Name of the partition.
        name: String,
        /// The CPUs that it will have.
        cpus: CpuSet,
        /// Process that writes this record.
        pid: u32,
        /// Its real-time tasks with their policies, which taking the partition apart may change.
        policies: Vec<(TaskKey, String, FormerPolicy)>,
    },
    /// Both halves are done, or were abandoned.
    Resized {
        /// `seq` of the `resizing`.
        of: u64,
    },
    /// Settings of an active partition are about to be repaired: another program changed one, or a new one appeared. The writes
    /// until `Mended` belong to its layer. Undo restores the state before the partition, and for new settings the value found.
    Mending {
        /// `seq` of the `begin` of the partition.
        layer: u64,
        /// Version of the tool.
        tool: String,
        /// Process that writes this record.
        pid: u32,
        /// What is set again, and what is set for the first time.
        changes: Vec<Change>,
    },
    /// The repair ended; refusals are reported.
    Mended {
        /// `seq` of the `mending`.
        of: u64,
    },
    /// An undo starts.
    UndoBegin {
        /// Why (`undo`, `guard: parent died`, `rollback`).
        why: String,
        /// `seq` of the `begin` that is undone; none is the first one.
        #[serde(default)]
        layer: Option<u64>,
        /// The final mask of each task. Decided once: mask changes by an undo must not look like another program's
        /// changes to the undo that finishes it.
        masks: Vec<(TaskKey, CpuSet)>,
        /// Tasks whose mask another program had changed.
        drifted: Vec<DriftedTask>,
        /// The CPUs that were online at that time.
        #[serde(default)]
        online: Option<CpuSet>,
    },
    /// One change was undone, or left alone.
    Undid {
        /// Identifier of the change.
        change: String,
        /// The outcome.
        outcome: ChangeOutcome,
    },
    /// One apply was undone.
    Undone {
        /// `seq` of its `begin`; none is the first one.
        #[serde(default)]
        layer: Option<u64>,
    },
}

impl JournalEvent {
    /// The version of quietcore that wrote it, if the event has it.
    pub(crate) fn tool(&self) -> Option<&str> {
        match self {
            JournalEvent::Begin { tool, .. } | JournalEvent::Mending { tool, .. } => Some(tool),
            _ => None,
        }
    }
}

/// The `seq` numbers of finished writes and moves: those that a later record answers.
pub(crate) fn finished_writes(records: &[JournalRecord]) -> BTreeSet<u64> {
    let of = |record: &JournalRecord| match &record.event {
        JournalEvent::Did { of, .. } | JournalEvent::Moved { of, .. } => Some(*of),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

/// The state before a write.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateBefore {
    /// A file's text, and the pinned tasks whose masks the kernel may rewrite as a result.
    Value {
        /// Text as read; `None` if the file did not exist.
        value: Option<String>,
        /// Places and masks of pinned tasks.
        tasks: Vec<TaskState>,
    },
    /// The cgroup did not exist.
    Absent,
    /// Places and masks of the tasks of a batch.
    Tasks {
        /// The tasks.
        tasks: Vec<TaskState>,
        /// Unpinned tasks, all with the same place and mask.
        #[serde(skip_serializing_if = "Option::is_none")]
        crowd: Option<UnpinnedTasks>,
    },
    /// The files of a cgroup, in the order in which a new one accepts them.
    Files {
        /// Names and texts.
        files: Vec<(String, String)>,
    },
}

/// The state after a write.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateAfter {
    /// A file's text as read back, and the masks of the tasks in `Before`.
    Value {
        /// Text as read back.
        value: Option<String>,
        /// Current masks.
        masks: Vec<(TaskKey, CpuSet)>,
    },
    /// The cgroup was made.
    Made,
    /// Masks of the tasks of a batch, without tasks that refused or exited.
    Tasks {
        /// Current masks of the tasks that were recorded one by one.
        masks: Vec<(TaskKey, CpuSet)>,
    },
    /// Nothing was changed.
    Nothing,
}

/// Where a task was, and where it could run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskState {
    /// Thread ID and start time.
    #[serde(flatten)]
    pub key: TaskKey,
    /// Its name, for display.
    pub comm: String,
    /// Its cgroup in the cpuset hierarchy.
    pub cgroup: Option<String>,
    /// Its mask.
    pub mask: CpuSet,
}

/// Unpinned threads of one cgroup. Undo restores only their place, because the kernel sets their masks with it. So
/// nothing is recorded per thread, even on a machine with 100,000 tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpinnedTasks {
    /// Their cgroup in the cpuset hierarchy.
    pub cgroup: String,
    /// The mask of one of them, and therefore of all.
    pub mask: CpuSet,
    /// Seconds since boot, rounded up, if known. A younger task with one of these IDs is a different task.
    pub at_s: Option<u64>,
    /// Their thread IDs.
    pub tids: Vec<u32>,
}

/// A task that is about to be moved by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// Its current state.
    #[serde(flatten)]
    pub state: TaskState,
    /// The mask that undo restores; `None` for an unpinned task, which gets the mask of its cgroup.
    pub gets_back: Option<CpuSet>,
    /// Its policy, and the one that it is about to get; `None` if the policy is not changed.
    pub policy: Option<(FormerPolicy, FormerPolicy)>,
    /// Where it is about to wait, if it moves only because threads of its process are in a partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<HoldingCgroup>,
}

/// Where a process waits while its threads are in a threaded partition (v2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldingCgroup {
    /// The cgroup, below the mount.
    pub cgroup: String,
    /// Clock ticks after boot; a child that a waiting process forks there later waits too.
    pub since: u64,
}

impl Departure {
    /// Whether a task still waits where this departure put it.
    #[must_use]
    pub fn waits_in(&self, now: &TaskState) -> bool {
        let waits = self.waits.as_ref().map(|waits| &waits.cgroup);
        waits.is_some() && waits == now.cgroup.as_ref()
    }
}

/// A policy with its priority, as far as `sched_setscheduler` and `setpriority` can restore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerPolicy {
    /// The policy.
    pub policy: machine::Policy,
    /// Real-time priority; 0 for policies without one.
    pub priority: u32,
    /// Nice value.
    pub nice: i32,
}

impl FormerPolicy {
    /// The scheduling policy that a task has now.
    #[must_use]
    pub fn of(task: &machine::Task) -> FormerPolicy {
        FormerPolicy {
            policy: task.policy,
            priority: task.rt_priority,
            nice: task.nice,
        }
    }
}

/// A task whose mask another program changed after our change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftedTask {
    /// The task.
    pub key: TaskKey,
    /// Its name.
    pub comm: String,
    /// Its current mask, set by another program.
    pub now: CpuSet,
    /// The mask before our change.
    pub before: CpuSet,
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOutcome {
    /// Written and read back.
    Done,
    /// It already had the value; nothing was written.
    Already,
    /// The kernel refused, with this error number.
    Refused(i32),
    /// The kernel accepted the write and made a different value of it: the text read back.
    Otherwise(String),
    /// Another program changed it since, so it was left alone.
    Drift(String),
    /// Its target no longer exists.
    Gone,
}

impl ChangeOutcome {
    /// One word or a short phrase for tables and JSON.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            ChangeOutcome::Done => "done".to_owned(),
            ChangeOutcome::Already => "already".to_owned(),
            ChangeOutcome::Refused(errno) => {
                format!("refused: {}", std::io::Error::from_raw_os_error(*errno))
            }
            ChangeOutcome::Otherwise(text) => format!("otherwise: {text}"),
            ChangeOutcome::Drift(text) => format!("drift: {text}"),
            ChangeOutcome::Gone => "gone".to_owned(),
        }
    }
}
