//! What a command prints, and its progress. No other crate writes to standard output or standard error.

mod progress_bar;
mod screen;
mod step_line;

pub use progress_bar::{ProgressBar, with_progress};
pub use screen::{OutputFormat, Screen, StandardError, Volume};
pub use step_line::StepLine;
