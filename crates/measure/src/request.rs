//! What to measure.

use crate::{Environment, Lane, MeasureError, Measurement};
use machine::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The question that a measurement answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// How late does a periodic thread wake up?
    Latency,
    /// How often, and for how long, is a busy thread stopped?
    Noise,
    /// Both at the same time: a measurement of threads of both kinds. No thread is of this kind.
    All,
}

/// Whether the CPUs may enter idle states meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleStates {
    /// Hold a request of 0 us on `/dev/cpu_dma_latency`: no deep idle state on any CPU.
    #[default]
    Hold,
    /// The same, and the measurement is not made where the request is refused.
    Require,
    /// Leave the machine as it is.
    Leave,
}

impl IdleStates {
    /// Places the request, which holds as long as the file is open. The inner error is the errno of a refusal that costs
    /// the request and not the measurement, 0 where none was to be placed.
    ///
    /// # Errors
    /// [`MeasureError::IdleStates`] where a required one is refused.
    pub(crate) fn hold(self) -> Result<Result<OwnedFd, i32>, MeasureError> {
        if self == IdleStates::Leave {
            return Ok(Err(0));
        }
        match root::latency::hold(0) {
            Ok(file) => Ok(Ok(file)),
            Err(error) => match error.errno().unwrap_or(libc::EIO) {
                errno if self == IdleStates::Require => Err(MeasureError::IdleStates { errno }),
                errno => Ok(Err(errno)),
            },
        }
    }
}

/// Whether the kernel enforces that a sampler makes no system call that it should not make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemCalls {
    /// The samplers are trusted.
    #[default]
    Trusted,
    /// A seccomp filter kills the sampler at the first system call that has no place in the window. A proof
    /// for tests; it costs time in every sleep.
    Enforced,
}

/// The clock that a wake-up is asked for, and looked at, on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// `CLOCK_MONOTONIC`: nobody sets it, and it stands still while the machine is suspended.
    #[default]
    Monotonic,
    /// `CLOCK_REALTIME`: the wall clock, which may be set; the result says when it was.
    Realtime,
    /// `CLOCK_TAI`: the wall clock without leap seconds.
    Tai,
    /// `CLOCK_BOOTTIME`: monotonic, and goes on while the machine is suspended.
    Boottime,
}

/// What a wake-up is late for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sleep {
    /// A time on a fixed grid (`TIMER_ABSTIME`): being late once does not shift the next.
    #[default]
    Until,
    /// A time counted from the last look at the clock: there is no schedule, so nothing can be missed.
    For,
}

/// What `SCHED_DEADLINE` is asked for; the deadline is the end of the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadline {
    /// What the thread may use of each period, in nanoseconds; the kernel takes 1,024 and more.
    pub runtime_ns: u64,
    /// The period, in nanoseconds.
    pub period_ns: u64,
}

/// What happens at a sample that is too long. Called on the sampling thread, in the sampler's process, right after the
/// sample: it may write to descriptors that were opened before the measurement, and must not wait for anybody.
pub trait Trip: Sync {
    /// A sample was longer than the limit.
    fn hit(&self, hit: &Hit);
}

/// A sample that was too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Late wake-up, or gap.
    pub kind: Kind,
    /// Where.
    pub cpu: CpuId,
    /// How late, or how long, in nanoseconds.
    pub value_ns: u64,
    /// What was too long, in nanoseconds.
    pub limit_ns: u64,
    /// When the thread looked, on `CLOCK_MONOTONIC`.
    pub at_monotonic_ns: u64,
}

/// Ends the measurement at the first sample of a length.
#[derive(Clone, Copy)]
pub struct Break<'a> {
    /// So late, or so long a gap, and above, in nanoseconds.
    pub limit_ns: u64,
    /// What happens then, besides the end of the measurement.
    pub trip: Option<&'a dyn Trip>,
}

/// Moves a process that has just been started (by number, with a single thread) to where it shall be measured:
/// writes the number to `cgroup.procs` or `tasks`. The text of an error ends up in [`crate::MeasureError::Join`].
pub type Join<'a> = &'a dyn Fn(u32) -> Result<(), String>;

/// Takes what a running measurement has brought so far, for a file that survives us. Called on the collecting thread,
/// which empties the rings of the samplers: what it does must take milliseconds. See [`Request::keep`].
pub type Keep<'a> = &'a dyn Fn(&Measurement);

