//! The project's tasks: `check`, `test`, `lab`, `dist`. The Makefile calls them.

pub mod dist;
pub mod error;
pub mod lab_run;
pub mod programs;
pub mod suite;

mod dist_armv7;
mod formatted;
mod logged;
mod report;
