//! The project's tasks: `check`, `test`, `lab`, `dist`. The Makefile calls them.

pub mod dist;
pub mod error;
pub mod lab_run;
pub mod packages;
pub mod programs;
pub mod suite;

mod armv7;
mod document_schemas;
mod formatted;
mod logged;
mod report;
