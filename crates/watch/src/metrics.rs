//! Exports the state of isolated CPUs as metrics: what arrived there, the findings of `check` and their age, and the cost of
//! observing.
//!
//! Pure: the sampler passes in [`ActivityTotals`], the checker a [`MetricsState`]. A value that a machine does not provide has no line,
//! never a zero. The number of lines depends on the isolated CPUs, the table of classes and [`MOST_FINDINGS`], not on events.

mod families;
mod request;
mod totals;

pub use families::exposition;
pub use formats::exposition::ExpositionFormat;
pub use request::{MOST_REQUEST, RequestRejection, ScrapeRequest, answer, parse_request};
pub use totals::{ActivityTotals, CpuTotal};

use crate::drift::Ledger;
use formats::Recording;
use machine::CpuSet;
use plan::Level;

/// The maximum number of findings with their own line, the oldest first; all are counted.
pub const MOST_FINDINGS: usize = 100;

/// The state besides the counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricsState {
    /// Version of quietcore.
    pub version: String,
    /// Release of the kernel.
    pub kernel: String,
    /// The CPUs meant to be isolated, by partition.
    pub isolated: Vec<IntendedPartition>,
    /// The source of that intention, as text.
    pub source_text: String,
    /// The minimum level: findings below it are not kept and not reported.
    pub level: Option<Level>,
    /// The open findings.
    pub ledger: Ledger,
    /// Whether the ledger knows when they appeared.
    pub since: FindingStart,
    /// The time of the last check, in seconds since 1970.
    pub checked_s: Option<u64>,
    /// The daemon that provides the state; `None` for a single check.
    pub daemon: Option<DaemonStats>,
    /// The last measurement, if configured.
    pub measured: Option<Recording>,
}

/// CPUs of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntendedPartition {
    /// Its name.
    pub partition: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Whether anything isolates them now.
    pub is_isolated: bool,
}

/// Whether the start of a finding is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FindingStart {
    /// A single check sees only that a finding exists.
    #[default]
    Unknown,
    /// A daemon saw it appear.
    Seen,
}

/// The daemon's own values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaemonStats {
    /// Its start time, in seconds since 1970.
    pub started_s: u64,
    /// The CPU time of all its threads, in nanoseconds.
    pub cpu_ns: u64,
    /// Its resident memory; `None` if the kernel does not report it.
    pub resident_bytes: Option<u64>,
    /// The number of checks.
    pub questions: u64,
    /// How often a kernel source dropped messages.
    pub lost: u64,
    /// Log lines lost to a full disk.
    pub log_lines_lost: u64,
    /// The error in the current `/etc/quietcore.toml`; the last usable version is active then.
    pub configuration_error: Option<String>,
    /// Its sources, and whether they work.
    pub sources: Vec<(String, bool)>,
}

impl MetricsState {
    /// All CPUs meant to be isolated.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        CpuSet::union(self.isolated.iter().map(|one| &one.cpus))
    }
}
