//! Defines a measurement request.

use crate::{Break, Environment, IdleStates, Lane, MeasureError, Measurement, MeasurementKind, SystemCalls};
use machine::{CpuId, CpuSet};
use root::Failure;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Moves a process that has just been started (by PID, with a single thread) into the cgroup to be measured:
/// writes the PID to `cgroup.procs` or `tasks`. The reason of an error ends up in [`crate::MeasureError::CgroupJoin`].
pub type CgroupJoin<'a> = &'a dyn Fn(u32) -> Result<(), Failure>;

/// Receives the intermediate result of a running measurement, for a file that survives this process. Called on the collecting
/// thread, which drains the samplers' rings, so it must return within milliseconds. See [`MeasureRequest::on_intermediate`].
pub type ResultSink<'a> = &'a dyn Fn(&Measurement);

/// A gap on the clock that is never slewed, which the kernel can use for traces (`trace_clock` `mono_raw`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawGap {
    /// The CPU.
    pub cpu: CpuId,
    /// Its start, on `CLOCK_MONOTONIC_RAW`.
    pub start_raw_ns: u64,
    /// Its length.
    pub duration_ns: u64,
}

/// The interval that a busy thread watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawWindow {
    /// The CPU.
    pub cpu: CpuId,
    /// The thread; 0 for one that never started.
    pub tid: u32,
    /// Its first reading, on `CLOCK_MONOTONIC_RAW`.
    pub start_raw_ns: u64,
    /// Its latest reading so far.
    pub end_raw_ns: u64,
}

/// Receives every gap of a measurement, to join it with other data. Called on the collecting thread, which drains the
/// samplers' rings, so it must return within milliseconds.
pub trait Watcher {
    /// Gaps, in order of time for each CPU.
    fn gaps(&self, gaps: &[RawGap]);
    /// The interval watched on a CPU so far, called repeatedly: all gaps before its end have been passed on. The last call
    /// comes after the last gap.
    fn window(&self, window: &RawWindow);
}

/// One measurement: lanes, all sampled by one process, with a common start.
#[derive(Clone)]
pub struct MeasureRequest<'a> {
    /// One per sampler thread; the result has the threads in this order.
    pub lanes: Vec<Lane>,
    /// All windows start this many nanoseconds after a whole second of the first lane's clock, instead of at once.
    pub whole_second: Option<u64>,
    /// The sample that ends the measurement.
    pub break_at: Option<Break<'a>>,
    /// Whether idle states are allowed.
    pub idle_states: IdleStates,
    /// Enforcement of the list of allowed system calls.
    pub system_calls: SystemCalls,
    /// Moves the sampler process into the partition to be measured; `None` leaves it where it was started.
    pub join: Option<CgroupJoin<'a>>,
    /// Receives the intermediate result about once a second, less often if that takes long. It is never
    /// `complete`, has no `activity`, and its totals are consistent: a sample counts from the moment it was collected.
    pub on_intermediate: Option<ResultSink<'a>>,
    /// The file for every gap with its time, written during the run; see [`crate::gaps`].
    pub gaps: Option<&'a Path>,
    /// Receives every gap with its time on the raw clock.
    pub watcher: Option<&'a dyn Watcher>,
    /// When this becomes true, sampling ends and the partial result is returned.
    pub stop: &'a AtomicBool,
    /// Stored with the result.
    pub environment: Environment,
}

impl<'a> MeasureRequest<'a> {
    /// A request for these lanes, without deep idle states.
    #[must_use]
    pub fn new(lanes: Vec<Lane>, environment: Environment, stop: &'a AtomicBool) -> MeasureRequest<'a> {
        MeasureRequest {
            lanes,
            whole_second: None,
            break_at: None,
            idle_states: IdleStates::Hold,
            system_calls: SystemCalls::Trusted,
            join: None,
            on_intermediate: None,
            gaps: None,
            watcher: None,
            stop,
            environment,
        }
    }

    /// [`Lane::latency`] on each CPU.
    #[must_use]
    pub fn latency(
        cpus: CpuSet,
        duration: Duration,
        environment: Environment,
        stop: &'a AtomicBool,
    ) -> MeasureRequest<'a> {
        let lanes = cpus.iter().map(|cpu| Lane::latency(cpu, duration));
        MeasureRequest::new(lanes.collect(), environment, stop)
    }

    /// [`Lane::noise`] on each CPU.
    #[must_use]
    pub fn noise(
        cpus: CpuSet,
        duration: Duration,
        environment: Environment,
        stop: &'a AtomicBool,
    ) -> MeasureRequest<'a> {
        let lanes = cpus.iter().map(|cpu| Lane::noise(cpu, duration));
        MeasureRequest::new(lanes.collect(), environment, stop)
    }

    /// Both on each CPU: the latency thread has priority over the noise thread, which sees it as a gap.
    #[must_use]
    pub fn all(cpus: CpuSet, duration: Duration, environment: Environment, stop: &'a AtomicBool) -> MeasureRequest<'a> {
        let both = |cpu| [Lane::latency(cpu, duration), Lane::noise(cpu, duration)];
        MeasureRequest::new(cpus.iter().flat_map(both).collect(), environment, stop)
    }

    /// The CPUs of all lanes.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        self.lanes.iter().map(|lane| lane.cpu).collect()
    }

    /// The combined kind of all lanes.
    #[must_use]
    pub fn kind(&self) -> MeasurementKind {
        let has = |kind| self.lanes.iter().any(|lane| lane.kind == kind);
        match (has(MeasurementKind::Latency), has(MeasurementKind::Noise)) {
            (true, true) => MeasurementKind::All,
            (false, true) => MeasurementKind::Noise,
            (_, false) => MeasurementKind::Latency,
        }
    }

    /// Requests that no CPU enters a deep idle state (`/dev/cpu_dma_latency`), active as long as the file is open. The inner
    /// error is the errno of a refusal that does not prevent the measurement, 0 if nothing was requested.
    ///
    /// # Errors
    /// [`MeasureError::IdleStates`] if a required request is refused.
    pub(crate) fn hold_idle_states(&self) -> Result<Result<OwnedFd, i32>, MeasureError> {
        if self.idle_states == IdleStates::Leave {
            return Ok(Err(0));
        }
        match root::latency::request(0) {
            Ok(file) => Ok(Ok(file)),
            Err(error) => match error.errno().unwrap_or(libc::EIO) {
                errno if self.idle_states == IdleStates::Require => Err(MeasureError::IdleStates { errno }),
                errno => Ok(Err(errno)),
            },
        }
    }

    /// Applies a change to every lane.
    pub fn each(&mut self, change: impl FnMut(&mut Lane)) {
        self.lanes.iter_mut().for_each(change);
    }
}
