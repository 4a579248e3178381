//! Whether one set of repeated measurements differs from another, by how much, and how sure that is.
//!
//! One run of each shows nothing: two runs of the same machine differ as well. So the unit of all that is said here is the
//! repetition, never the sample: samples of one run depend on each other, and there are so many of them that every difference
//! of two runs would look certain.

mod resampling;
mod sets;
mod verdict;

pub use sets::{CONDITIONS, Compared, Number, Quantity, Set, Withheld, compared, numbers, value};
pub use verdict::{Answer, Question, RISK, TooFew, Verdict, judge};
