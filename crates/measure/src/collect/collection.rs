//! The data that a running measurement has collected so far.

use super::clocks::Clocks;
use super::neighbours::Neighbours;
use super::window::Window;
use crate::accumulate::{Accumulator, Listed};
use crate::conditions::Standing;
use crate::counter::{Pace, Pair, Source};
use crate::counter_facts::Facts;
use crate::counts::Look;
use crate::gaps::GapFile;
use crate::sampler::Job;
use crate::{GAPS_KEPT, GapsWritten, Kind, Lane, MeasureError, Note, Request, clock};
use root::Root;

/// A running measurement: its data and its progress.
pub(super) struct Collection<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) request: &'a Request<'a>,
    pub(super) root: &'a Root,
    /// Errno of the request for idle states if it was refused (0: nothing was requested).
    pub(super) idle_refused: Option<i32>,
    pub(super) accumulators: Vec<Accumulator>,
    pub(super) counters: Window,
    pub(super) started_at: String,
    pub(super) clocks: Clocks,
    pub(super) facts: Facts,
    pub(super) standing: Standing,
    /// The counters before the window, and after it.
    pub(super) looks: [Option<Look>; 2],
    /// The gap file while it is open.
    pub(super) gaps: Option<GapFile>,
    /// The gap file after it was closed.
    pub(super) gaps_written: Option<GapsWritten>,
    pub(super) neighbours: Option<Neighbours>,
    pub(super) start_ns: u64,
    /// The counter of each thread at the start of the window, for intermediate results.
    pub(super) pairs: Vec<Pair>,
    pub(super) notes: Vec<Note>,
    pub(super) complete: bool,
    /// When the samplers were stopped early, since the start.
    pub(super) stopped_after_ns: Option<u64>,
}

impl<'a> Collection<'a> {
    /// An empty collection.
    pub(super) fn new(
        job: &'a Job<'a>,
        request: &'a Request<'a>,
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
                doing: "make the histograms",
                errno: libc::EINVAL,
            })?,
            counters: Window::default(),
            started_at: clock::wall_time(),
            clocks: Clocks::default(),
            facts: Facts {
                clocksource: request.environment.clocksource.clone(),
                ..Facts::default()
            },
            standing: Standing::default(),
            looks: [None, None],
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
    pub(super) fn pace_so_far(&self, place: usize, lane: &Lane) -> Pace {
        match (self.job.source(lane), self.pairs.get(place)) {
            (Source::Monotonic, _) | (_, None) => Pace::NANOSECONDS,
            (source, Some(&begin)) => Pace::between(begin, source.pair()).unwrap_or(Pace::NANOSECONDS),
        }
    }
}

/// Creates the accumulator for a thread's samples.
fn accumulator(lane: &Lane) -> Option<Accumulator> {
    match lane.kind {
        Kind::Noise => Accumulator::of_gaps(Listed {
            from: 0,
            most: GAPS_KEPT,
        }),
        Kind::Latency | Kind::All => {
            let listed = match lane.spike_ns {
                Some(from) => Listed {
                    from,
                    most: GAPS_KEPT,
                },
                None => Listed {
                    from: u64::MAX,
                    most: 0,
                },
            };
            Accumulator::of_wake_ups(listed, lane.rhythm())
        }
    }
}
