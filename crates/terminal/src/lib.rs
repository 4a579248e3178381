//! What a command prints. No other crate writes to standard output or standard error.

mod screen;

pub use screen::{OutputFormat, Screen, StandardError, Volume};
