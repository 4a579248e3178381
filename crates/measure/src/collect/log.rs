//! The gaps of one emptying of the rings, on their way to the file of `--gaps` and to whoever joins them with a trace.

use super::collection::Collection;
use crate::accumulate::Cause;
use crate::counter::{Pace, Source};
use crate::gaps::{Entry, GapFile};
use crate::ring::Sample;
use crate::shared::state;
use crate::{GapsWritten, Kind, MeasureError, RawGap, RawWindow, clock};
use machine::CpuId;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// What is handed on at once. Empty, and without a place for anything, where nobody wants it.
pub(super) struct Log {
    lanes: Vec<Option<Clockwork>>,
    entries: Vec<Entry>,
    raw: Vec<RawGap>,
    /// How far each CPU has been watched, asked before its ring was emptied.
    windows: Vec<RawWindow>,
    /// What `CLOCK_MONOTONIC` is ahead of `CLOCK_MONOTONIC_RAW` now: time synchronisation changes it as time goes on.
    ahead_ns: i64,
}

/// How the ticks of a lane become times.
#[derive(Clone, Copy, Debug)]
struct Clockwork {
    cpu: CpuId,
    source: Source,
    pace: Pace,
    start_ticks: u64,
    start_raw_ns: u64,
}

impl Clockwork {
    /// A reading of the counter on `CLOCK_MONOTONIC_RAW` and on `CLOCK_MONOTONIC`.
    fn times(&self, ticks: u64, ahead_ns: i64) -> [u64; 2] {
        match self.source {
            Source::Monotonic => [ticks.saturating_add_signed(-ahead_ns), ticks],
            _ => {
                let since = self.pace.to_ns(ticks.saturating_sub(self.start_ticks));
                let raw_ns = self.start_raw_ns.saturating_add(since);
                [raw_ns, raw_ns.saturating_add_signed(ahead_ns)]
            }
        }
    }
}

impl Log {
    /// With the pace as it is known by now: it is off by no more than the reading of two clocks.
    /// `begun` are the lanes whose window has begun.
    pub(super) fn of(collection: &Collection<'_>, begun: &[usize]) -> Log {
        let mut lanes = Vec::new();
        if collection.gaps.is_some() || collection.request.watcher.is_some() {
            for place in 0..collection.job.lanes.len() {
                lanes.push(collection.clockwork(place));
            }
        }
        let ahead_ns = if lanes.is_empty() { 0 } else { clock::ahead_ns() };
        let windows = match collection.request.watcher {
            Some(_) => collection.windows(begun, ahead_ns),
            None => Vec::new(),
        };
        Log {
            ahead_ns,
            lanes,
            windows,
            entries: Vec::new(),
            raw: Vec::new(),
        }
    }

