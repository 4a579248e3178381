//! A matrix of experiments as data: what a file asks for, which cells that makes, in which order they run, what is done.
//!
//! Two things make a difference between cells worth anything: that every repetition is a block that holds every cell once, and
//! that the order within it is drawn by lot, so that a machine that warms up or fills its disk does it to all of them alike.

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

pub use boot_state::Here;
pub use boots::{Boot, is_image};
pub use cells::{Axis, Cell, MOST_CELLS, MOST_RUNS, Pair, pairs};
pub use document::{LoadPlace, MOST_BYTES, SourceText, StudyError, What};
pub use experiment::{Experiment, Load};
pub use isolations::PARTITION;
pub use order::blocks;
pub use record::{BootRecord, Foreign, RECORD_SCHEMA, Record};
pub use restarts::{MOST_TRIES, Next, RebootAttempt, next};
pub use schedule::{Place, Schedule, Sitting};
pub use study::{Study, parse};
