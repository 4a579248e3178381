//! What one sampler thread does: its question, its CPU, its policy, its rhythm, its life time. A measurement is a list
//! of these.

use crate::accumulate::Rhythm;
use crate::timer::Grid;
use crate::{Claim, Clock, Deadline, Kind, Sleep};
use machine::{CpuId, Policy};
use std::time::Duration;

/// When a thread's window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// After this time.
    Time(Duration),
    /// Latency: after so many wake-ups.
    Loops(u64),
}

/// One sampler thread. Several may share a CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Its question.
    pub kind: Kind,
    /// Where it runs, and nowhere else.
    pub cpu: CpuId,
    /// Any policy that a thread can ask for.
    pub policy: Policy,
    /// Real-time priority, 1 to 99, for `Fifo` and `Rr`.
    pub priority: u32,
    /// For `Deadline`.
    pub deadline: Deadline,
    /// What a refusal of the policy means.
    pub if_refused: IfRefused,
    /// When its window ends; the measurement ends with the last.
    pub life: Life,
    /// How long after the common beginning its window begins, in nanoseconds, at most 10 s. Latency only.
    pub phase_ns: u64,
    /// Latency: the period in nanoseconds, 10 us to 20 s.
    pub interval_ns: u64,
    /// Latency: the clock.
    pub clock: Clock,
    /// Latency: what a wake-up is late for.
    pub sleep: Sleep,
    /// Latency: wake-ups as late as this, and later, are listed with their times; in nanoseconds.
    pub spike_ns: Option<u64>,
    /// What the run shall prove.
    pub claim: Option<Claim>,
    /// Noise: the shortest gap that counts, in nanoseconds, 100 ns to 1 s.
    pub threshold_ns: u64,
}

/// What a refusal of the policy means. Without a deadline that was asked for there is never a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfRefused {
    /// The sampler runs as an ordinary task, and a finding says so: for a default.
    Ordinary,
    /// There is no measurement: as an ordinary task it would answer another question than the one that was asked.
    Fails,
}

/// 1 ms: what the peers use, and a period that every machine can follow.
const DEFAULT_INTERVAL_NS: u64 = 1_000_000;

/// 1 us: above the cost of a turn of the loop on slow machines (about 100 ns where the clock is a vDSO call) and
/// below the shortest interrupt (about 1.5 us with its entry and exit).
const DEFAULT_THRESHOLD_NS: u64 = 1_000;

impl Lane {
    /// Wake-up latency with the defaults: 1 ms period on `CLOCK_MONOTONIC`, `SCHED_FIFO` 80.
    #[must_use]
    pub fn latency(cpu: CpuId, duration: Duration) -> Lane {
        Lane {
            kind: Kind::Latency,
            cpu,
            policy: Policy::Fifo,
            priority: 80,
            deadline: Deadline::default(),
            if_refused: IfRefused::Ordinary,
            life: Life::Time(duration),
            phase_ns: 0,
            interval_ns: DEFAULT_INTERVAL_NS,
            clock: Clock::Monotonic,
            sleep: Sleep::Until,
            spike_ns: None,
            claim: None,
            threshold_ns: DEFAULT_THRESHOLD_NS,
        }
    }

    /// Noise with the defaults: threshold 1 us, an ordinary task. A real-time thread that never sleeps would measure how
    /// the kernel throttles it.
    #[must_use]
    pub fn noise(cpu: CpuId, duration: Duration) -> Lane {
        Lane {
            kind: Kind::Noise,
            policy: Policy::Other,
            priority: 0,
            ..Lane::latency(cpu, duration)
        }
    }

    /// Wake-ups, as far as they are planned.
    pub(crate) fn periods(&self) -> u64 {
        match self.life {
            Life::Loops(loops) => loops,
            Life::Time(time) => (nanos(time) / self.interval_ns.max(1)).max(1),
        }
    }

    /// The planned length of the window, in nanoseconds.
    pub(crate) fn length_ns(&self) -> u64 {
        match self.life {
            Life::Loops(loops) => loops.saturating_mul(self.interval_ns),
            Life::Time(time) => nanos(time),
        }
    }

    /// Without a schedule: how long, unless it is a number of wake-ups.
    pub(crate) fn at_most_ns(&self) -> u64 {
        match self.life {
            Life::Loops(_) => u64::MAX,
            Life::Time(time) => nanos(time),
        }
    }

    /// The due times, when the common beginning is at `start_ns` of its clock.
    pub(crate) fn grid(&self, start_ns: u64) -> Grid {
        let start = start_ns.saturating_add(self.phase_ns);
        Grid::new(start, self.periods(), self.interval_ns)
    }

    /// As far as it is known before the window.
    pub(crate) fn rhythm(&self) -> Rhythm {
        match self.sleep {
            Sleep::Until => Rhythm::Grid(self.grid(0)),
            Sleep::For => Rhythm::After(self.interval_ns),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
