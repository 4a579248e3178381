//! What the journal says: one record before each write, one after it.

use machine::{CpuSet, TaskKey};
use plan::{Change, Intent};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Place in the journal, from 1.
    pub seq: u64,
    /// Wall clock in nanoseconds since 1970.
    pub at_ns: u64,
    /// The version that wrote it, where neither its event nor the records before it say that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What happened, or is about to.
    #[serde(flatten)]
    pub event: Event,
}

/// What a record says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// An apply begins.
    Begin {
        /// This boot; records of another boot are void, because run-time state went with it.
        boot_id: String,
        /// Version of the tool.
        tool: String,
        /// Who applies.
        pid: u32,
        /// Why (`apply`, `prove`).
        reason: String,
        /// Token of the guard that watches, if any.
        guard: Option<String>,
        /// What is wanted.
        intent: Box<Intent>,
        /// What is planned.
        changes: Vec<Change>,
        /// Every file of the state before.
        files: BTreeMap<String, String>,
        /// The settings that it was planned from, also those that were right: somebody may change one of them later, and
        /// when it is mended then, this is what undo gives back.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        found: BTreeMap<String, String>,
    },
    /// The next write is this one.
    Will {
        /// Identifier of the change.
        change: String,
        /// What is there before.
        before: Before,
    },
    /// It was done, or refused.
    Did {
        /// `seq` of the `will`.
        of: u64,
        /// How it went.
        outcome: Outcome,
        /// What is there now.
        after: After,
    },
    /// Every change was made.
    Applied {
        /// The CPUs that are online now: one that was and is not has been taken out of every v1 cpuset.
        #[serde(default)]
        online: Option<CpuSet>,
    },
    /// The user wants to keep it.
    Confirmed {
        /// `seq` of the `begin` that is kept; none is the first one.
        #[serde(default)]
        layer: Option<u64>,
    },
    /// A task was started in, or moved into, the partition.
    Joined {
        /// The task.
        task: TaskState,
    },
    /// A v2 cgroup of ours is about to become threaded, so that it takes single threads. That goes with the cgroup.
    Threading {
        /// Its `cgroup.type`.
        path: String,
    },
    /// `run` or `move` is about to move these tasks, into a partition or out of it.
    Moving {
        /// The tasks as they are.
        tasks: Vec<Departure>,
    },
    /// They were moved, or refused.
    Moved {
        /// `seq` of the `moving`.
        of: u64,
        /// Masks that they have now, and those that they may be given by us.
        masks: Vec<(TaskKey, CpuSet)>,
    },
    /// A real-time task in the partition was made `SCHED_OTHER`, so that the partition can be taken apart.
    Demoted {
        /// The task.
        key: TaskKey,
        /// Its name.
        comm: String,
        /// Its former policy and priority, as `fifo:99`.
        former: String,
    },
    /// A partition in force is about to be taken back, to be made anew. Until `Resized` comes both halves are one
    /// intention: who is stopped in between leaves a journal from which undo gives back the state before the partition.
    Resizing {
        /// Name of the partition.
        name: String,
        /// The CPUs that it shall get.
        cpus: CpuSet,
        /// Process that writes this record.
        pid: u32,
        /// Its real-time tasks, which taking it apart may demote, with their policies.
        policies: Vec<(TaskKey, String, FormerPolicy)>,
    },
    /// Both halves are done, or were given up.
    Resized {
        /// `seq` of the `resizing`.
        of: u64,
    },
    /// Something of a partition in force is about to be set again, because somebody else changed it or something new came.
    /// The writes until `Mended` belong to its layer: undo gives back what was there before the partition, and of what is
    /// new what was found.
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
    /// It was, or what was refused is told.
    Mended {
        /// `seq` of the `mending`.
        of: u64,
    },
    /// An undo begins.
    UndoBegin {
        /// Why (`undo`, `guard: parent died`, `rollback`).
        why: String,
        /// `seq` of the `begin` that is taken back; none is the first one.
        #[serde(default)]
        layer: Option<u64>,
        /// The mask that each task shall have at the end. Decided once: what an undo itself does to masks must
        /// not look like somebody else's change to the undo that finishes it.
        masks: Vec<(TaskKey, CpuSet)>,
        /// Tasks whose mask somebody else had changed.
        drifted: Vec<Drifted>,
        /// The CPUs that were online then.
        #[serde(default)]
        online: Option<CpuSet>,
    },
    /// One thing was taken back, or left alone.
    Undid {
        /// Identifier of the change.
        change: String,
        /// How it went.
        outcome: Outcome,
    },
    /// One apply was taken back.
    Undone {
        /// `seq` of its `begin`; none is the first one.
        #[serde(default)]
        layer: Option<u64>,
    },
}

impl Event {
    /// The version of quietcore that wrote it, where it says that.
    pub(crate) fn tool(&self) -> Option<&str> {
        match self {
            Event::Begin { tool, .. } | Event::Mending { tool, .. } => Some(tool),
            _ => None,
        }
    }
}

