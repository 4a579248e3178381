//! Detects conditions under which a measurement does not represent the machine. Each condition is a file here and a line
//! of [`CONDITIONS`].
//!
//! The numbers are correct then, but another run, or the same run on the machine in normal operation, gives others. Data
//! that could not be read is not a condition.

mod debug_kernel;
mod fixed_settings;
mod governor;
mod hypervisor;
mod idle_states;
mod isolation;
mod shared_cpu;
mod sibling;
mod steal;
mod thermal;
mod tracing;

use crate::findings::note;
use crate::{Environment, Lane, Note, NoteLevel, ThreadResult};
pub(crate) use fixed_settings::ConditionSettings;
use machine::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// The input of all conditions.
pub(crate) struct ConditionInput<'a> {
    /// The measured lanes.
    pub lanes: &'a [Lane],
    /// The machine.
    pub environment: &'a Environment,
    /// The state before the window.
    pub fixed_settings: &'a ConditionSettings,
    /// Whether a request blocked all CPUs from deep idle states.
    pub idle: DeepIdle,
    /// Load of each CPU during the window, in percent; unknown CPUs are left out.
    pub loads: &'a BTreeMap<CpuId, f64>,
    /// The results of the threads, in the order of the lanes.
    pub threads: &'a [ThreadResult],
    /// Per lane: how long its thread was runnable during the window without running, by the scheduler's statistics.
    pub waited_ns: &'a [Option<u64>],
}

/// Whether CPUs may enter deep idle states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeepIdle {
    /// Our own request prevents them.
    PreventedByUs,
    /// Nothing prevents them.
    Allowed,
}

impl ConditionInput<'_> {
    /// The measured CPUs.
    pub(crate) fn cpus(&self) -> CpuSet {
        self.lanes.iter().map(|lane| lane.cpu).collect()
    }
}

/// A condition under which a measurement does not represent an isolated machine.
pub(crate) struct Condition {
    /// The finding's identifier.
    pub id: &'static str,
    /// Short text for the summary line.
    pub words: &'static str,
    /// What to do.
    pub fix: &'static str,
    /// Its subject and what was found; `None` if the condition does not hold or the data is unknown.
    pub detect: fn(&ConditionInput<'_>) -> Option<DetectedCondition>,
}

/// A detected condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DetectedCondition {
    /// For example a CPU or a file.
    pub subject: String,
    /// A complete sentence.
    pub message: String,
}

/// All conditions that are checked.
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
pub(crate) fn notes(scene: &ConditionInput<'_>) -> Vec<Note> {
    let seen = CONDITIONS.iter().filter_map(|condition| {
        let seen = (condition.detect)(scene)?;
        Some(note(
            NoteLevel::Warning,
            condition.id,
            seen.subject,
            seen.message,
            condition.fix,
        ))
    });
    seen.collect()
}

/// Short text for a condition's identifier; `None` for an unknown identifier.
#[must_use]
pub fn condition_words(id: &str) -> Option<&'static str> {
    let condition = CONDITIONS.iter().find(|condition| condition.id == id)?;
    Some(condition.words)
}

fn seen(subject: impl ToString, message: String) -> Option<DetectedCondition> {
    Some(DetectedCondition {
        subject: subject.to_string(),
        message,
    })
}

#[cfg(test)]
mod tests;
