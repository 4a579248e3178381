//! A change is data before it is done: what is written where, what was there, why, and how it is taken back.

use machine::{CpuSet, TaskKey};
use serde::{Deserialize, Serialize};

/// One planned change. Moving tasks is one change per rule, with the tasks known now as a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Stable identifier, unique within a plan: `irq_affinity/47`.
    pub id: String,
    /// The file or the rule that it is about.
    pub target: String,
    /// Now, or at the next boot.
    pub kind: ChangeKind,
    /// What is there now; `None` is unknown, or nothing.
    pub before: Option<String>,
    /// What will be there.
    pub after: String,
    /// Because.
    pub why: String,
    /// How it is taken back, in words.
    pub undo: String,
    /// What `apply` does.
    pub action: Action,
}

impl Change {
    /// Name of the knob that it belongs to: what stands before the first `/` of its identifier.
    #[must_use]
    pub fn knob(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(knob, _)| knob)
    }
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// At once, until reboot.
    Runtime,
    /// At the next boot.
    Boot,
}

/// What `apply` does for a change, and so what the journal records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Write a value to a file, unless the file already says so.
    Write {
        /// The file.
        path: String,
        /// The value.
        value: String,
        /// How two values of this file are compared.
        compare: Compare,
        /// What a refusal by the kernel means.
        on_refusal: OnRefusal,
        /// How it is taken back.
        undo: Undo,
    },
    /// Make a cpuset cgroup that must not exist yet.
    MakeSet {
        /// Its directory.
        path: String,
    },
    /// Remove a cpuset cgroup that holds no tasks.
    RemoveSet {
        /// Its directory.
        path: String,
    },
    /// Have systemd start an empty slice of ours, which makes it keep the cpuset controller on.
    StartSlice {
        /// The unit.
        unit: String,
        /// Its cgroup, which systemd makes.
        path: String,
        /// Its `AllowedMemoryNodes=`, as a list.
        nodes: String,
    },
    /// Turn a v2 cgroup into a partition and read back what the kernel made of it.
    MakePartition {
        /// The `cpuset.cpus.partition` file.
        path: String,
        /// Words to try in order: `isolated`, then `root`.
        words: Vec<String>,
    },
    /// Let somebody write to a file of a cgroup, and read back whom it belongs to.
    GiveFile {
        /// The file.
        path: String,
        /// Its new owner.
        uid: u32,
        /// Its new group, which may write too then; `None` leaves group and permissions.
        gid: Option<u32>,
        /// How it is taken back.
        undo: Undo,
    },
    /// Move every movable task of a set into another, until no new one appears: threads on v1, processes on v2.
    MoveTasks {
        /// Directory of the set that is emptied.
        from: String,
        /// Directory of the set that takes them.
        to: String,
        /// CPUs of the taking set: pins inside it are kept.
        cpus: CpuSet,
        /// Which of them.
        #[serde(default)]
        who: Movers,
    },
    /// Tell the running irqbalance over its socket to keep interrupts away from these CPUs too.
    BanCpus {
        /// The daemon: one that was started since knows nothing of it.
        daemon: TaskKey,
        /// The CPUs.
        cpus: CpuSet,
    },
    /// Narrow the affinity of every movable task that may still run on the isolated CPUs, until no new one
    /// appears: kernel threads on v2, which cannot be kept away otherwise.
    NarrowTasks {
        /// The CPUs to leave.
        isolated: CpuSet,
        /// Where a task goes that would have no CPU left.
        housekeeping: CpuSet,
        /// Cgroup path of the partition, whose tasks stay.
        partition: String,
    },
    /// Take CPUs offline, all of them, then online again, and give masks back that the kernel widened meanwhile.
    CycleCpus {
        /// The CPUs.
        cpus: CpuSet,
    },
}

/// Which tasks of a set move.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Movers {
    /// All that the kernel lets go.
    #[default]
    All,
    /// No kernel threads.
    UserSpace,
    /// These threads, wherever they are.
    These(Vec<u32>),
}

/// How the value read back is held against the value written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// As CPU (or node) lists: `0-1` equals `0,1`.
    List,
    /// As hexadecimal masks: `ff` equals `0x000000ff`.
    Mask,
    /// As trimmed text.
    Text,
    /// `+name` is there when the list of words holds `name`: `cgroup.subtree_control`.
    Word,
    /// As the word in brackets where the kernel lists all choices: `always [madvise] never` equals `madvise`.
    Choice,
}

/// What it means when the kernel refuses a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnRefusal {
    /// The intent cannot be met: take everything back.
    Fatal,
    /// Say so and go on: an interrupt whose mask the kernel manages itself.
    Report,
}

/// How a write is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// Write the former value.
    Restore,
    /// Nothing: the file goes with the cgroup that was made for it.
    WithSet,
}

impl Compare {
    /// Whether `found` means the same as `wanted`.
    #[must_use]
    pub fn same(self, found: &str, wanted: &str) -> bool {
        let found = found.trim();
        let wanted = wanted.trim();
        let parsed =
            |parse: fn(&str) -> Result<CpuSet, machine::ParseError>| match (parse(found), parse(wanted)) {
                (Ok(found), Ok(wanted)) => found == wanted,
                _ => found == wanted,
            };
        match self {
            Compare::List => parsed(CpuSet::parse_list),
            Compare::Mask => parsed(CpuSet::parse_mask),
            Compare::Text => found == wanted,
            Compare::Choice => chosen(found) == chosen(wanted),
            Compare::Word => match wanted.split_at_checked(1) {
                Some(("+", word)) => found.split_whitespace().any(|here| here == word),
                Some(("-", word)) => found.split_whitespace().all(|here| here != word),
                _ => found == wanted,
            },
        }
    }

    /// What has to be written so that a file reads as it did: of a list of choices the one that was in force.
    #[must_use]
    pub fn written(self, former: &str) -> &str {
        match self {
            Compare::Choice => chosen(former),
            _ => former,
        }
    }
}

/// Of all choices the one in brackets; a text without brackets is the choice itself.
fn chosen(text: &str) -> &str {
    text.split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
        .unwrap_or_else(|| text.trim())
}
