//! Defines what is predicted, and from what.

use blame::{BlameResult, CureContext};
use plan::Profile;
use serde::Serialize;

/// The time in gaps shorter than this is compared with and without a trace, in nanoseconds. Longer ones are too rare to be the
/// same in two runs.
pub const SHORT_NS: u64 = 100_000;

/// What to predict from.
#[derive(Clone, Copy, Debug)]
pub struct PredictionInput<'a> {
    /// The watch, with its individual gaps.
    pub answer: &'a BlameResult,
    /// The machine.
    pub context: &'a CureContext,
    /// The minimum length of a gap that the watch reported, in nanoseconds.
    pub threshold_ns: u64,
    /// Which changes to predict.
    pub selection: ChangeSelection,
    /// When it was watched.
    pub origin: WatchOrigin,
    /// The CPUs to which work may move; `None` if unknown.
    pub others: Option<OtherCpus>,
    /// The median latency of wake-ups of a real-time thread, in nanoseconds; `None` if it was not measured.
    pub base_latency_ns: Option<u64>,
    /// What is left without the trace; `None` if it was not measured.
    pub untraced: Option<UntracedShares>,
}

/// Stolen time and gaps per second without a trace, as shares of those with it: from 0 to 1. A trace lengthens gaps, and
/// lifts short ones over a size limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UntracedShares {
    /// Of the time in gaps shorter than 100 us.
    pub stolen: f64,
    /// Of the number of gaps.
    pub gaps: f64,
    /// Of the number of gaps from 10 us on.
    pub gaps_10us: f64,
}

/// The CPUs beside the watched ones, during the watch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherCpus {
    /// Their number.
    pub count: usize,
    /// The share of their time in which they were busy, 0 to 1.
    pub busy_share: f64,
}

/// When a watch was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchOrigin {
    /// Now: its threads still run.
    Now,
    /// Earlier: its threads may have ended, and their numbers may belong to others.
    Recording,
}

/// Which changes to predict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeSelection {
    /// Each change alone, each profile, the boot line, and all together.
    #[default]
    Each,
    /// One change: this profile, the boot line, or both.
    Only {
        /// The profile.
        profile: Option<Profile>,
        /// Whether the boot line is part of it.
        boot: bool,
    },
}
