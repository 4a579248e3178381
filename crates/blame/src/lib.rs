//! Finds what interrupted a CPU: joins kernel events with measured gaps into rows with a name, a culprit and a cure. Pure:
//! events in, answer out.
//!
//! A name never gets time without an event. Time in a gap without an event is `unexplained`, except for the way into and out
//! of an interruption, up to the usual length.

mod answer;
mod attribution;
mod chains;
mod context;
mod counters;
mod cpu;
mod cures;
mod functions;
mod gaps;
mod hwlat;
mod kernel_event;
mod kernel_numbers;
mod origins;
mod question;
mod reader;
mod rows;
mod runs;
mod scene;
mod senders;
mod stories;
mod victims;

pub use answer::{BlameResult, Confidence, CpuAnswer, Culprit, GapSource, Interruption, InterruptionSubject, Link};
pub use attribution::{Attribution, attribute};
pub use counters::CounterDeltas;
pub use cures::{Cure, CureAction, CureContext, FUNCTIONS, Function, Remedy, cure, intent_includes};
pub use functions::{FunctionTime, Functions, FunctionsReport, GapFunctions, LostRecords};
pub use gaps::{Gap, TransitionTimes};
pub use hwlat::{Hwlat, HwlatCpu, HwlatReport};
pub use kernel_event::{EventThread, KernelEvent};
pub use kernel_numbers::{interrupting_calls, serving_softirqs};
pub use observe::Class;
pub use question::{BlameQuestion, BlameTarget, FollowMode, Victim};
pub use reader::RecordDecoder;
pub use runs::{
    LongestRun, LongestWaits, RunsOfCpu, ThreadChange, ThreadEvent, ThreadFilter, ThreadPeriod, longest_run_of_pages,
};
pub use scene::could_go_on;
pub use senders::{GROUP, SenderProbe, is_group, senders};
pub use stories::{GapSelection, GapStory, StoryPiece};
