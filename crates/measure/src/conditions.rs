//! When a measurement does not represent the machine: each condition is a file here and a line of [`CONDITIONS`].
//!
//! The numbers are right then, but another run, or the same run on the machine as it will be used, gives others. What
//! could not be read is no condition.

mod debug_kernel;
mod governor;
mod hypervisor;
mod idle_states;
mod isolation;
mod shared_cpu;
mod sibling;
mod standing;
mod steal;
mod thermal;
mod tracing;

use crate::findings::note;
use crate::{Environment, Lane, Level, Note, ThreadResult};
use machine::{CpuId, CpuSet};
pub(crate) use standing::Standing;
use std::collections::BTreeMap;

/// Everything that conditions are judged by.
pub(crate) struct Scene<'a> {
    /// What was measured.
    pub lanes: &'a [Lane],
    /// The machine.
    pub environment: &'a Environment,
    /// What stood before the window.
    pub standing: &'a Standing,
    /// Whether a request held all CPUs out of deep idle states.
    pub idle: Idle,
    /// How busy each CPU was during the window, in percent; CPUs that are not known are left out.
    pub loads: &'a BTreeMap<CpuId, f64>,
    /// What the threads have found, in the order of the lanes.
    pub threads: &'a [ThreadResult],
    /// Per lane: how long its thread could have run during the window and did not, by the scheduler's account.
    pub waited_ns: &'a [Option<u64>],
}

/// Whether CPUs may enter deep idle states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// A request of ours keeps them out.
    Held,
    /// Nobody keeps them out.
    Allowed,
}

impl Scene<'_> {
    /// The measured CPUs.
    pub(crate) fn cpus(&self) -> CpuSet {
        self.lanes.iter().map(|lane| lane.cpu).collect()
    }
}

/// A condition under which a measurement says little of an isolated machine.
pub(crate) struct Condition {
    /// The finding's identifier.
    pub id: &'static str,
    /// A few words for the line that sums up.
    pub words: &'static str,
    /// What to do.
    pub fix: &'static str,
    /// What it is about, and what was seen; `None` where all is well or nothing is known.
    pub look: fn(&Scene<'_>) -> Option<Seen>,
}

/// What was seen where a condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// A CPU, a file.
    pub subject: String,
    /// A whole sentence.
    pub message: String,
}

/// Every condition that is looked for.
pub(crate) const CONDITIONS: &[Condition] = &[
    isolation::CONDITION,
    hypervisor::CONDITION,
    steal::CONDITION,
    shared_cpu::CONDITION,
    sibling::CONDITION,
    governor::CONDITION,
    idle_states::CONDITION,
    thermal::CONDITION,
    tracing::CONDITION,
    debug_kernel::CONDITION,
];

/// The conditions that hold, as notes of the result.
pub(crate) fn notes(scene: &Scene<'_>) -> Vec<Note> {
    let seen = CONDITIONS.iter().filter_map(|condition| {
        let seen = (condition.look)(scene)?;
        Some(note(
            Level::Warning,
            condition.id,
            seen.subject,
            seen.message,
            condition.fix,
        ))
    });
    seen.collect()
}

/// A few words for a condition's identifier; `None` for one that is no condition.
#[must_use]
pub fn condition_words(id: &str) -> Option<&'static str> {
    let condition = CONDITIONS.iter().find(|condition| condition.id == id)?;
    Some(condition.words)
}

fn seen(subject: impl ToString, message: String) -> Option<Seen> {
    Some(Seen {
        subject: subject.to_string(),
        message,
    })
}

#[cfg(test)]
mod tests;
