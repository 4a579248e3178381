//! `prove`: the whole story of one isolation, for a terminal and as one page.

mod page;
mod sections;
mod statistics;
mod text;

pub use crate::residue::{Residue, ResidueRow, StuckInterrupt, StuckThread, residue};
pub use page::prove_html;
pub use text::prove_text;

use machine::CpuSet;
use measure::{Environment, Measurement};
use observe::Activity;
use plan::{Finding, Plan};
use serde::{Deserialize, Serialize};

/// The schema of [`Story`] as JSON.
pub const PROVE_SCHEMA: &str = "quietcore.prove/1";

/// Everything that `prove` did and found: the JSON `quietcore.prove/1`. What was not done is `None`.
#[derive(Clone, Debug, Serialize)]
pub struct Story {
    /// [`PROVE_SCHEMA`].
    pub schema: String,
    /// Version of this tool.
    pub tool_version: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The machine.
    pub environment: Environment,
    /// CPUs that were asked for, or chosen.
    pub cpus: CpuSet,
    /// Why these.
    pub cpus_why: String,
    /// CPUs that were isolated in the end; empty when none could be.
    pub isolated: CpuSet,
    /// CPUs that kept everything else.
    pub housekeeping: CpuSet,
    /// What was done, in order.
    pub steps: Vec<Step>,
    /// As the machine was.
    pub before: Option<Phase>,
    /// While the CPUs were isolated.
    pub during: Option<Phase>,
    /// What was to be changed; `None` when it could not even be planned.
    pub plan: Option<Plan>,
    /// What was changed.
    pub entries: Vec<Entry>,
    /// What still arrived on each isolated CPU.
    pub residue: Vec<Residue>,
    /// What could not be done, and what would be needed.
    pub could_not: Vec<Finding>,
    /// Whether the machine is as before; `None` when nothing was changed or it could not be told.
    pub restored: Option<Restored>,
    /// The outcome in one or two sentences.
    pub verdict: String,
    /// Exit status of the verb.
    pub exit_status: u8,
    /// Whether the processor is emulated in software: then there is no verdict about times.
    pub emulated: bool,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// `measure before`, `isolate` ...
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was done, or why not.
    pub detail: String,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// As planned.
    Done,
    /// It was tried and did not work.
    Failed,
    /// It was not tried.
    Skipped,
}

/// The measurements of one state of the machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// Wake-up latency.
    pub latency: Option<Measurement>,
    /// Noise.
    pub noise: Option<Measurement>,
    /// Counters over the noise measurement, where one CPU is fully used by one program.
    pub activity: Option<Activity>,
    /// What ran meanwhile, in words: `none`, `cpu, memory, system calls and wake-ups on CPU 0`.
    pub load: String,
}

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number.
    pub seq: u64,
    /// Identifier of the change.
    pub change: String,
    /// What was there.
    pub before: Option<String>,
    /// What is there now.
    pub after: Option<String>,
    /// `done`, `already`, `refused: ...`.
    pub outcome: String,
}

/// Whether undo gave everything back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// Whether it is equal.
    pub equal: bool,
    /// What is not.
    pub differences: Vec<String>,
}

impl Story {
    /// The story as JSON bytes.
    ///
    /// # Errors
    /// [`serde_json::Error`] when a number is not finite.
    pub fn json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}
