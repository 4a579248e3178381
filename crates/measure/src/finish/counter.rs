//! Builds the report about the counter that a thread has read.

use super::{ThreadRecord, WindowData, get, is_done};
use crate::counter::invariance::invariant;
use crate::counter::offset::Offset;
use crate::counter::readable_in_user_space;
use crate::counter::slope::slope;
use crate::counter::{CounterReading, CounterSource, TickPeriod};
use crate::counter_facts::CounterFacts;
use crate::shared::Track;
use crate::{CounterInfo, CounterOffset, CounterRate};

/// The counter of one thread, with the rate of its own run.
pub(super) fn counter(record: &ThreadRecord<'_>, tick_period: TickPeriod, closing: &WindowData<'_>) -> CounterInfo {
    let track = record.track;
    let source = record.job.source(record.lane);
    let facts = closing.facts;
    let offset = facts.offsets.get(record.place).copied().flatten();
    CounterInfo {
        name: source.name().to_owned(),
        khz: (source != CounterSource::Monotonic && tick_period != TickPeriod::NANOSECONDS).then(|| tick_period.khz()),
        invariant: invariant(source),
        clocksource: facts.clocksource.clone(),
        rate: (source != CounterSource::Monotonic && is_done(track, closing.moment))
            .then(|| rate(track, facts))
            .flatten(),
        offset: offset.map(|offset| counter_offset(offset, tick_period)),
    }
}

fn rate(track: &Track, facts: &CounterFacts) -> Option<CounterRate> {
    let start = CounterReading {
        ticks: get(&track.start_ticks),
        raw_ns: get(&track.start_raw_ns),
        width_ns: get(&track.start_width_ns),
    };
    let end = CounterReading {
        ticks: get(&track.end_ticks),
        raw_ns: get(&track.end_raw_ns),
        width_ns: get(&track.end_width_ns),
    };
    let slope = slope(start, end)?;
    let against = facts.rate.as_ref().map(|rate| slope.against(rate));
    Some(CounterRate {
        khz: slope.khz,
        uncertainty_ppm: slope.uncertainty_ppm,
        kernel_khz: facts.rate.as_ref().map(|rate| rate.khz),
        kernel_says: facts.rate.as_ref().map(|rate| rate.from.clone()),
        apart_ppm: against.map(|(ppm, _)| ppm),
        apart_uncertainty_ppm: against.map(|(_, uncertainty)| uncertainty),
        // Every clock source that is read in user space is derived from the one counter.
        clock_is_counter: facts.clocksource.as_deref().map(readable_in_user_space),
    })
}

fn counter_offset(offset: Offset, tick_period: TickPeriod) -> CounterOffset {
    let ns = tick_period.to_ns(offset.ticks.unsigned_abs()).cast_signed();
    CounterOffset {
        against: offset.against,
        offset_ns: if offset.ticks < 0 { -ns } else { ns },
        uncertainty_ns: tick_period.to_ns(offset.uncertainty).max(1),
        round_trip_ns: tick_period.to_ns(offset.round_trip),
    }
}
