//! Describes a change as data before it is made: what is written where, the previous value, why, and how it is undone.

use machine::{CpuSet, TaskKey};
use serde::{Deserialize, Serialize};

/// One planned change. Moving tasks is one change per rule, with the tasks known now as a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Stable identifier, unique within a plan: `irq_affinity/47`.
    pub id: String,
    /// The file or the rule it concerns.
    pub target: String,
    /// Now, or at the next boot.
    pub kind: ChangeKind,
    /// The current value; `None` if unknown or absent.
    pub before: Option<String>,
    /// The value after the change.
    pub after: String,
    /// The reason.
    pub why: String,
    /// How it is undone, in words.
    pub undo: String,
    /// What `apply` does.
    pub action: Action,
}

impl Change {
    /// A change at run time that has no name, no former value and no reason yet.
    pub(crate) fn new(target: &str, after: &str, undo: &str, action: Action) -> Change {
        Change {
            id: String::new(),
            target: target.to_owned(),
            kind: ChangeKind::Runtime,
            before: None,
            after: after.to_owned(),
            why: String::new(),
            undo: undo.to_owned(),
            action,
        }
    }

    /// A change that writes a value to a file.
    pub(crate) fn write(
        path: &str,
        before: Option<String>,
        value: &str,
        compare: ReadbackComparison,
        (on_refusal, undo): (RefusalPolicy, UndoMethod),
    ) -> Change {
        let back = match undo {
            UndoMethod::Restore => "write the former value",
            UndoMethod::WithSet => "removed with the cgroup",
        };
        let action = Action::Write {
            path: path.to_owned(),
            value: value.to_owned(),
            compare,
            on_refusal,
            undo,
        };
        Change {
            before,
            ..Change::new(path, value, back, action)
        }
    }

    /// A change of a list of CPUs in a file, for this reason.
    pub(crate) fn of_list(
        path: &str,
        before: Option<&CpuSet>,
        after: &CpuSet,
        on_refusal: RefusalPolicy,
        why: String,
    ) -> Change {
        let before = before.map(ToString::to_string);
        let policy = (on_refusal, UndoMethod::Restore);
        Change {
            why,
            undo: "write the former list".to_owned(),
            ..Change::write(path, before, &after.to_string(), ReadbackComparison::List, policy)
        }
    }

    /// The change as one of a knob, for this reason.
    pub(crate) fn of_knob(self, knob: &str, why: &str) -> Change {
        Change {
            id: format!("{knob}{}", self.target),
            why: why.to_owned(),
            ..self
        }
    }

    /// The name of the knob it belongs to: the part of its identifier before the first `/`.
    #[must_use]
    pub fn knob(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(knob, _)| knob)
    }
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// At once, until reboot.
    Runtime,
    /// At the next boot.
    Boot,
}

/// What `apply` does for a change, and so what the journal records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Write a value to a file, unless the file already holds it.
    Write {
        /// The file.
        path: String,
        /// The value.
        value: String,
        /// How two values of this file are compared.
        compare: ReadbackComparison,
        /// What a refusal by the kernel means.
        on_refusal: RefusalPolicy,
        /// How it is undone.
        undo: UndoMethod,
    },
    /// Create a cpuset cgroup that must not exist yet.
    MakeSet {
        /// Its directory.
        path: String,
    },
    /// Remove a cpuset cgroup that holds no tasks.
    RemoveSet {
        /// Its directory.
        path: String,
    },
    /// Have systemd start an empty slice of ours, which makes systemd keep the cpuset controller enabled.
    StartSlice {
        /// The unit.
        unit: String,
        /// Its cgroup, which systemd creates.
        path: String,
        /// Its `AllowedMemoryNodes=`, as a list.
        nodes: String,
    },
    /// Turn a v2 cgroup into a partition and read back the state that the kernel gave it.
    MakePartition {
        /// The `cpuset.cpus.partition` file.
        path: String,
        /// Words to try in order: `isolated`, then `root`.
        words: Vec<String>,
    },
    /// Change the owner of a cgroup file so that a user may write to it, and read the owner back.
    GiveFile {
        /// The file.
        path: String,
        /// Its new owner.
        uid: u32,
        /// Its new group, which then may write too; `None` leaves group and permissions unchanged.
        gid: Option<u32>,
        /// How it is undone.
        undo: UndoMethod,
    },
    /// Move every movable task of a set into another until no new one appears: threads on v1, processes on v2.
    MoveTasks {
        /// Directory of the set to empty.
        from: String,
        /// Directory of the set that receives them.
        to: String,
        /// CPUs of the receiving set: pins inside it are kept.
        cpus: CpuSet,
        /// Which tasks move.
        #[serde(default)]
        who: TaskSelector,
    },
    /// Ban these CPUs in the running irqbalance over its socket, in addition to its own banned CPUs.
    BanCpus {
        /// The daemon; an instance started later does not know about the ban.
        daemon: TaskKey,
        /// The CPUs.
        cpus: CpuSet,
    },
    /// Narrow the affinity of every movable task that may still run on the isolated CPUs, until no new one appears.
    /// This is for kernel threads on v2, which nothing else keeps off these CPUs.
    NarrowTasks {
        /// The CPUs to leave.
        isolated: CpuSet,
        /// Where to send a task that would have no CPU left.
        housekeeping: CpuSet,
        /// Cgroup path of the partition, whose tasks stay.
        partition: String,
    },
    /// Take all of these CPUs offline, then online again, and restore masks that the kernel widened during that time.
    CycleCpus {
        /// The CPUs.
        cpus: CpuSet,
    },
}

