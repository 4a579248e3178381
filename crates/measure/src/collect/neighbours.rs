//! Finds gaps that contain one of our own wake-ups. Where a latency thread and a noise thread share a CPU, every wake-up
//! is a gap for the noise thread, and must not be attributed to the machine.

use crate::accumulate::Cause;
use crate::counter::CounterSource;
use crate::{Lane, MeasurementKind, clock};
use machine::{CpuId, MapEntries};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum error of reading the two clocks.
const SLACK_NS: u64 = 1_000;

/// A longer gap is not caused by the wake-up at its start.
const MAX_GAP_NS: u64 = 1_000_000_000;

/// The wake-ups on CPUs that have lanes of both kinds.
pub(super) struct Neighbours {
    wakes: BTreeMap<CpuId, BTreeSet<u64>>,
    source: CounterSource,
    /// The counter and `CLOCK_MONOTONIC`: the reference for the slope, its successor, and the current reading.
    readings: [ClockReading; 3],
}

/// Minimum distance of the readings that the slope is computed from, once such readings exist.
const APART_NS: u64 = MAX_GAP_NS / 2;

/// Readings of two clocks at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockReading {
    ticks: u64,
    monotonic_ns: u64,
}

impl ClockReading {
    /// Takes the narrowest of several readings.
    fn take(source: CounterSource) -> ClockReading {
        let read = || {
            let (before, ticks, after) = (clock::monotonic_ns(), source.read(), clock::monotonic_ns());
            let width = after.saturating_sub(before);
            (
                width,
                ClockReading {
                    ticks,
                    monotonic_ns: before + width / 2,
                },
            )
        };
        let mut best = read();
        for _ in 0..15 {
            let next = read();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }
}

impl Neighbours {
    /// `None` if no CPU has both.
    pub(super) fn of(lanes: &[Lane], source: CounterSource) -> Option<Neighbours> {
        let on = |kind: MeasurementKind| -> BTreeSet<CpuId> {
            let lanes = lanes.iter().filter(|lane| lane.kind == kind);
            lanes.map(|lane| lane.cpu).collect()
        };
        let both = &on(MeasurementKind::Latency) & &on(MeasurementKind::Noise);
        (!both.is_empty()).then(|| Neighbours {
            wakes: both.into_iter().map(|cpu| (cpu, BTreeSet::new())).into_map(),
            source,
            readings: [ClockReading::take(source); 3],
        })
    }

    /// Whether gaps on this CPU have to wait for the wake-ups.
    pub(super) fn has(&self, cpu: CpuId) -> bool {
        self.wakes.contains_key(&cpu)
    }

    /// Reads both clocks. Between two readings at most 1 s apart the slope is practically constant.
    pub(super) fn read(&mut self) {
        self.note(ClockReading::take(self.source));
    }

    /// Two readings that are close together give an inaccurate slope, because each has a small error. So the older one is kept
    /// until its successor is far enough away.
    fn note(&mut self, now: ClockReading) {
        let [first, next, _] = self.readings;
        self.readings = match now.monotonic_ns.saturating_sub(next.monotonic_ns) >= APART_NS {
            true => [next, now, now],
            false => [first, next, now],
        };
        let old = now.monotonic_ns.saturating_sub(MAX_GAP_NS);
        for wakes in self.wakes.values_mut() {
            *wakes = wakes.split_off(&old);
        }
    }

    /// Records a thread's wake-up, on `CLOCK_MONOTONIC`.
    pub(super) fn woke(&mut self, cpu: CpuId, at_ns: u64) {
        if let Some(wakes) = self.wakes.get_mut(&cpu) {
            wakes.insert(at_ns);
        }
    }

    /// The cause of a gap, from its start and length in ticks.
    pub(super) fn cause(&self, cpu: CpuId, at: u64, ticks: u64) -> Cause {
        let from = self.monotonic(at).saturating_sub(SLACK_NS);
        let to = self
            .monotonic(at.saturating_add(ticks))
            .saturating_add(SLACK_NS)
            .max(from);
        let held = self
            .wakes
            .get(&cpu)
            .is_some_and(|wakes| wakes.range(from..=to).next().is_some());
        match held {
            true => Cause::OwnWakeUp,
            false => Cause::Others,
        }
    }

    fn monotonic(&self, ticks: u64) -> u64 {
        let [first, _, last] = self
            .readings
            .map(|reading| (i128::from(reading.ticks), i128::from(reading.monotonic_ns)));
        let (ticks, run) = (i128::from(ticks), last.0 - first.0);
        let ns = match run > 0 {
            true => last.1 + (ticks - last.0) * (last.1 - first.1) / run,
            false => last.1,
        };
        u64::try_from(ns).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_gap_that_contains_an_own_wake_up_is_our_own() {
        let (here, elsewhere) = (CpuId(1), CpuId(2));
        let time = Duration::from_secs(1);
        let lanes = [
            Lane::latency(here, time),
            Lane::noise(here, time),
            Lane::noise(elsewhere, time),
        ];
        let mut neighbours = Neighbours::of(&lanes, CounterSource::Monotonic).unwrap();
        assert!(neighbours.has(here) && !neighbours.has(elsewhere));
        // 2.5 ticks per nanosecond, from 1 ms on the clock and 10,000 ticks on the counter.
        let reading = |ns: u64| ClockReading {
            ticks: 10_000 + ns * 5 / 2,
            monotonic_ns: 1_000_000 + ns,
        };
        neighbours.readings = [reading(0), reading(0), reading(4_000_000)];
        neighbours.woke(here, 1_000_000 + 3_000_000);
        let cause = |cpu, from: u64, ns: u64| neighbours.cause(cpu, reading(from).ticks, ns * 5 / 2);
        assert_eq!(cause(here, 2_998_000, 5_000), Cause::OwnWakeUp);
        assert_eq!(cause(here, 2_990_000, 5_000), Cause::Others, "over before it");
        assert_eq!(cause(here, 3_004_000, 5_000), Cause::Others, "began after it");
        assert_eq!(cause(elsewhere, 2_998_000, 5_000), Cause::Others);
        assert!(Neighbours::of(&lanes[1..], CounterSource::Monotonic).is_none());
    }

    #[test]
    fn the_slope_uses_readings_at_least_half_a_second_apart() {
        let time = Duration::from_secs(1);
        let lanes = [Lane::latency(CpuId(1), time), Lane::noise(CpuId(1), time)];
        let mut neighbours = Neighbours::of(&lanes, CounterSource::Monotonic).unwrap();
        // Readings every 50 ms.
        let reading = |ms: u64| ClockReading {
            ticks: ms,
            monotonic_ns: ms * 1_000_000,
        };
        neighbours.readings = [reading(0); 3];
        for ms in (50..5_000).step_by(50) {
            neighbours.note(reading(ms));
            let [first, _, last] = neighbours.readings;
            let apart_ms = last.ticks - first.ticks;
            assert_eq!(last.ticks, ms);
            assert!(
                (ms.min(500)..=1_000).contains(&apart_ms),
                "{apart_ms} ms apart at {ms} ms"
            );
        }
    }
}
