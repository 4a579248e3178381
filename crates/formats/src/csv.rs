//! Comma-separated values for spreadsheets and data frames, and back: one line per bucket, single sample, statistic and fact.
//!
//! `of` is what the values are (`samples`, `schedule`, `period`, `early`; see [`crate::Basis`]), so that a filter on it never
//! adds up what must not be mixed; `what` is what the line is about. Lines without a kind are about the whole file.

mod read;
mod write;

pub(crate) use read::label;
pub use read::{looks_like, read};
pub use write::write;

/// Its name in our list.
pub(crate) const NAME: &str = "csv";

/// The first line of the file: names of the columns.
const HEAD: &str = "kind,cpu,thread,part,of,what,at_ns,low_ns,width_ns,count,value";
