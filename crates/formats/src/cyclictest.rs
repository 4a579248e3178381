//! Supports cyclictest's text (rt-tests): histograms, quiet lines, single samples of `-v`, and spikes.

mod read;
mod write;

pub use read::{looks_like, read};
pub use write::{every_row, rows_with_samples};

pub(crate) const NAME: &str = "cyclictest";

/// Common to all of its files.
pub(crate) const SKIPS: &str = "cyclictest omits the wake-ups that were expected while it was late, and does not count \
     them: one long delay counts as one sample, so means and percentiles look better than they are";
