//! Determines whether one set of repeated measurements differs from another, by how much, and how certain that is.
//!
//! One run of each shows nothing, because two runs of the same machine differ as well. So the unit of all statistics here is
//! the repetition, never the sample: samples of one run depend on each other, and their number would make every difference of
//! two runs look certain.

mod resampling;
mod sets;
mod verdict;

pub use resampling::ResamplingRng;
pub use sets::{CONDITIONS, NoVerdictReason, Number, Quantity, RunSet, SetComparison, compared, numbers, value};
pub use verdict::{ComparisonAnswer, ComparisonQuestion, RISK, TooFewRepetitions, Verdict, judge};
