//! The project's own chores: `check`, `test`, `lab`, `dist`. People call them through the Makefile.

pub mod dist;
pub mod error;
pub mod lab_run;
pub mod programs;
pub mod suite;

mod dist_armv7;
mod formatted;
mod logged;
mod report;
