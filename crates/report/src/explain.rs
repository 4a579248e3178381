//! `explain`: what one word means, from the tables that the rest of the product runs on, and what is wrong with a
//! boot line.

mod entry;
mod errors;
mod line;
mod surroundings;
mod tables;
mod threads;

pub use entry::{Entry, Part, explain_text};
pub use line::{LintReport, lint_text};
pub use surroundings::Surroundings;
pub use tables::{Near, contents_text, explain, words};

/// The schema of both documents.
pub const EXPLAIN_SCHEMA: &str = "quietcore.explain/1";
