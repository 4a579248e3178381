//! The data that a running measurement has collected so far.

use super::clocks::ClockDifferences;
use super::neighbours::Neighbours;
use super::window::KernelWindow;
use crate::accumulate::{Accumulator, SampleListing};
use crate::conditions::ConditionSettings;
use crate::counter::{CounterReading, CounterSource, TickPeriod};
use crate::counter_facts::CounterFacts;
use crate::counts::CountSnapshot;
use crate::gaps::GapWriter;
use crate::sampler::SamplerJob;
use crate::{GapFileSummary, Lane, MAX_GAPS, MeasureError, MeasureRequest, MeasurementKind, Note, clock};
use root::Root;

/// A running measurement: its data and its progress.
pub(super) struct Collection<'a> {
    pub(super) job: &'a SamplerJob<'a>,
    pub(super) request: &'a MeasureRequest<'a>,
    pub(super) root: &'a Root,
    /// Errno of the request for idle states if it was refused (0: nothing was requested).
    pub(super) idle_refused: Option<i32>,
    pub(super) accumulators: Vec<Accumulator>,
    pub(super) counters: KernelWindow,
    pub(super) started_at: String,
    pub(super) clocks: ClockDifferences,
    pub(super) facts: CounterFacts,
    pub(super) fixed_settings: ConditionSettings,
    /// The counters before the window, and after it.
    pub(super) counts_around: [Option<CountSnapshot>; 2],
    /// The gap file while it is open.
    pub(super) gaps: Option<GapWriter>,
    /// The gap file after it was closed.
    pub(super) gaps_written: Option<GapFileSummary>,
    pub(super) neighbours: Option<Neighbours>,
    pub(super) start_ns: u64,
    /// The counter of each thread at the start of the window, for intermediate results.
    pub(super) pairs: Vec<CounterReading>,
    pub(super) notes: Vec<Note>,
    pub(super) complete: bool,
    /// When the samplers were stopped early, since the start.
    pub(super) stopped_after_ns: Option<u64>,
}

impl<'a> Collection<'a> {
    /// An empty collection.
    pub(super) fn new(
        job: &'a SamplerJob<'a>,
        request: &'a MeasureRequest<'a>,
        root: &'a Root,
        idle_refused: Option<i32>,
    ) -> Result<Collection<'a>, MeasureError> {
        let accumulators: Option<Vec<Accumulator>> = job.lanes.iter().map(accumulator).collect();
        Ok(Collection {
            job,
            request,
            root,
            idle_refused,
            accumulators: accumulators.ok_or(MeasureError::Os {
                operation: "make the histograms",
                errno: libc::EINVAL,
            })?,
            counters: KernelWindow::default(),
            started_at: clock::wall_time(),
            clocks: ClockDifferences::default(),
            facts: CounterFacts {
                clocksource: request.environment.clocksource.clone(),
                ..CounterFacts::default()
            },
            fixed_settings: ConditionSettings::default(),
            counts_around: [None, None],
            gaps: None,
            gaps_written: None,
            neighbours: Neighbours::of(job.lanes, job.counter),
            start_ns: 0,
            pairs: Vec::new(),
            notes: Vec::new(),
            complete: false,
            stopped_after_ns: None,
        })
    }

    /// Duration of a thread's tick, from the time since the window started.
    pub(super) fn tick_period_so_far(&self, place: usize, lane: &Lane) -> TickPeriod {
        match (self.job.source(lane), self.pairs.get(place)) {
            (CounterSource::Monotonic, _) | (_, None) => TickPeriod::NANOSECONDS,
            (source, Some(&begin)) => TickPeriod::between(begin, source.pair()).unwrap_or(TickPeriod::NANOSECONDS),
        }
    }
}

/// Creates the accumulator for a thread's samples.
fn accumulator(lane: &Lane) -> Option<Accumulator> {
    match lane.kind {
        MeasurementKind::Noise => Accumulator::of_gaps(SampleListing {
            from: 0,
            most: MAX_GAPS,
        }),
        MeasurementKind::Latency | MeasurementKind::All => {
            let listed = match lane.spike_ns {
                Some(from) => SampleListing { from, most: MAX_GAPS },
                None => SampleListing {
                    from: u64::MAX,
                    most: 0,
                },
            };
            Accumulator::of_wake_ups(listed, lane.rhythm())
        }
    }
}
