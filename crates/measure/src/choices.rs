//! What can be chosen for a measurement: the question, who samples, the clock, the sleep, and where it ends.

use machine::CpuId;
use serde::{Deserialize, Serialize};

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

/// A tracer that samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// A timer per CPU, and a thread of the kernel that it wakes.
    Timerlat,
    /// A thread of the kernel per CPU that never sleeps.
    Osnoise,
}

impl Method {
    /// Its name in `available_tracers`.
    #[must_use]
    pub fn tracer(self) -> &'static str {
        match self {
            Method::Timerlat => "timerlat",
            Method::Osnoise => "osnoise",
        }
    }

    /// The option of the kernel's configuration that it comes with.
    #[must_use]
    pub fn config(self) -> &'static str {
        match self {
            Method::Timerlat => "CONFIG_TIMERLAT_TRACER",
            Method::Osnoise => "CONFIG_OSNOISE_TRACER",
        }
    }
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
