//! Defines the short form of a prediction that plans show.

use crate::outcome::{Estimate, Outcome};
use serde::{Deserialize, Serialize};

/// The gaps of a watch in the numbers that a plan shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapSummary {
    /// Stolen time, in nanoseconds per second and CPU.
    pub stolen_ns_per_s: Estimate,
    /// Gaps per second and CPU.
    pub gaps_per_s: Estimate,
    /// The longest gap that was seen, in nanoseconds.
    pub longest_ns: u64,
}

impl From<&Outcome> for GapSummary {
    fn from(outcome: &Outcome) -> GapSummary {
        GapSummary {
            stolen_ns_per_s: outcome.stolen_ns_per_s,
            gaps_per_s: outcome.rate(0).unwrap_or_default(),
            longest_ns: outcome.longest_ns,
        }
    }
}

/// What is left with a change, and what to know about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeEffect {
    /// The gaps that are left.
    pub gaps: GapSummary,
    /// Its costs and limits in words, as `predict` shows them.
    pub remarks: String,
}

/// What an earlier watch predicts for a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanEffect {
    /// When the watch ended, RFC 3339, UTC.
    pub watched_at: String,
    /// How long each CPU was watched, in nanoseconds.
    pub watched_ns: u64,
    /// Without a change.
    pub now: GapSummary,
    /// With the changes that take effect now.
    pub with_plan: ChangeEffect,
    /// With the boot line too; `None` if the plan has none.
    pub with_boot_line: Option<ChangeEffect>,
}
