//! The truth benchmark of `blame`: what was done to a CPU and by whom, held against what `blame` says of the same time.
//!
//! Pure: the guest's program disturbs and runs `blame`, this compares. All times are nanoseconds on `CLOCK_MONOTONIC_RAW`.

mod control;
mod own;
mod score;
mod table;

use serde::{Deserialize, Serialize};

pub use control::{Intervals, later, span};
pub use own::{Own, score_own};
pub use score::{Counts, Seen, Verdict, judge, score};
pub use table::{Cell, Kprobe, Row, Table};

/// One thing that was done to the measured CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injected {
    /// Taken before it.
    pub begin_raw_ns: u64,
    /// Taken when it was over.
    pub end_raw_ns: u64,
    /// Who did it.
    pub culprit: Thread,
}

/// A thread that disturbs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number, as the kernel's events have it.
    pub pid: i32,
    /// Its name.
    pub comm: String,
    /// CPU on which it did it.
    pub cpu: u32,
}

/// What `blame` has to say of one kind of disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Accepted classes, by their names in JSON.
    pub classes: &'static [&'static str],
    /// Words of which the name has one; with none every name is right.
    pub name: &'static [&'static str],
    /// Who is to blame.
    pub culprit: Who,
    /// Words of which the place in the kernel has one, where `blame` tells a place; with none every place is right.
    pub callsite: &'static [&'static str],
    /// Events (`ipi/ipi_send_cpu`) without which, and without kprobes for them, nobody tells the culprit.
    pub told_by: &'static [&'static str],
}

/// Who is to blame for a disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The thread of [`Injected::culprit`] is the culprit: its number and its CPU.
    Injector,
    /// The thread of [`Injected::culprit`] ran there itself: the name of the interruption is its name.
    Itself,
    /// The kernel itself did it: an interrupt, a softirq or a thread of it whose name has one of these words.
    Via(&'static [&'static str]),
    /// Nothing but the class and the name can be known.
    Nobody,
}

/// A gap, as `blame --gaps` writes one on each line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Of which CPU.
    pub cpu: u32,
    /// Its first moment.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// Who had the CPU in it, in the order of time.
    #[serde(default)]
    pub parts: Vec<Part>,
}

/// A part of a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its first moment.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// Class of the interruption; without one, no event accounts for this time.
    #[serde(default)]
    pub class: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// Who is to blame.
    #[serde(default)]
    pub culprit: Option<Blamed>,
    /// How sure that is.
    #[serde(default)]
    pub confidence: Option<String>,
}

/// Whom `blame` blames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blamed {
    /// Thread; 0 for none.
    pub pid: i32,
    /// Its name.
    pub comm: String,
    /// CPU on which it did it.
    pub cpu: u32,
    /// Place in the kernel.
    #[serde(default)]
    pub callsite: Option<String>,
    /// Interrupt or softirq.
    #[serde(default)]
    pub via: Option<String>,
}
