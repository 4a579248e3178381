//! Reports the progress of a measurement to a screen, about every 50 ms.

use crate::MeasurementKind;
use machine::CpuId;

/// A snapshot of a running measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is measured.
    pub kind: MeasurementKind,
    /// The current phase.
    pub phase: MeasurementPhase,
    /// Whether the window of every sampler has started: events from now on are measured.
    pub has_started: bool,
    /// Time since sampling started.
    pub elapsed_ns: u64,
    /// Planned time.
    pub planned_ns: u64,
    /// PID of the sampler process.
    pub sampler_pid: u32,
    /// One per lane, in their order.
    pub threads: Vec<ThreadProgress>,
}

/// Phases of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasurementPhase {
    /// The samplers set up memory, policy and calibration.
    Preparing,
    /// The samplers run.
    Sampling,
    /// The samplers were asked to end, or have ended.
    Ending,
}

/// The current data of one sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadProgress {
    /// Its CPU.
    pub cpu: CpuId,
    /// Its question.
    pub kind: MeasurementKind,
    /// Its TID; `None` before it has started its setup.
    pub tid: Option<u32>,
    /// Number of samples so far.
    pub recorded: u64,
    /// Number of missed samples so far.
    pub missed: u64,
    /// Smallest sample so far; `None` before the first.
    pub min_ns: Option<u64>,
    /// The newest sample; 0 for an early wake-up.
    pub last_ns: Option<u64>,
    /// Mean of the samples so far.
    pub mean_ns: Option<f64>,
    /// Largest sample so far; `None` before the first.
    pub max_ns: Option<u64>,
}
