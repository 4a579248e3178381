//! Formats `prove`: the complete report on one isolation, for a terminal and as one page.

mod changes;
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
use predict::{GapSummary, Prediction};
use serde::{Deserialize, Serialize};

/// The schema of [`ProveRecord`] as JSON.
pub const PROVE_SCHEMA: &str = "quietcore.prove/1";

/// Everything that `prove` did and found: the JSON `quietcore.prove/1`. `None` if a step was not done.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProveRecord {
    /// [`PROVE_SCHEMA`].
    pub schema: String,
    /// Version of this tool.
    pub tool_version: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The machine.
    pub environment: Environment,
    /// The requested or selected CPUs.
    pub cpus: CpuSet,
    /// Why they were selected.
    pub cpus_why: String,
    /// CPUs that were finally isolated; empty if none could be.
    pub isolated: CpuSet,
    /// CPUs for everything else.
    pub housekeeping: CpuSet,
    /// The steps, in order.
    pub steps: Vec<ProveStep>,
    /// The machine in its original state.
    pub before: Option<ProvePhase>,
    /// The machine while the CPUs were isolated.
    pub during: Option<ProvePhase>,
    /// What each change would gain, from a watch with the load of `before`; `None` if nothing could be traced or predicted.
    pub prediction: Option<Prediction>,
    /// What the isolation of this run would leave, from the same watch.
    pub predicted_isolation: Option<GapSummary>,
    /// The planned changes; `None` if planning failed.
    pub plan: Option<Plan>,
    /// The changes made.
    pub entries: Vec<JournalEntry>,
    /// Interruptions that still arrived on each isolated CPU.
    pub residue: Vec<Residue>,
    /// What could not be done, and its requirements.
    pub could_not: Vec<Finding>,
    /// Whether the machine is as before; `None` if nothing was changed or the state is unknown.
    pub restored: Option<RestorationCheck>,
    /// The result in one or two sentences.
    pub verdict: String,
    /// Exit status of the verb.
    pub exit_status: u8,
    /// Whether the processor is emulated in software: then there is no verdict on times.
    pub emulated: bool,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProveStep {
    /// `measure before`, `isolate` ...
    pub name: String,
    /// Its outcome.
    pub outcome: StepOutcome,
    /// The action, or why it was not done.
    pub detail: String,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StepOutcome {
    /// As planned.
    Done,
    /// It failed.
    Failed,
    /// It was skipped.
    Skipped,
}

/// The measurements of one state of the machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProvePhase {
    /// Wake-up latency.
    pub latency: Option<Measurement>,
    /// Noise.
    pub noise: Option<Measurement>,
    /// Counters over the noise measurement, during which one program fully uses each CPU.
    pub activity: Option<Activity>,
    /// The load during the measurement, in words: `none`, `cpu, memory, system calls and wake-ups on CPU 0`.
    pub load: String,
}

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JournalEntry {
    /// Its number.
    pub seq: u64,
    /// Identifier of the change.
    pub change: String,
    /// The previous value.
    pub before: Option<String>,
    /// The current value.
    pub after: Option<String>,
    /// `done`, `already`, `refused: ...`.
    pub outcome: String,
}

/// Whether undo restored everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestorationCheck {
    /// Whether the states are equal.
    pub equal: bool,
    /// The differences.
    pub differences: Vec<String>,
}

impl ProveRecord {
    /// The report as JSON bytes.
    ///
    /// # Errors
    /// [`serde_json::Error`] if a number is not finite.
    pub fn json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}
