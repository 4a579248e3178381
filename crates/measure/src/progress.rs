//! How far a measurement has come, for a screen, about every 50 ms.

use crate::Kind;
use machine::CpuId;

/// A moment of a running measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is measured.
    pub kind: Kind,
    /// What is going on.
    pub phase: Phase,
    /// Time since sampling began.
    pub elapsed_ns: u64,
    /// Planned time.
    pub planned_ns: u64,
    /// The process that samples.
    pub sampler_pid: u32,
    /// One per CPU.
    pub threads: Vec<ThreadProgress>,
}

/// Phases of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The samplers get ready: memory, policy, calibration.
    Preparing,
    /// The samplers run.
    Sampling,
    /// The samplers were told to end, or have ended.
    Ending,
}

/// What one sampler has brought so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadProgress {
    /// Its CPU.
    pub cpu: CpuId,
    /// Samples so far.
    pub recorded: u64,
    /// Missed so far.
    pub missed: u64,
    /// Largest sample so far; `None` before the first.
    pub max_ns: Option<u64>,
}
