//! Passes the gaps of one drain of the rings to the `--gaps` file and to the watcher that joins them with a trace.

use super::collection::Collection;
use crate::accumulate::Cause;
use crate::counter::{CounterSource, TickPeriod};
use crate::gaps::{GapEntry, GapWriter};
use crate::ring::RingSample;
use crate::shared::state;
use crate::{GapFileSummary, MeasureError, MeasurementKind, RawGap, RawWindow, clock};
use machine::CpuId;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Acquire;

/// The gaps that are passed on together. Empty and without storage if there is no consumer.
pub(super) struct GapLog {
    lanes: Vec<Option<TickConversion>>,
    entries: Vec<GapEntry>,
    raw: Vec<RawGap>,
    /// How far each CPU has been watched, read before its ring was drained.
    windows: Vec<RawWindow>,
    /// Current value of `CLOCK_MONOTONIC` minus `CLOCK_MONOTONIC_RAW`: time synchronisation changes it.
    ahead_ns: i64,
}

/// Converts the ticks of a lane to times.
#[derive(Clone, Copy, Debug)]
struct TickConversion {
    cpu: CpuId,
    source: CounterSource,
    tick_period: TickPeriod,
    start_ticks: u64,
    start_raw_ns: u64,
}

impl TickConversion {
    /// Converts a counter reading to `CLOCK_MONOTONIC_RAW` and `CLOCK_MONOTONIC`.
    fn times(&self, ticks: u64, ahead_ns: i64) -> [u64; 2] {
        match self.source {
            CounterSource::Monotonic => [ticks.saturating_add_signed(-ahead_ns), ticks],
            _ => {
                let since = self.tick_period.to_ns(ticks.saturating_sub(self.start_ticks));
                let raw_ns = self.start_raw_ns.saturating_add(since);
                [raw_ns, raw_ns.saturating_add_signed(ahead_ns)]
            }
        }
    }
}

impl GapLog {
    /// Uses the tick rate known so far: its error does not exceed that of reading two clocks.
    /// `began` lists the lanes whose window has started.
    pub(super) fn of(collection: &Collection<'_>, started: &[usize]) -> GapLog {
        let mut lanes = Vec::new();
        if collection.gaps.is_some() || collection.request.watcher.is_some() {
            for place in 0..collection.job.lanes.len() {
                lanes.push(collection.clockwork(place));
            }
        }
        let ahead_ns = if lanes.is_empty() { 0 } else { clock::ahead_ns() };
        let windows = match collection.request.watcher {
            Some(_) => collection.windows(started, ahead_ns),
            None => Vec::new(),
        };
        GapLog {
            ahead_ns,
            lanes,
            windows,
            entries: Vec::new(),
            raw: Vec::new(),
        }
    }

    /// Records one gap of the thread at that place.
    pub(super) fn note(&mut self, place: usize, sample: RingSample, cause: Cause) {
        if let Some(Some(clock)) = self.lanes.get(place) {
            let [start_raw_ns, at_ns] = clock.times(sample.at, self.ahead_ns);
            let duration_ns = clock.tick_period.to_ns(sample.value);
            self.entries.push(GapEntry {
                at_ns,
                cpu: clock.cpu,
                duration_ns,
                cause,
            });
            self.raw.push(RawGap {
                cpu: clock.cpu,
                start_raw_ns,
                duration_ns,
            });
        }
    }

    /// Passes all recorded gaps to the consumers.
    pub(super) fn hand_on(self, collection: &mut Collection<'_>) {
        if let Some(watcher) = collection.request.watcher {
            if !self.raw.is_empty() {
                watcher.gaps(&self.raw);
            }
            self.windows.iter().for_each(|window| watcher.window(window));
        }
        if let Some(file) = &mut collection.gaps {
            file.queue(self.entries);
        }
    }
}