/// A gap, on the clock that nobody slews and that the kernel can trace by (`trace_clock` `mono_raw`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawGap {
    /// Where.
    pub cpu: CpuId,
    /// When it began, on `CLOCK_MONOTONIC_RAW`.
    pub start_raw_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
}

/// What a busy thread watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawWindow {
    /// Where.
    pub cpu: CpuId,
    /// The thread; 0 for one that never began.
    pub tid: u32,
    /// Its first reading, on `CLOCK_MONOTONIC_RAW`.
    pub start_raw_ns: u64,
    /// Its last one so far.
    pub end_raw_ns: u64,
}

/// Gets every gap of a measurement, to join it with something else. Called on the collecting thread, which empties the
/// rings of the samplers: what it does must take milliseconds.
pub trait Watcher {
    /// Gaps, in the order of time for each CPU.
    fn gaps(&self, gaps: &[RawGap]);
    /// What has been watched on a CPU so far, again and again: all gaps before its end have been handed on. What is said
    /// last is said after the last gap.
    fn window(&self, window: &RawWindow);
}

/// One measurement: lanes, all sampled by one process, from one beginning.
#[derive(Clone)]
pub struct Request<'a> {
    /// One sampler thread each; the result has one thread for each, in this order.
    pub lanes: Vec<Lane>,
    /// All windows begin so many nanoseconds after a whole second of the first lane's clock, instead of at once.
    pub whole_second: Option<u64>,
    /// The sample that ends the measurement.
    pub break_at: Option<Break<'a>>,
    /// Idle states.
    pub idle_states: IdleStates,
    /// Enforcement of the rule on system calls.
    pub system_calls: SystemCalls,
    /// How the sampler process gets into the partition that is measured; `None` leaves it where it was started.
    pub join: Option<Join<'a>>,
    /// Who gets the result as it grows, about once a second, and less often where that takes long. It is never
    /// `complete`, has no `activity`, and its accounts hold: a sample counts from the moment it was collected.
    pub keep: Option<Keep<'a>>,
    /// The file that gets every gap with its time, while they come; see [`crate::gaps`].
    pub gaps: Option<&'a Path>,
    /// Who gets every gap with its time on the raw clock.
    pub watcher: Option<&'a dyn Watcher>,
    /// When this becomes true, sampling ends and the partial result is returned.
    pub stop: &'a AtomicBool,
    /// Stored with the result.
    pub environment: Environment,
}

impl<'a> Request<'a> {
    /// These lanes, with idle states held.
    #[must_use]
    pub fn new(lanes: Vec<Lane>, environment: Environment, stop: &'a AtomicBool) -> Request<'a> {
        Request {
            lanes,
            whole_second: None,
            break_at: None,
            idle_states: IdleStates::Hold,
            system_calls: SystemCalls::Trusted,
            join: None,
            keep: None,
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
    ) -> Request<'a> {
        let lanes = cpus.iter().map(|cpu| Lane::latency(cpu, duration));
        Request::new(lanes.collect(), environment, stop)
    }

    /// [`Lane::noise`] on each CPU.
    #[must_use]
    pub fn noise(
        cpus: CpuSet,
        duration: Duration,
        environment: Environment,
        stop: &'a AtomicBool,
    ) -> Request<'a> {
        let lanes = cpus.iter().map(|cpu| Lane::noise(cpu, duration));
        Request::new(lanes.collect(), environment, stop)
    }

    /// Both on each CPU: the thread that wakes up stands above the one that never sleeps, which sees it as a gap.
    #[must_use]
    pub fn all(
        cpus: CpuSet,
        duration: Duration,
        environment: Environment,
        stop: &'a AtomicBool,
    ) -> Request<'a> {
        let both = |cpu| [Lane::latency(cpu, duration), Lane::noise(cpu, duration)];
        Request::new(cpus.iter().flat_map(both).collect(), environment, stop)
    }

    /// The CPUs of all lanes.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        self.lanes.iter().map(|lane| lane.cpu).collect()
    }

    /// What is measured: all that any lane measures.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let has = |kind| self.lanes.iter().any(|lane| lane.kind == kind);
        match (has(Kind::Latency), has(Kind::Noise)) {
            (true, true) => Kind::All,
            (false, true) => Kind::Noise,
            (_, false) => Kind::Latency,
        }
    }

    /// Changes every lane.
    pub fn each(&mut self, change: impl FnMut(&mut Lane)) {
        self.lanes.iter_mut().for_each(change);
    }
}
