//! What is known of isolated CPUs as metrics: what arrived there, what `check` finds and since when, and what knowing it cost.
//!
//! Pure: whoever samples hands in [`Totals`], whoever checks a [`Known`]. What a machine does not tell has no line, never a
//! zero. How many lines there are follows from the isolated CPUs, the table of classes and [`MOST_FINDINGS`], not from what
//! happens.

mod families;
mod request;
mod totals;

pub use families::exposition;
pub use formats::exposition::Form;
pub use request::{MOST_REQUEST, Refusal, ScrapeRequest, answer, parse_request};
pub use totals::{Total, Totals};

use crate::drift::Ledger;
use formats::Recording;
use machine::CpuSet;
use plan::Level;

/// Findings that have a line of their own at most, the oldest first; all are counted.
pub const MOST_FINDINGS: usize = 100;

/// What is known besides the counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Version of quietcore.
    pub version: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Which CPUs are to be left in peace, by partition.
    pub isolated: Vec<Wanted>,
    /// Who wants it, in words.
    pub said_by: String,
    /// Findings below this level are not kept, so nothing is told of them.
    pub level: Option<Level>,
    /// What stands.
    pub ledger: Ledger,
    /// Whether the ledger knows since when.
    pub since: Since,
    /// When `check` was asked last, in seconds since 1970.
    pub checked_s: Option<u64>,
    /// The daemon that knows it; `None` for who asked once.
    pub daemon: Option<Daemon>,
    /// The last measurement, where one is named.
    pub measured: Option<Recording>,
}

/// CPUs of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub partition: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Whether anything isolates them now.
    pub is_isolated: bool,
}

/// Whether the beginning of a finding is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Since {
    /// Who looks once sees what stands and not since when.
    #[default]
    Unknown,
    /// A daemon saw it come.
    Seen,
}

/// What a daemon tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Daemon {
    /// When it began, in seconds since 1970.
    pub started_s: u64,
    /// What all its threads have had of the CPUs, in nanoseconds.
    pub cpu_ns: u64,
    /// Its memory that is in RAM; `None` where the kernel does not say.
    pub resident_bytes: Option<u64>,
    /// How often layers of `check` were asked.
    pub questions: u64,
    /// How often a source of the kernel had to leave something out.
    pub lost: u64,
    /// Lines that the log had no room for.
    pub log_lines_lost: u64,
    /// What is wrong with `/etc/quietcore.toml` as it is now; what could last be used is used then.
    pub configuration_error: Option<String>,
    /// Its sources, and whether they tell.
    pub sources: Vec<(String, bool)>,
}

impl Known {
    /// All CPUs that are to be left in peace.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        let all = self.isolated.iter();
        all.fold(CpuSet::new(), |sum, one| sum.or(&one.cpus))
    }
}
