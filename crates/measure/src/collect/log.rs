//! The gaps of one emptying of the rings, on their way to the file of `--gaps`.

use super::running::Collection;
use crate::Kind;
use crate::accumulate::Cause;
use crate::counter::Pace;
use crate::gaps::{Entry, GapFile};
use crate::ring::Sample;
use crate::{GapsWritten, MeasureError};
use machine::CpuId;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// What is handed on at once. Empty, and without a place for anything, where no file is open.
pub(super) struct Log {
    lanes: Vec<Option<Clockwork>>,
    entries: Vec<Entry>,
}

/// How the ticks of a lane become times.
#[derive(Clone, Copy)]
struct Clockwork {
    cpu: CpuId,
    pace: Pace,
    start_ticks: u64,
    start_ns: u64,
}

impl Log {
    /// With the pace as it is known by now: it is off by no more than the reading of two clocks.
    pub(super) fn of(collection: &Collection<'_>) -> Log {
        let mut lanes = Vec::new();
        if collection.gaps.is_some() {
            for (place, lane) in collection.job.lanes.iter().enumerate() {
                let track = collection.job.shared.track(place);
                let clockwork = track
                    .filter(|_| lane.kind == Kind::Noise)
                    .map(|(track, _)| Clockwork {
                        cpu: lane.cpu,
                        pace: collection.pace_so_far(place, lane),
                        start_ticks: track.start_ticks.load(Ordering::Acquire),
                        start_ns: track.start_ns.load(Ordering::Acquire),
                    });
                lanes.push(clockwork);
            }
        }
        Log {
            lanes,
            entries: Vec::new(),
        }
    }

    /// One gap.
    pub(super) fn note(&mut self, place: usize, sample: Sample, cause: Cause) {
        if let Some(Some(clock)) = self.lanes.get(place) {
            let since = clock.pace.to_ns(sample.at.saturating_sub(clock.start_ticks));
            self.entries.push(Entry {
                at_ns: clock.start_ns.saturating_add(since),
                cpu: clock.cpu,
                duration_ns: clock.pace.to_ns(sample.value),
                cause,
            });
        }
    }

    /// All of them.
    pub(super) fn hand_on(self, file: Option<&mut GapFile>) {
        if let Some(file) = file {
            file.put(self.entries);
        }
    }
}

impl Collection<'_> {
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
