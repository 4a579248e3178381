//! The truth benchmark of `blame`: compares the disturbances of a CPU and their causes with the report of `blame` for
//! the same time.
//!
//! Pure code: the guest's program disturbs and runs `blame`, this code compares. All times are nanoseconds on
//! `CLOCK_MONOTONIC_RAW`.

mod control;
mod own;
mod score;
mod table;

use serde::{Deserialize, Serialize};

pub use control::{Intervals, later, span};
pub use own::{OwnRow, score_own};
pub use score::{EventScore, ScoreCounts, ScoredGaps, judge, score};
pub use table::{DisturbanceResult, ReportedKprobe, TruthRow, TruthTable};

/// One disturbance of the measured CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// Time before it.
    pub begin_raw_ns: u64,
    /// Time after it.
    pub end_raw_ns: u64,
    /// The thread that caused it.
    pub culprit: DisturbingThread,
}

/// A thread that disturbs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisturbingThread {
    /// Its thread ID, as in the kernel's events.
    pub pid: i32,
    /// Its name.
    pub comm: String,
    /// The CPU on which it ran.
    pub cpu: u32,
}

/// What `blame` must report for one kind of disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedBlame {
    /// Accepted classes, by their names in JSON.
    pub classes: &'static [&'static str],
    /// The name must contain one of these words. If empty, every name is correct.
    pub name: &'static [&'static str],
    /// The expected culprit.
    pub culprit: ExpectedCulprit,
    /// The place in the kernel, if reported, must contain one of these words. If empty, every place is correct.
    pub callsite: &'static [&'static str],
    /// Events (`ipi/ipi_send_cpu`) without which, and without kprobes for them, the culprit cannot be determined.
    pub reporting_events: &'static [&'static str],
}

/// The expected culprit of a disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedCulprit {
    /// The thread of [`Injection::culprit`]: its thread ID and its CPU.
    Injector,
    /// The thread of [`Injection::culprit`], which ran on the measured CPU itself: the interruption has its name.
    Itself,
    /// The kernel itself: an interrupt, a softirq or a kernel thread whose name contains one of these words.
    Via(&'static [&'static str]),
    /// Not known: only the class and the name can be checked.
    Unknown,
}

/// A gap: one line of `blame --gaps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedGap {
    /// Its CPU.
    pub cpu: u32,
    /// Its start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// What had the CPU during the gap, in order of time.
    #[serde(default)]
    pub parts: Vec<ReportedGapPart>,
}

/// A part of a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedGapPart {
    /// Its start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// Class of the interruption; `None` where no event accounts for this time.
    #[serde(default)]
    pub class: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// The culprit.
    #[serde(default)]
    pub culprit: Option<ReportedCulprit>,
    /// How certain that is.
    #[serde(default)]
    pub confidence: Option<String>,
}

/// The culprit that `blame` reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedCulprit {
    /// Its thread ID; 0 if no thread is named.
    pub pid: i32,
    /// Its name.
    pub comm: String,
    /// The CPU on which it ran.
    pub cpu: u32,
    /// Place in the kernel.
    #[serde(default)]
    pub callsite: Option<String>,
    /// The interrupt or softirq through which it acted.
    #[serde(default)]
    pub via: Option<String>,
}