impl Collection<'_> {
    fn clockwork(&self, place: usize) -> Option<TickConversion> {
        let lane = self
            .job
            .lanes
            .get(place)
            .filter(|lane| lane.kind == MeasurementKind::Noise)?;
        let (track, _) = self.job.shared.track(place)?;
        Some(TickConversion {
            cpu: lane.cpu,
            source: self.job.source(lane),
            tick_period: self.tick_period_so_far(place, lane),
            start_ticks: track.start_ticks.load(Acquire),
            start_raw_ns: track.start_raw_ns.load(Acquire),
        })
    }

    /// The watched interval of each of these lanes so far.
    fn windows(&self, started: &[usize], ahead_ns: i64) -> Vec<RawWindow> {
        let window = |place: &usize| {
            let (clock, (track, _)) = (self.clockwork(*place)?, self.job.shared.track(*place)?);
            let covered = match track.state.0.load(Acquire) {
                state::DONE => track.covered.load(Acquire),
                _ => 0,
            };
            let alive = track.last_seen.0.load(Acquire);
            Some(RawWindow {
                cpu: clock.cpu,
                tid: track.tid.load(Acquire),
                start_raw_ns: clock.times(clock.start_ticks, ahead_ns)[0],
                end_raw_ns: clock.times(covered.max(alive).max(clock.start_ticks), ahead_ns)[0],
            })
        };
        started.iter().filter_map(window).collect()
    }

    /// Reports the watched interval of each CPU after all rings are empty.
    pub(super) fn report_windows(&self) {
        if let Some(watcher) = self.request.watcher {
            let all: Vec<usize> = (0..self.job.lanes.len()).collect();
            let windows = self.windows(&all, clock::ahead_ns());
            windows.iter().for_each(|window| watcher.window(window));
        }
    }

    /// Creates the file before the window starts.
    pub(super) fn open_gaps(&mut self) -> Result<(), MeasureError> {
        let Some(path) = self.request.gaps else {
            return Ok(());
        };
        let noise = self.job.lanes.iter().filter(|lane| lane.kind == MeasurementKind::Noise);
        let thresholds: Vec<(CpuId, u64)> = noise.map(|lane| (lane.cpu, lane.threshold_ns)).collect();
        self.gaps = Some(GapWriter::create(path, &crate::clock::wall_time(), &thresholds)?);
        Ok(())
    }

    /// Closes it after all rings are empty.
    pub(super) fn close_gaps(&mut self) {
        let (Some(file), Some(path)) = (self.gaps.take(), self.request.gaps) else {
            return;
        };
        let mut seen: BTreeMap<CpuId, u64> = BTreeMap::new();
        for (place, lane) in self.job.lanes.iter().enumerate() {
            if let Some(accumulator) = self
                .accumulators
                .get(place)
                .filter(|_| lane.kind == MeasurementKind::Noise)
            {
                let missed = accumulator.last.map_or(0, |sample| sample.missed);
                let track = self.job.shared.track(place);
                // A thread that finished reports itself what was dropped after its last sample.
                let missed = track.map_or(missed, |(track, _)| missed.max(track.missed.load(Acquire)));
                *seen.entry(lane.cpu).or_default() += accumulator.raw.count() + missed;
            }
        }
        let outcome = file.end(&seen);
        self.notes.push(outcome.note);
        self.gaps_written = Some(GapFileSummary {
            path: path.display().to_string(),
            written: outcome.written,
            lost: outcome.lost,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_converted_to_both_clocks() {
        let clock = TickConversion {
            cpu: CpuId(1),
            source: CounterSource::Monotonic,
            tick_period: TickPeriod::NANOSECONDS,
            start_ticks: 1_000,
            start_raw_ns: 400,
        };
        // Time synchronisation has changed the difference of the two clocks since the start.
        assert_eq!(clock.times(5_000, 610), [4_390, 5_000]);
        #[cfg(target_arch = "x86_64")]
        {
            let clock = TickConversion {
                source: CounterSource::best(Some("tsc")),
                ..clock
            };
            assert_eq!(clock.times(5_000, 610), [4_400, 5_010]);
            assert_eq!(clock.times(5_000, -610), [4_400, 3_790]);
        }
    }
}