/// The numbers of the records that a later one answers: writes and moves that came to their end.
pub(crate) fn answered(records: &[Record]) -> BTreeSet<u64> {
    let of = |record: &Record| match &record.event {
        Event::Did { of, .. } | Event::Moved { of, .. } => Some(*of),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

/// What was there before a write.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// A file's text, and the pinned tasks whose masks the kernel may rewrite as a consequence.
    Value {
        /// Text as read; `None` when the file was not there.
        value: Option<String>,
        /// Places and masks of pinned tasks.
        tasks: Vec<TaskState>,
    },
    /// No such cgroup.
    Absent,
    /// Places and masks of the tasks of a batch.
    Tasks {
        /// The tasks.
        tasks: Vec<TaskState>,
        /// Those that nobody pinned, all alike.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        crowd: Option<Crowd>,
    },
    /// The files of a cgroup, in the order in which a new one takes them.
    Files {
        /// Names and texts.
        files: Vec<(String, String)>,
    },
}

/// What is there after a write.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// A file's text as read back, and the masks of the tasks named before.
    Value {
        /// Text as read back.
        value: Option<String>,
        /// Masks now.
        masks: Vec<(TaskKey, CpuSet)>,
    },
    /// The cgroup was made.
    Made,
    /// Masks of the tasks of a batch; tasks that refused or exited are left out.
    Tasks {
        /// Masks now, of those that were named one by one.
        masks: Vec<(TaskKey, CpuSet)>,
    },
    /// Nothing was changed.
    Nothing,
}

/// Where a task was, and where it could run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskState {
    /// Thread and start time.
    #[serde(flatten)]
    pub key: TaskKey,
    /// Its name, for people.
    pub comm: String,
    /// Its cgroup in the cpuset hierarchy.
    pub cgroup: Option<String>,
    /// Its mask.
    pub mask: CpuSet,
}

/// Threads of one cgroup that nobody pinned. They get back their place; their masks come and go with it, so that
/// nothing about one of them needs to be noted, and on a machine with 100,000 tasks nothing is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crowd {
    /// Their cgroup in the cpuset hierarchy.
    pub cgroup: String,
    /// The mask that one of them had, and so all.
    pub mask: CpuSet,
    /// Seconds since boot, rounded up, where the machine tells: who has one of these numbers and is younger is somebody else.
    pub at_s: Option<u64>,
    /// Their numbers.
    pub tids: Vec<u32>,
}

/// A task that is about to be moved by hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// Where it is.
    #[serde(flatten)]
    pub state: TaskState,
    /// The mask that it gets back at undo; `None` for one that nobody pinned: its cgroup gives it one.
    pub gets_back: Option<CpuSet>,
    /// Its policy, and the one that it is about to be given; `None` where the policy is left alone.
    pub policy: Option<(FormerPolicy, FormerPolicy)>,
    /// Where it is about to wait, for one that goes there only because threads of its process are in a partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waiting>,
}

/// Where a process waits whose threads are in a threaded partition (v2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The cgroup, below the mount.
    pub cgroup: String,
    /// Clock ticks after boot; who is born there later of a waiting process waits too.
    pub since: u64,
}

impl Departure {
    /// Whether a task is where this departure let it wait.
    #[must_use]
    pub fn waits_in(&self, now: &TaskState) -> bool {
        let waits = self.waits.as_ref().map(|waits| &waits.cgroup);
        waits.is_some() && waits == now.cgroup.as_ref()
    }
}

/// A policy with its priority, as far as it can be given back by `sched_setscheduler` and `setpriority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerPolicy {
    /// Policy.
    pub policy: machine::Policy,
    /// Real-time priority; 0 for policies that have none.
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

/// A task whose mask somebody else changed after our change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drifted {
    /// The task.
    pub key: TaskKey,
    /// Its name.
    pub comm: String,
    /// The mask that somebody gave it.
    pub now: CpuSet,
    /// The mask before our change.
    pub before: CpuSet,
}

/// How a step went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Written and read back.
    Done,
    /// It was so already; nothing was written.
    Already,
    /// The kernel refused, with this error number.
    Refused(i32),
    /// The kernel took it and made something else of it: the text read back.
    Otherwise(String),
    /// Somebody else changed it since: left alone.
    Drift(String),
    /// What it was about is gone.
    Gone,
}

impl Outcome {
    /// One word or a short phrase for tables and JSON.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Outcome::Done => "done".to_owned(),
            Outcome::Already => "already".to_owned(),
            Outcome::Refused(errno) => format!("refused: {}", std::io::Error::from_raw_os_error(*errno)),
            Outcome::Otherwise(text) => format!("otherwise: {text}"),
            Outcome::Drift(text) => format!("drift: {text}"),
            Outcome::Gone => "gone".to_owned(),
        }
    }
}
