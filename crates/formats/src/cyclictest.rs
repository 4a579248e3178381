//! Supports cyclictest's text (rt-tests): histograms, quiet lines, single samples of `-v`, and spikes.

mod read;
mod write;

pub use read::{looks_like, read};
pub use write::{every_row, rows_with_samples};

pub(crate) const NAME: &str = "cyclictest";

/// Common to all of its files.
pub(crate) const SKIPS: &str = "cyclictest leaves out the wake-ups that were expected while it was late, and counts none of \
     them: one long delay weighs as one sample, so means and percentiles are better than the truth";
