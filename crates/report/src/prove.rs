//! `prove`: the whole story of one isolation, for a terminal and as one page.

mod page;
mod sections;
mod statistics;
mod text;

pub use page::prove_html;
pub use statistics::residue;
pub(crate) use statistics::{per_second, rate, stolen, tail, worst};
pub use text::prove_text;

use machine::CpuSet;
use measure::{Environment, Measurement};
use observe::{Activity, Class};
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

/// What still arrived on one isolated CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Residue {
    /// The CPU.
    pub cpu: u32,
    /// Interruptions that were counted, most frequent first.
    pub rows: Vec<ResidueRow>,
    /// Threads that may run here and could not be moved.
    pub threads: Vec<StuckThread>,
    /// Interrupts that may fire here and could not be moved.
    pub interrupts: Vec<StuckInterrupt>,
}

/// One kind of interruption that was counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResidueRow {
    /// Its class; `None` for context switches, which are no interruption by themselves.
    pub class: Option<Class>,
    /// Name of the counter: `LOC`, `36`, `TIMER`.
    pub name: String,
    /// What it is.
    pub what: String,
    /// How often while isolated.
    pub count: u64,
    /// The same per second.
    pub per_second: f64,
    /// How often per second before; `None` when it was not counted then.
    pub per_second_before: Option<f64>,
    /// Who usually causes it, and what would stop it; empty when nothing would.
    pub cure: String,
}

/// A thread that could not be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckThread {
    /// Thread number.
    pub tid: u32,
    /// Name.
    pub comm: String,
    /// Why it stays.
    pub why: String,
}

/// An interrupt that could not be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckInterrupt {
    /// Its number.
    pub irq: u32,
    /// Its name.
    pub name: String,
    /// Why it stays.
    pub why: String,
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
