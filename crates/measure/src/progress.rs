//! How far a measurement has come, for a screen, about every 50 ms.

use crate::Kind;
use machine::CpuId;

/// A moment of a running measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is measured.
    pub kind: Kind,
    /// What is going on.
    pub phase: Phase,
    /// Whether the window of every sampler has begun: what happens from now on is measured.
    pub begun: bool,
    /// Time since sampling began.
    pub elapsed_ns: u64,
    /// Planned time.
    pub planned_ns: u64,
    /// The process that samples.
    pub sampler_pid: u32,
    /// One per lane, in their order.
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadProgress {
    /// Its CPU.
    pub cpu: CpuId,
    /// Its question.
    pub kind: Kind,
    /// Its number; `None` before it has begun to get ready.
    pub tid: Option<u32>,
    /// Samples so far.
    pub recorded: u64,
    /// Missed so far.
    pub missed: u64,
    /// Smallest sample so far; `None` before the first.
    pub min_ns: Option<u64>,
    /// The newest sample; 0 for a wake-up before its time.
    pub last_ns: Option<u64>,
    /// Mean of the samples so far.
    pub mean_ns: Option<f64>,
    /// Largest sample so far; `None` before the first.
    pub max_ns: Option<u64>,
}
