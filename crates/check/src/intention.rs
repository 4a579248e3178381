//! Defines what should be isolated, which source requested it, and by which means.

use machine::CpuSet;
use plan::{Finding, Intent};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The source of an intention. The first existing one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IntentionSource {
    /// The command line: `--cpus`.
    CommandLine,
    /// `/etc/quietcore.toml`.
    Declared,
    /// The journal: what was applied.
    Journal,
    /// The running boot line: `isolcpus=` or `nohz_full=`.
    BootLine,
    /// A cpuset that takes CPUs and is not ours: from cset, partrt, or created manually.
    Cpuset,
    /// systemd's `AllowedCPUs=` in its slices.
    Slices,
    /// TuneD's variables.
    Tuned,
    /// Nothing is isolated.
    Nobody,
}

impl IntentionSource {
    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            IntentionSource::CommandLine => "--cpus",
            IntentionSource::Declared => "/etc/quietcore.toml",
            IntentionSource::Journal => "the journal of what was applied",
            IntentionSource::BootLine => "the running boot line",
            IntentionSource::Cpuset => "a cpuset that takes CPUs",
            IntentionSource::Slices => "systemd's AllowedCPUs",
            IntentionSource::Tuned => "the variables of TuneD",
            IntentionSource::Nobody => "nobody",
        }
    }
}

/// What keeps everything else off the CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IsolationMeans {
    /// An active partition of ours.
    Partition,
    /// A partition of ours that should be active but is not.
    Missing,
    /// The boot line.
    BootLine,
    /// A cpuset of another owner, by its path below the mount.
    Cpuset(String),
    /// systemd's `AllowedCPUs=` of the slices in which it starts everything.
    Slices,
    /// Masks that TuneD sets.
    Tuned,
    /// Nothing visible.
    Nothing,
}

impl IsolationMeans {
    /// Whether something isolates the CPUs now.
    #[must_use]
    pub fn isolates(&self) -> bool {
        !matches!(self, IsolationMeans::Missing | IsolationMeans::Nothing)
    }
}

/// One set of CPUs that should be undisturbed.
#[derive(Clone, Debug)]
pub struct IntendedIsolation {
    /// The CPUs and the profile. What others isolate is compared with `minimal`: tasks and interrupts.
    pub intent: Intent,
    /// What isolates them.
    pub means: IsolationMeans,
    /// Identifiers of the changes that were made for it.
    pub applied: BTreeSet<String>,
    /// Changes that the kernel refused when the intent was applied, and why; that was reported then.
    pub refused: BTreeMap<String, String>,
    /// Changes that the kernel accepted then but refused when they were last repaired, and why.
    pub unrepaired: BTreeMap<String, String>,
    /// Changes that no longer hold, according to the journal.
    pub drift: Vec<Finding>,
}

impl IntendedIsolation {
    /// A wish without a journal.
    #[must_use]
    pub fn new(intent: Intent, means: IsolationMeans) -> IntendedIsolation {
        IntendedIsolation {
            intent,
            means,
            applied: BTreeSet::new(),
            refused: BTreeMap::new(),
            unrepaired: BTreeMap::new(),
            drift: Vec::new(),
        }
    }
}

/// Everything that is wanted, from one source.
#[derive(Clone, Debug)]
pub struct Intention {
    /// The source.
    pub source: IntentionSource,
    /// The wishes.
    pub isolations: Vec<IntendedIsolation>,
    /// Why a part of it is unknown, one line each: then it cannot be confirmed that all of it is met.
    pub unseen: Vec<String>,
}

impl Intention {
    /// Its CPUs that nothing isolates now: no partition, no cpuset, no boot parameter.
    #[must_use]
    pub fn not_isolated(&self) -> CpuSet {
        let open = self.isolations.iter().filter(|isolation| !isolation.means.isolates());
        CpuSet::union(open.map(|isolation| &isolation.intent.cpus))
    }

    /// All its CPUs.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        CpuSet::union(self.isolations.iter().map(|isolation| &isolation.intent.cpus))
    }
}
