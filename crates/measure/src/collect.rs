//! The collector: starts the sampler process, drains its rings, and builds the result.

mod assemble;
mod clocks;
mod collection;
mod log;
mod neighbours;
mod patience;
mod running;
mod schedule;
mod window;

use crate::Lane;
use crate::child::ChildProcess;
use crate::counter::CounterSource;
use crate::os::leave_measured;
use crate::result::ResultMoment;
use crate::sampler::{self, SamplerJob};
use crate::shared::SharedMapping;
use crate::{MeasureError, MeasureRequest, Measurement, MeasurementKind, Progress, check};
use assemble::assemble;
use collection::Collection;
use root::Root;
use std::time::Duration;

/// Measures, and calls `progress` about every 50 ms on the calling thread.
///
/// The caller's process is forked once. It should have a single thread: the child uses the allocator and
/// starts threads, which the C libraries allow after a fork. A lock held by another thread of the caller
/// would stay locked in the child. During the measurement the calling thread does not run on the measured CPUs.
///
/// The request's `stop` is checked every 50 ms; the partial result then has `complete` set to false. The same
/// applies if the sampler process is killed: the samples it recorded are kept and accounted for.
///
/// # Errors
/// An invalid request, a CPU that is offline or not usable, or a system that refuses a process or
/// shared memory. Every lesser problem is a finding in the result.
pub fn run(
    request: &MeasureRequest<'_>,
    root: &Root,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Measurement, MeasureError> {
    check::request(request, root)?;
    let shared = SharedMapping::map(request.lanes.len(), slots(&request.lanes))
        .map_err(MeasureError::os("map memory for the samples"))?;
    let job = SamplerJob {
        lanes: &request.lanes,
        counter: CounterSource::best(request.environment.clocksource.as_deref()),
        break_at: request.break_at,
        system_calls: request.system_calls,
        shared: &shared,
    };
    let pid = sampler::start(&job).map_err(MeasureError::os("start the sampler process"))?;
    let mut child = ChildProcess::new(pid);
    let _aside = leave_measured(&request.cpus());
    if let Some(join) = request.join {
        join(pid).map_err(|error| MeasureError::Join { why: error.why })?;
    }
    let held = request.hold_idle_states()?;
    let mut collection = Collection::new(&job, request, root, held.as_ref().err().copied())?;
    collection.prepare(&mut child, progress)?;
    collection.query_before();
    collection.open_gaps()?;
    collection.sample(&mut child, progress);
    child.end(Duration::from_secs(1));
    collection.query_after();
    collection.drain();
    collection.close_gaps();
    collection.report_windows();
    let result = assemble(&collection, ResultMoment::End);
    drop(held);
    Ok(result)
}

/// Room for all periods of a one-minute run at 1 kHz, because a non-real-time collector was observed to wait for
/// seconds on a crowded housekeeping CPU; or for 65,536 gaps: a million gaps per second at the drain interval. Less
/// per CPU on large machines, so that all rings together stay below about 64 MB.
fn slots(lanes: &[Lane]) -> usize {
    let slot_counts = lanes.iter().map(|lane| match lane.kind {
        MeasurementKind::Latency | MeasurementKind::All => usize::try_from(lane.periods()).unwrap_or(usize::MAX),
        MeasurementKind::Noise => 1 << 16,
    });
    let fair_share = (1 << 21) / lanes.len().max(1);
    slot_counts
        .max()
        .unwrap_or(0)
        .clamp(1 << 10, fair_share.clamp(1 << 13, 1 << 16))
        .next_power_of_two()
}
