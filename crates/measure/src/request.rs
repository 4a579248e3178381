//! What to measure.

use crate::{Environment, Measurement};
use machine::{CpuId, CpuSet, Policy};
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

/// When the threads have their first period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// All at the same time.
    #[default]
    Together,
    /// Each so long after the one before, in the order of their CPUs; in nanoseconds.
    Aligned {
        /// The distance of two neighbours.
        offset_ns: u64,
    },
    /// All so long after a whole second of the clock; in nanoseconds.
    WholeSecond {
        /// The distance from the second.
        offset_ns: u64,
    },
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
    /// It was too long.
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

/// One measurement.
#[derive(Clone)]
pub struct Request<'a> {
    /// Latency or noise.
    pub kind: Kind,
    /// The CPUs; one sampler thread on each.
    pub cpus: CpuSet,
    /// How long.
    pub duration: Duration,
    /// Latency: so many wake-ups of each thread instead of a time.
    pub loops: Option<u64>,
    /// Latency: the period in nanoseconds, 10 us to 10 s.
    pub interval_ns: u64,
    /// Latency: how much longer the period of each next CPU is, in nanoseconds.
    pub distance_ns: u64,
    /// Latency: the clock.
    pub clock: Clock,
    /// Latency: what a wake-up is late for.
    pub sleep: Sleep,
    /// Latency: when the threads begin.
    pub start: Start,
    /// Latency: wake-ups as late as this, and later, are listed with their times; in nanoseconds.
    pub spike_ns: Option<u64>,
    /// Noise: the shortest gap that counts, in nanoseconds, at least 100.
    pub threshold_ns: u64,
    /// The sample that ends the measurement.
    pub break_at: Option<Break<'a>>,
    /// Any policy that a thread can ask for.
    pub policy: Policy,
    /// Real-time priority, 1 to 99, for `Fifo` and `Rr`.
    pub priority: u32,
    /// For `Deadline`.
    pub deadline: Deadline,
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
            loops: None,
            interval_ns: DEFAULT_INTERVAL_NS,
            distance_ns: 0,
            clock: Clock::Monotonic,
            sleep: Sleep::Until,
            start: Start::Together,
            spike_ns: None,
            break_at: None,
            deadline: Deadline::default(),
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