    /// Notes one gap of the thread at that place.
    pub(super) fn note(&mut self, place: usize, sample: Sample, cause: Cause) {
        if let Some(Some(clock)) = self.lanes.get(place) {
            let [start_raw_ns, at_ns] = clock.times(sample.at, self.ahead_ns);
            let duration_ns = clock.pace.to_ns(sample.value);
            self.entries.push(Entry {
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

    /// Hands all that was noted on to whoever collects.
    pub(super) fn hand_on(self, collection: &mut Collection<'_>) {
        if let Some(watcher) = collection.request.watcher {
            if !self.raw.is_empty() {
                watcher.gaps(&self.raw);
            }
            self.windows.iter().for_each(|window| watcher.window(window));
        }
        if let Some(file) = &mut collection.gaps {
            file.put(self.entries);
        }
    }
}

impl Collection<'_> {
    fn clockwork(&self, place: usize) -> Option<Clockwork> {
        let lane = self
            .job
            .lanes
            .get(place)
            .filter(|lane| lane.kind == Kind::Noise)?;
        let (track, _) = self.job.shared.track(place)?;
        Some(Clockwork {
            cpu: lane.cpu,
            source: self.job.source(lane),
            pace: self.pace_so_far(place, lane),
            start_ticks: track.start_ticks.load(Ordering::Acquire),
            start_raw_ns: track.start_raw_ns.load(Ordering::Acquire),
        })
    }

    /// From when to when each of these has been watched so far.
    fn windows(&self, begun: &[usize], ahead_ns: i64) -> Vec<RawWindow> {
        let window = |place: &usize| {
            let (clock, (track, _)) = (self.clockwork(*place)?, self.job.shared.track(*place)?);
            let covered = match track.state.0.load(Ordering::Acquire) {
                state::DONE => track.covered.load(Ordering::Acquire),
                _ => 0,
            };
            let alive = track.alive.0.load(Ordering::Acquire);
            Some(RawWindow {
                cpu: clock.cpu,
                tid: track.tid.load(Ordering::Acquire),
                start_raw_ns: clock.times(clock.start_ticks, ahead_ns)[0],
                end_raw_ns: clock.times(covered.max(alive).max(clock.start_ticks), ahead_ns)[0],
            })
        };
        begun.iter().filter_map(window).collect()
    }

    /// Tells from when to when each CPU was watched, when all rings are empty.
    pub(super) fn tell_windows(&self) {
        if let Some(watcher) = self.request.watcher {
            let all: Vec<usize> = (0..self.job.lanes.len()).collect();
            let windows = self.windows(&all, clock::ahead_ns());
            windows.iter().for_each(|window| watcher.window(window));
        }
    }

    /// Begins the file, before the window.
    pub(super) fn open_gaps(&mut self) -> Result<(), MeasureError> {
        let Some(path) = self.request.gaps else {
            return Ok(());
        };
        let noise = self.job.lanes.iter().filter(|lane| lane.kind == Kind::Noise);
        let thresholds: Vec<(CpuId, u64)> = noise.map(|lane| (lane.cpu, lane.threshold_ns)).collect();
        self.gaps = Some(GapFile::begin(path, &crate::clock::wall_time(), &thresholds)?);
        Ok(())
    }

    /// Ends it, when all rings are empty.
    pub(super) fn close_gaps(&mut self) {
        let (Some(file), Some(path)) = (self.gaps.take(), self.request.gaps) else {
            return;
        };
        let mut seen: BTreeMap<CpuId, u64> = BTreeMap::new();
        for (place, lane) in self.job.lanes.iter().enumerate() {
            if let Some(accumulator) = self.accumulators.get(place).filter(|_| lane.kind == Kind::Noise) {
                let missed = accumulator.last().map_or(0, |sample| sample.missed);
                let track = self.job.shared.track(place);
                // One that lived to its end says itself what found no room after its last sample.
                let missed = track.map_or(missed, |(track, _)| {
                    missed.max(track.missed.load(Ordering::Acquire))
                });
                *seen.entry(lane.cpu).or_default() += accumulator.raw().count() + missed;
            }
        }
        let outcome = file.end(&seen);
        self.notes.push(outcome.note);
        self.gaps_written = Some(GapsWritten {
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
    fn a_reading_has_its_time_on_both_clocks_whatever_the_counter_is() {
        let clock = Clockwork {
            cpu: CpuId(1),
            source: Source::Monotonic,
            pace: Pace::NANOSECONDS,
            start_ticks: 1_000,
            start_raw_ns: 400,
        };
        // Time synchronisation has moved the one against the other since the beginning.
        assert_eq!(clock.times(5_000, 610), [4_390, 5_000]);
        #[cfg(target_arch = "x86_64")]
        {
            let clock = Clockwork {
                source: Source::best(Some("tsc")),
                ..clock
            };
            assert_eq!(clock.times(5_000, 610), [4_400, 5_010]);
            assert_eq!(clock.times(5_000, -610), [4_400, 3_790]);
        }
    }
}
