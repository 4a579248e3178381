//! What each sampler thread does: its question, its CPU, its policy, its period. Made once from the request.

use crate::accumulate::Rhythm;
use crate::counter::Source;
use crate::timer::Grid;
use crate::{Deadline, Kind, Request, Sleep, Start};
use machine::{CpuId, Policy};

/// One sampler thread.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub kind: Kind,
    pub cpu: CpuId,
    pub policy: Policy,
    pub priority: u32,
    pub deadline: Deadline,
    /// Latency without a schedule: how long, unless a number of wake-ups was asked for.
    pub at_most_ns: u64,
    /// What its times are in.
    pub source: Source,
    /// Latency: the period.
    pub interval_ns: u64,
    /// Latency: wake-ups.
    pub periods: u64,
    /// Latency: how long after the common beginning its own is.
    pub phase_ns: u64,
    /// Latency: what a wake-up is late for.
    pub sleep: Sleep,
    /// The window.
    pub length_ns: u64,
}

impl Seat {
    /// The due times, in a window that begins at `start_ns` of the sampler's clock for all.
    pub(crate) fn grid(&self, start_ns: u64) -> Grid {
        let start = start_ns.saturating_add(self.phase_ns);
        Grid::new(start, self.periods, self.interval_ns)
    }

    /// As far as it is known before the window.
    pub(crate) fn rhythm(&self) -> Rhythm {
        match self.sleep {
            Sleep::Until => Rhythm::Grid(self.grid(0)),
            Sleep::For => Rhythm::After(self.interval_ns),
        }
    }
}

/// One per CPU, in the order of their numbers.
pub(crate) fn seats(request: &Request<'_>, source: Source) -> Vec<Seat> {
    (0..)
        .zip(request.cpus.iter())
        .map(|(place, cpu)| seat(request, source, place, cpu))
        .collect()
}

fn seat(request: &Request<'_>, source: Source, place: u64, cpu: CpuId) -> Seat {
    let interval_ns = request
        .interval_ns
        .saturating_add(request.distance_ns.saturating_mul(place))
        .max(1);
    let planned_ns = u64::try_from(request.duration.as_nanos()).unwrap_or(u64::MAX);
    let periods = request.loops.unwrap_or_else(|| (planned_ns / interval_ns).max(1));
    Seat {
        kind: request.kind,
        cpu,
        at_most_ns: request.loops.map_or(planned_ns, |_| u64::MAX),
        policy: request.policy,
        priority: request.priority,
        deadline: request.deadline,
        source,
        interval_ns,
        periods,
        phase_ns: match request.start {
            Start::Together => 0,
            Start::Aligned { offset_ns } => offset_ns.saturating_mul(place),
            Start::WholeSecond { offset_ns } => offset_ns,
        },
        sleep: request.sleep,
        length_ns: match (request.loops, request.kind) {
            (Some(loops), Kind::Latency) => loops.saturating_mul(interval_ns),
            _ => planned_ns,
        },
    }
}
