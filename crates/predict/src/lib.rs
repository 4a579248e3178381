//! Predicts what each change would gain: the gaps of a watch, without the interruptions that the change stops.
//!
//! The cures of `blame` say which change stops which interruption on this machine. Interruptions are removed from the gaps
//! one by one, and what remains keeps its place. Ranges come from blocks of time, because interruptions come in bursts.
//! What was never seen is bounded, not assumed absent. Unexplained time always remains.

mod blocks;
mod change;
mod effect;
mod input;
mod outcome;
mod prediction;
mod removal;

pub use change::{ProposalKind, ProposedChange};
pub use effect::{ChangeEffect, GapSummary, PlanEffect};
pub use input::{ChangeSelection, OtherCpus, PredictionInput, SHORT_NS, UntracedShares, WatchOrigin};
pub use outcome::{Estimate, GapQuantile, Outcome, SizeRate, WakeUpDelay};
pub use prediction::{
    PartitionOutcomes, PredictedChange, Prediction, PredictionRefusal, RemainingCause, predict, predict_partitions,
};
