//! What somebody wants isolated, who said so, and by which means it is meant to be.

use machine::CpuSet;
use plan::{Finding, Intent};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where an intention was found. The first that there is counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The command line: `--cpus`.
    CommandLine,
    /// `/etc/quietcore.toml`.
    Declared,
    /// The journal: what was applied.
    Journal,
    /// The running boot line: `isolcpus=` or `nohz_full=`.
    BootLine,
    /// A cpuset that takes CPUs and is not ours: of cset, partrt, or made by hand.
    Cpuset,
    /// systemd's `AllowedCPUs=` of its slices.
    Slices,
    /// TuneD's variables.
    Tuned,
    /// Nobody isolates anything.
    Nobody,
}

impl Source {
    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Source::CommandLine => "--cpus",
            Source::Declared => "/etc/quietcore.toml",
            Source::Journal => "the journal of what was applied",
            Source::BootLine => "the running boot line",
            Source::Cpuset => "a cpuset that takes CPUs",
            Source::Slices => "systemd's AllowedCPUs",
            Source::Tuned => "the variables of TuneD",
            Source::Nobody => "nobody",
        }
    }
}

/// What keeps everything else away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Means {
    /// A partition of ours that is in force.
    Partition,
    /// A partition of ours that should be in force and is not.
    Missing,
    /// The boot line.
    BootLine,
    /// A cpuset of somebody else, by its path below the mount.
    Cpuset(String),
    /// systemd's `AllowedCPUs=` of what it starts everything in.
    Slices,
    /// Masks that TuneD sets.
    Tuned,
    /// Nothing that anybody can see.
    Nothing,
}

impl Means {
    /// Whether something isolates the CPUs now.
    #[must_use]
    pub fn isolates(&self) -> bool {
        !matches!(self, Means::Missing | Means::Nothing)
    }
}

/// One set of CPUs that should be left in peace.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The CPUs and how far to go. What others isolate is held against `minimal`: tasks and interrupts.
    pub intent: Intent,
    /// What isolates them.
    pub means: Means,
    /// Identifiers of the changes that were made for it.
    pub applied: BTreeSet<String>,
    /// Changes that the kernel refused when it was applied, and why: that was said then.
    pub refused: BTreeMap<String, String>,
    /// Changes that it took then and refused when they were last mended, and why.
    pub unmended: BTreeMap<String, String>,
    /// What the journal knows to hold no more.
    pub drift: Vec<Finding>,
}

impl Wish {
    /// One of which no journal tells.
    #[must_use]
    pub fn new(intent: Intent, means: Means) -> Wish {
        Wish {
            intent,
            means,
            applied: BTreeSet::new(),
            refused: BTreeMap::new(),
            unmended: BTreeMap::new(),
            drift: Vec::new(),
        }
    }
}

/// All that is wanted, from one source.
#[derive(Clone, Debug)]
pub struct Intention {
    /// Who said so.
    pub source: Source,
    /// What.
    pub wishes: Vec<Wish>,
    /// Why something about it is not known, one line each: then nobody can say that all of it is met.
    pub unseen: Vec<String>,
}

impl Intention {
    /// Its CPUs that nothing isolates now: no partition, no cpuset, no boot parameter.
    #[must_use]
    pub fn not_isolated(&self) -> CpuSet {
        let open = self.wishes.iter().filter(|wish| !wish.means.isolates());
        open.fold(CpuSet::new(), |all, wish| all.or(&wish.intent.cpus))
    }

    /// The CPUs of all of it.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        let sets = self.wishes.iter().map(|wish| &wish.intent.cpus);
        sets.fold(CpuSet::new(), |all, cpus| all.or(cpus))
    }
}
