//! What to measure.

use crate::{Environment, Measurement};
use machine::{CpuSet, Policy};
use serde::{Deserialize, Serialize};
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
}

/// Whether the CPUs may enter idle states meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleStates {
    /// Hold a request of 0 us on `/dev/cpu_dma_latency`: no deep idle state on any CPU.
    #[default]
    Hold,
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

/// Moves a process that has just been started (by number, with a single thread) to where it shall be measured:
/// writes the number to `cgroup.procs` or `tasks`. The text of an error ends up in [`crate::MeasureError::Join`].
pub type Join<'a> = &'a dyn Fn(u32) -> Result<(), String>;

/// Takes what a running measurement has brought so far, for a file that survives us. Called on the collecting thread,
/// which empties the rings of the samplers: what it does must take milliseconds. See [`Request::keep`].
pub type Keep<'a> = &'a dyn Fn(&Measurement);

/// One measurement.
#[derive(Clone)]
pub struct Request<'a> {
    /// Latency or noise.
    pub kind: Kind,
    /// The CPUs; one sampler thread on each.
    pub cpus: CpuSet,
    /// How long.
    pub duration: Duration,
    /// Latency: the period in nanoseconds, 10 us to 10 s.
    pub interval_ns: u64,
    /// Noise: the shortest gap that counts, in nanoseconds, at least 100.
    pub threshold_ns: u64,
    /// `Other`, `Fifo` or `Rr`.
    pub policy: Policy,
    /// Real-time priority, 1 to 99; ignored for `Other`.
    pub priority: u32,
    /// Idle states.
    pub idle_states: IdleStates,
    /// Enforcement of the rule on system calls.
    pub system_calls: SystemCalls,
    /// How the sampler process gets into the partition that is measured; `None` leaves it where it was started.
    pub join: Option<Join<'a>>,
    /// Who gets the result as it grows, about once a second, and less often where that takes long. It is never
    /// `complete`, has no `activity`, and its accounts hold: a sample counts from the moment it was collected.
    pub keep: Option<Keep<'a>>,
    /// When this becomes true, sampling ends and the partial result is returned.
    pub stop: &'a AtomicBool,
    /// Stored with the result.
    pub environment: Environment,
}

/// 1 ms: what the peers use, and a period that every machine can follow.
const DEFAULT_INTERVAL_NS: u64 = 1_000_000;

/// 1 us: above the cost of a turn of the loop on slow machines (about 100 ns where the clock is a vDSO call) and
/// below the shortest interrupt (about 1.5 us with its entry and exit).
const DEFAULT_THRESHOLD_NS: u64 = 1_000;

impl<'a> Request<'a> {
    /// Wake-up latency with the defaults: 1 ms period, `SCHED_FIFO` 80, idle states held.
    #[must_use]
    pub fn latency(
        cpus: CpuSet,
        duration: Duration,
        environment: Environment,
        stop: &'a AtomicBool,
    ) -> Request<'a> {
        Request {
            kind: Kind::Latency,
            cpus,
            duration,
            interval_ns: DEFAULT_INTERVAL_NS,
            threshold_ns: DEFAULT_THRESHOLD_NS,
            policy: Policy::Fifo,
            priority: 80,
            idle_states: IdleStates::Hold,
            system_calls: SystemCalls::Trusted,
            join: None,
            keep: None,
            stop,
            environment,
        }
    }

    /// Noise with the defaults: threshold 1 us, an ordinary task, idle states held. A real-time thread that
    /// never sleeps would measure how the kernel throttles it.
    #[must_use]
    pub fn noise(
        cpus: CpuSet,
        duration: Duration,
        environment: Environment,
        stop: &'a AtomicBool,
    ) -> Request<'a> {
        Request {
            kind: Kind::Noise,
            policy: Policy::Other,
            priority: 0,
            ..Request::latency(cpus, duration, environment, stop)
        }
    }
}
