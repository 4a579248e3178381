//! Reads and writes comma-separated values for spreadsheets and data frames: one line per bucket, sample, statistic and fact.
//!
//! `of` is the basis of the values (`samples`, `schedule`, `period`, `early`; see [`crate::Basis`]), so that a filter on it
//! never mixes them. `what` is the subject of the line. Lines without a kind are about the whole file.

mod read;
mod write;

pub(crate) use read::label;
pub use read::{looks_like, read};
pub use write::write;

pub(crate) const NAME: &str = "csv";

/// The first line of the file: the column names.
const HEAD: &str = "kind,cpu,thread,part,of,what,at_ns,low_ns,width_ns,count,value";
