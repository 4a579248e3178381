//! Defines the task of one sampler thread: question, CPU, policy, timing and lifetime. A measurement is a list of
//! these.

use crate::accumulate::WakeUpSchedule;
use crate::timer::Grid;
use crate::{Claim, Clock, Deadline, MeasurementKind, Sleep};
use machine::{CpuId, Policy};
use std::time::Duration;

/// When a thread's window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneLifetime {
    /// After this time.
    Time(Duration),
    /// Latency: after this many wake-ups.
    Loops(u64),
}

/// One sampler thread. Several may share a CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Its question.
    pub kind: MeasurementKind,
    /// The only CPU that it runs on.
    pub cpu: CpuId,
    /// Any policy that a thread can request.
    pub policy: Policy,
    /// Real-time priority, 1 to 99, for `Fifo` and `Rr`.
    pub priority: u32,
    /// For `Deadline`.
    pub deadline: Deadline,
    /// Action if the policy is refused.
    pub if_refused: PolicyFallback,
    /// When its window ends; the measurement ends with the last window.
    pub window_end: LaneLifetime,
    /// Delay of its window after the common start, in nanoseconds, at most 10 s. Latency only.
    pub phase_ns: u64,
    /// Latency: the period in nanoseconds, 10 us to 20 s.
    pub interval_ns: u64,
    /// Latency: the clock.
    pub clock: Clock,
    /// Latency: the reference for the lateness of a wake-up.
    pub sleep: Sleep,
    /// Latency: wake-ups at least this late are listed with their times; in nanoseconds.
    pub spike_ns: Option<u64>,
    /// The claim that the run is to prove.
    pub claim: Option<Claim>,
    /// Noise: the shortest gap that counts, in nanoseconds, 100 ns to 1 s.
    pub threshold_ns: u64,
}

/// Action if the policy is refused. A requested deadline policy is always required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyFallback {
    /// The sampler runs as an ordinary task, and a finding reports it: for a default policy.
    Ordinary,
    /// The measurement fails: an ordinary task would answer a different question.
    Fails,
}

/// 1 ms: common in other tools, and a period that every machine can sustain.
const DEFAULT_INTERVAL_NS: u64 = 1_000_000;

/// 1 us: above the cost of one loop iteration on slow machines (about 100 ns where the clock is a vDSO call) and
/// below the shortest interrupt (about 1.5 us with its entry and exit).
const DEFAULT_THRESHOLD_NS: u64 = 1_000;

impl Lane {
    /// Wake-up latency with the defaults: 1 ms period on `CLOCK_MONOTONIC`, `SCHED_FIFO` 80.
    #[must_use]
    pub fn latency(cpu: CpuId, duration: Duration) -> Lane {
        Lane {
            kind: MeasurementKind::Latency,
            cpu,
            policy: Policy::Fifo,
            priority: 80,
            deadline: Deadline::default(),
            if_refused: PolicyFallback::Ordinary,
            window_end: LaneLifetime::Time(duration),
            phase_ns: 0,
            interval_ns: DEFAULT_INTERVAL_NS,
            clock: Clock::Monotonic,
            sleep: Sleep::Until,
            spike_ns: None,
            claim: None,
            threshold_ns: DEFAULT_THRESHOLD_NS,
        }
    }

    /// Noise with the defaults: threshold 1 us, an ordinary task. A real-time thread that never sleeps would measure
    /// its own throttling by the kernel.
    #[must_use]
    pub fn noise(cpu: CpuId, duration: Duration) -> Lane {
        Lane {
            kind: MeasurementKind::Noise,
            policy: Policy::Other,
            priority: 0,
            ..Lane::latency(cpu, duration)
        }
    }

    /// Number of planned wake-ups, if known.
    pub(crate) fn periods(&self) -> u64 {
        match self.window_end {
            LaneLifetime::Loops(loops) => loops,
            LaneLifetime::Time(time) => (nanos(time) / self.interval_ns.max(1)).max(1),
        }
    }

    /// The planned length of the window, in nanoseconds.
    pub(crate) fn length_ns(&self) -> u64 {
        match self.window_end {
            LaneLifetime::Loops(loops) => loops.saturating_mul(self.interval_ns),
            LaneLifetime::Time(time) => nanos(time),
        }
    }

    /// Without a schedule: the maximum length, unless it is a number of wake-ups.
    pub(crate) fn at_most_ns(&self) -> u64 {
        match self.window_end {
            LaneLifetime::Loops(_) => u64::MAX,
            LaneLifetime::Time(time) => nanos(time),
        }
    }

    /// The expected wake-up times, if the common start is at `start_ns` of its clock.
    pub(crate) fn grid(&self, start_ns: u64) -> Grid {
        let start = start_ns.saturating_add(self.phase_ns);
        Grid::new(start, self.periods(), self.interval_ns)
    }

    /// The timing, as far as it is known before the window.
    pub(crate) fn rhythm(&self) -> WakeUpSchedule {
        match self.sleep {
            Sleep::Until => WakeUpSchedule::Grid(self.grid(0)),
            Sleep::For => WakeUpSchedule::After(self.interval_ns),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
