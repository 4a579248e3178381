//! A matrix of experiments as data: the file, its cells, the order of their runs, and which runs are done.
//!
//! Two rules make a difference between cells meaningful. Every repetition is a block that contains every cell once. The order
//! within a block is random, so that a machine that warms up or fills its disk affects all cells alike.

pub mod board;
mod boot_state;
mod boots;
mod cells;
mod document;
mod experiment;
pub mod heat;
mod isolations;
pub mod isolcpus_vs_cpuset;
mod levels;
mod loads;
mod order;
mod record;
mod restarts;
mod schedule;
mod study;
pub mod which_knob;

pub use boot_state::CurrentMachine;
pub use boots::{Boot, is_image};
pub use cells::{Axis, CellPair, LevelCombination, MOST_CELLS, MOST_RUNS, pairs};
pub use document::{LoadPlace, MOST_BYTES, SourceText, StudyError};
pub use experiment::{Experiment, LoadLevel};
pub use isolations::PARTITION;
pub use order::blocks;
pub use record::{BootRecord, RECORD_SCHEMA, RecordMismatch, StudyRecord};
pub use restarts::{MAX_ATTEMPTS, NextStep, RebootAttempt, next};
pub use schedule::{BootSession, RunPosition, RunSchedule};
pub use study::{Study, parse};
