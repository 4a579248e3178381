//! Computes the report's numbers for the terminal and the page: the two phases side by side.

use super::{ProvePhase, ProveRecord};
use crate::statistics::{per_second, stolen, tail, worst};
use crate::style::grouped;
use crate::units::{maybe_mean, maybe_time, percent, rate, time};
use measure::{Measurement, MeasurementKind, ThreadResult};
use std::collections::BTreeMap;

/// One line of a comparison: name, before, isolated.
pub(super) struct StatisticsLine {
    pub what: String,
    pub before: String,
    pub during: String,
}

/// A measurement of one kind in one phase.
pub(super) fn of(phase: Option<&ProvePhase>, kind: MeasurementKind) -> Option<&Measurement> {
    match kind {
        MeasurementKind::Latency => phase?.latency.as_ref(),
        MeasurementKind::Noise => phase?.noise.as_ref(),
        // `prove` measures one kind after the other.
        MeasurementKind::All => None,
    }
}

/// The histogram of all CPUs together.
pub(super) fn merged(measurement: &Measurement) -> Vec<(u64, u64)> {
    let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
    for (low, count) in measurement.threads.iter().flat_map(|thread| &thread.histogram) {
        let sum = sums.entry(*low).or_default();
        *sum = sum.saturating_add(*count);
    }
    sums.into_iter().collect()
}

/// The few decisive numbers, for both phases. Empty without a measurement.
pub(super) fn headlines(story: &ProveRecord) -> Vec<StatisticsLine> {
    let mut lines = Vec::new();
    let phases = [story.before.as_ref(), story.during.as_ref()];
    let mut add = |what: &str, kind: MeasurementKind, value: &dyn Fn(&Measurement) -> String| {
        let [before, during] = phases.map(|phase| of(phase, kind).map(value));
        if before.is_some() || during.is_some() {
            let text = |value: Option<String>| value.unwrap_or_else(|| "not measured".to_owned());
            lines.push(StatisticsLine {
                what: what.to_owned(),
                before: text(before),
                during: text(during),
            });
        }
    };
    add("worst wake-up", MeasurementKind::Latency, &|result| {
        maybe_time(worst(result))
    });
    add("99.9 % of wake-ups within", MeasurementKind::Latency, &|result| {
        maybe_time(tail(result))
    });
    add("longest gap in a busy loop", MeasurementKind::Noise, &|result| {
        maybe_time(worst(result))
    });
    add("gaps per second", MeasurementKind::Noise, &|result| {
        per_second(result).map_or_else(|| "-".to_owned(), rate)
    });
    add("CPU time used by others", MeasurementKind::Noise, &|result| {
        stolen(result).map_or_else(|| "-".to_owned(), percent)
    });
    lines
}

/// All statistics of one CPU, for both phases.
pub(super) fn of_cpu(story: &ProveRecord, kind: MeasurementKind, cpu: u32) -> Vec<StatisticsLine> {
    let thread = |phase: Option<&ProvePhase>| -> Option<ThreadResult> {
        of(phase, kind)?
            .threads
            .iter()
            .find(|thread| thread.cpu.0 == cpu)
            .cloned()
    };
    let (before, during) = (thread(story.before.as_ref()), thread(story.during.as_ref()));
    let mut lines = Vec::new();
    let mut add = |what: &str, value: &dyn Fn(&ThreadResult) -> String| {
        let text = |thread: &Option<ThreadResult>| thread.as_ref().map_or_else(|| "-".to_owned(), value);
        lines.push(StatisticsLine {
            what: what.to_owned(),
            before: text(&before),
            during: text(&during),
        });
    };
    add("smallest", &|thread| maybe_time(thread.min_ns));
    add("mean", &|thread| maybe_mean(thread.mean_ns));
    add("median", &|thread| maybe_time(thread.p50_ns));
    add("99 %", &|thread| maybe_time(thread.p99_ns));
    add("99.9 %", &|thread| maybe_time(thread.p999_ns));
    add("largest", &|thread| maybe_time(thread.max_ns));
    match kind {
        MeasurementKind::Latency | MeasurementKind::All => {
            add("wake-ups expected", &|thread| grouped(thread.expected));
            add("recorded", &|thread| grouped(thread.recorded));
            add("missed", &|thread| grouped(thread.missed));
        }
        MeasurementKind::Noise => {
            add("gaps", &|thread| grouped(thread.expected));
            add("recorded", &|thread| grouped(thread.recorded));
            add("missed", &|thread| grouped(thread.missed));
            add("used by others", &|thread| {
                thread.stolen_ns.map_or_else(|| "-".to_owned(), time)
            });
            add("caused by the tool itself", &|thread| {
                thread.own_ns.map_or_else(|| "-".to_owned(), time)
            });
            add("window", &|thread| time(thread.duration_ns));
        }
    }
    lines
}

/// CPUs that a kind was measured on, in either phase.
pub(super) fn measured_cpus(story: &ProveRecord, kind: MeasurementKind) -> Vec<u32> {
    let phases = [story.before.as_ref(), story.during.as_ref()];
    let mut cpus: Vec<u32> = phases
        .into_iter()
        .filter_map(|phase| of(phase, kind))
        .flat_map(|result| result.threads.iter().map(|thread| thread.cpu.0))
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}
