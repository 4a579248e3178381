//! The choices for a measurement: question, tracer, clock, sleep and end.

use machine::CpuId;
use serde::{Deserialize, Serialize};

/// The question that a measurement answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MeasurementKind {
    /// How late does a periodic thread wake up?
    #[default]
    Latency,
    /// How often, and for how long, is a busy thread interrupted?
    Noise,
    /// Both at the same time: a measurement with threads of both kinds. No single thread is of this kind.
    All,
}

impl MeasurementKind {
    /// Its word in commands and files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            MeasurementKind::Latency => "latency",
            MeasurementKind::Noise => "noise",
            MeasurementKind::All => "all",
        }
    }
}

/// A kernel tracer used as sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum KernelTracer {
    /// One timer per CPU that wakes a kernel thread.
    Timerlat,
    /// One kernel thread per CPU that never sleeps.
    Osnoise,
}

impl KernelTracer {
    /// Its name in `available_tracers`.
    #[must_use]
    pub fn tracer(self) -> &'static str {
        match self {
            KernelTracer::Timerlat => "timerlat",
            KernelTracer::Osnoise => "osnoise",
        }
    }

    /// The kernel configuration option that provides it.
    #[must_use]
    pub fn config(self) -> &'static str {
        match self {
            KernelTracer::Timerlat => "CONFIG_TIMERLAT_TRACER",
            KernelTracer::Osnoise => "CONFIG_OSNOISE_TRACER",
        }
    }
}

/// Whether the CPUs may enter idle states during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleStates {
    /// Keep a request of 0 us open on `/dev/cpu_dma_latency`: no deep idle state on any CPU.
    #[default]
    Hold,
    /// The same, but fail if the request is refused.
    Require,
    /// Leave the idle states unchanged.
    Leave,
}

/// Whether the kernel enforces the list of system calls that a sampler may make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemCalls {
    /// No enforcement.
    #[default]
    Trusted,
    /// A seccomp filter kills the sampler at the first system call that is not allowed in the window. This is a proof
    /// for tests; it adds time to every sleep.
    Enforced,
}

/// The clock on which a wake-up is requested and measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// `CLOCK_MONOTONIC`: cannot be set, and stops while the machine is suspended.
    #[default]
    Monotonic,
    /// `CLOCK_REALTIME`: the wall clock, which can be set; the result reports when it was.
    Realtime,
    /// `CLOCK_TAI`: the wall clock without leap seconds.
    Tai,
    /// `CLOCK_BOOTTIME`: monotonic, and continues while the machine is suspended.
    Boottime,
}

/// The reference for the lateness of a wake-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sleep {
    /// A time on a fixed grid (`TIMER_ABSTIME`): one late wake-up does not shift the next.
    #[default]
    Until,
    /// A time relative to the last clock reading: there is no schedule, so nothing can be missed.
    For,
}

/// Parameters of `SCHED_DEADLINE`; the deadline equals the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadline {
    /// Runtime per period in nanoseconds; the kernel accepts 1,024 and more.
    pub runtime_ns: u64,
    /// The period, in nanoseconds.
    pub period_ns: u64,
}

/// Action at a sample that is too long. Called on the sampling thread, in the sampler process, right after the
/// sample. It may write to descriptors that were opened before the measurement. It must not block.
pub trait BreakAction: Sync {
    /// A sample was longer than the limit.
    fn hit(&self, hit: &BreakSample);
}

/// A sample that reached the limit, and so ends the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BreakSample {
    /// Whether it is a late wake-up or a gap.
    pub kind: MeasurementKind,
    /// The CPU.
    pub cpu: CpuId,
    /// Its lateness or length, in nanoseconds.
    pub value_ns: u64,
    /// The limit, in nanoseconds.
    pub limit_ns: u64,
    /// When the thread read the clock, on `CLOCK_MONOTONIC`.
    pub at_monotonic_ns: u64,
}

/// Ends the measurement at the first sample that reaches a limit.
#[derive(Clone, Copy)]
pub struct Break<'a> {
    /// Minimum lateness or gap length, in nanoseconds.
    pub limit_ns: u64,
    /// Action besides ending the measurement.
    pub trip: Option<&'a dyn BreakAction>,
}