/// Which tasks of a set move.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskSelector {
    /// All that the kernel allows to move.
    #[default]
    All,
    /// All except kernel threads.
    UserSpace,
    /// These threads, wherever they are.
    These(Vec<u32>),
}

/// How the value read back is compared with the value written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReadbackComparison {
    /// As CPU (or node) lists: `0-1` equals `0,1`.
    List,
    /// As hexadecimal masks: `ff` equals `0x000000ff`.
    Mask,
    /// As a CPU list that contains these CPUs, and may contain those of others. A write adds them, and undo removes them.
    Includes,
    /// As trimmed text.
    Text,
    /// `+name` matches if the list of words contains `name`: `cgroup.subtree_control`.
    Word,
    /// As the word in brackets if the kernel lists all choices: `always [madvise] never` equals `madvise`.
    Choice,
}

/// What it means when the kernel refuses a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RefusalPolicy {
    /// The intent cannot be met: undo everything.
    Fatal,
    /// Report it and continue: an interrupt whose mask the kernel manages itself.
    Report,
}

/// How a write is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UndoMethod {
    /// Write the previous value.
    Restore,
    /// Nothing: the file disappears with the cgroup that was created for it.
    WithSet,
}

impl ReadbackComparison {
    /// Whether `found` means the same as `wanted`.
    #[must_use]
    pub fn same(self, found: &str, intended: &str) -> bool {
        let found = found.trim();
        let intended = intended.trim();
        match self {
            ReadbackComparison::List | ReadbackComparison::Mask => match (self.cpus(found), self.cpus(intended)) {
                (Some(found), Some(intended)) => found == intended,
                _ => found == intended,
            },
            ReadbackComparison::Includes => match (self.cpus(found), self.cpus(intended)) {
                (Some(found), Some(intended)) => intended.is_subset(&found),
                _ => false,
            },
            ReadbackComparison::Text => found == intended,
            ReadbackComparison::Choice => chosen(found) == chosen(intended),
            ReadbackComparison::Word => match intended.split_at_checked(1) {
                Some(("+", word)) => found.split_whitespace().any(|here| here == word),
                Some(("-", word)) => found.split_whitespace().all(|here| here != word),
                _ => found == intended,
            },
        }
    }

    /// The CPUs of a list or mask; `None` for other texts.
    pub(crate) fn cpus(self, text: &str) -> Option<CpuSet> {
        match self {
            ReadbackComparison::List | ReadbackComparison::Includes => CpuSet::parse_list(text).ok(),
            ReadbackComparison::Mask => CpuSet::parse_mask(text).ok(),
            ReadbackComparison::Text | ReadbackComparison::Choice | ReadbackComparison::Word => None,
        }
    }

    /// The text to write so that a file reads as before: for a list of choices, the active one.
    #[must_use]
    pub fn written(self, former: &str) -> &str {
        match self {
            ReadbackComparison::Choice => chosen(former),
            _ => former,
        }
    }
}

/// The choice in brackets; a text without brackets is the choice itself.
pub(crate) fn chosen(text: &str) -> &str {
    text.split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
        .unwrap_or_else(|| text.trim())
}
