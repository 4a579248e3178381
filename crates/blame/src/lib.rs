//! Who interrupted a CPU: events of the kernel, joined with the gaps that somebody measured, become rows with a name, a
//! culprit and a cure. Pure: events go in, an answer comes out.
//!
//! Time is never given to a name without an event. What lies in a gap and no event covers is `unexplained`; only the way
//! into and out of an interruption, which is as long as it usually is, belongs to that.

mod answer;
mod attribute;
mod attribution;
mod chains;
mod context;
mod counters;
mod cpu;
mod cures;
mod functions;
mod gaps;
mod happened;
mod hwlat;
mod kernel_numbers;
mod origins;
mod question;
mod reader;
mod rows;
mod runs;
mod senders;
mod stories;
mod victims;

pub use answer::{Answer, Confidence, CpuAnswer, Culprit, GapsFrom, Interruption, Link, Subject};
pub use attribute::could_go_on;
pub use attribution::{Attribution, attribute};
pub use counters::Counted;
pub use cures::{Cure, FUNCTIONS, Function, Ground, Remedy, cure};
pub use functions::{FunctionTime, Functions, FunctionsTold, GapFunctions, LostRecords};
pub use gaps::Gap;
pub use happened::{Happened, Thread};
pub use hwlat::{Hwlat, HwlatCpu, HwlatTold};
pub use kernel_numbers::{interrupting_calls, serving_softirqs};
pub use observe::Class;
pub use question::{Follow, Question, Target, Victim};
pub use reader::Reader;
pub use runs::{LongestRun, LongestWaits, RunsOfCpu, Scheduled, Step, Stretch, Whose, longest_run_of_pages};
pub use senders::{GROUP, Sender, is_group, senders};
pub use stories::{Keep, Piece, Story};
