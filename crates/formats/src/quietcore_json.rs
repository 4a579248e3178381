//! Reads and writes our own results (`measure --out`) as one more format.

use crate::error::ReadError;
use crate::model::{Basis, Bucket, MeasurementStretch, Recording, Series, SeriesKind, Spike};
use crate::pairs::document;
use measure::{Distribution, Measurement, ThreadResult, TimeSeries};
use serde::Serialize;
use serde_json::Value;
use std::io::BufRead;

pub(crate) const NAME: &str = "json";

pub fn looks_like(head: &str) -> bool {
    head.trim_start().starts_with('{') && head.contains("\"quietcore.measure/")
}

/// Reads it.
///
/// # Errors
/// Invalid JSON, or another version.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let measurement: Measurement = document(input)?;
    if measurement.schema != measure::SCHEMA {
        return Err(ReadError::Nothing("its schema is from another version of quietcore"));
    }
    Ok(of_measurement(measurement))
}

/// Converts a result to the common model.
#[must_use]
pub fn of_measurement(measurement: Measurement) -> Recording {
    let mut recording = Recording::new(NAME, "quietcore", 1);
    recording.version = Some(measurement.environment.tool_version.clone());
    recording.started_at = Some(measurement.started_at.clone());
    recording.facts = facts(&measurement.environment, &[]);
    recording.facts.extend(facts(&measurement, &ELSEWHERE_OF_A_RUN));
    recording.series = measurement.threads.iter().map(series).collect();
    recording.notes = measurement.findings.clone();
    recording.own = Some(Box::new(measurement));
    recording
}

/// Fields of a measurement that are not facts, because they have another place in the model, or describe a single run.
const ELSEWHERE_OF_A_RUN: [&str; 7] = [
    "schema",
    "started_at",
    "duration_ns",
    "environment",
    "threads",
    "activity",
    "findings",
];

/// Fields of a thread that have another place in a series.
const ELSEWHERE_OF_A_THREAD: [&str; 23] = [
    "kind",
    "cpu",
    "recorded",
    "missed",
    "min_ns",
    "mean_ns",
    "stddev_ns",
    "mode_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p999_ns",
    "p9999_ns",
    "p99999_ns",
    "max_ns",
    "histogram",
    "duration_ns",
    "schedule",
    "jitter.distance",
    "early",
    "gaps",
    "spikes",
    "over_time",
];

/// The fields of a record with their values, those of nested records as `outer.inner`, so that new fields of a result are
/// displayed and compared without more code here. Unknown values are omitted.
fn facts(record: &impl Serialize, elsewhere: &[&str]) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if let Ok(Value::Object(fields)) = serde_json::to_value(record) {
        for (name, value) in fields {
            flatten(&name, value, elsewhere, &mut facts);
        }
    }
    facts
}

fn flatten(name: &str, value: Value, elsewhere: &[&str], facts: &mut Vec<(String, String)>) {
    if elsewhere.contains(&name) {
        return;
    }
    match value {
        Value::Null => {}
        Value::String(text) => facts.push((name.to_owned(), text)),
        Value::Object(fields) => {
            for (inner, value) in fields {
                flatten(&format!("{name}.{inner}"), value, elsewhere, facts);
            }
        }
        Value::Array(values) => {
            for (place, value) in values.into_iter().enumerate() {
                flatten(&format!("{name}.{place}"), value, elsewhere, facts);
            }
        }
        number_or_truth => facts.push((name.to_owned(), number_or_truth.to_string())),
    }
}

fn series(thread: &ThreadResult) -> Series {
    let mut series = Series::new(match thread.kind {
        measure::MeasurementKind::Noise => SeriesKind::Noise,
        _ => SeriesKind::Latency,
    });
    series.cpu = Some(thread.cpu.0);
    series.facts = facts(thread, &ELSEWHERE_OF_A_THREAD);
    // A tick of the counter may be longer than a nanosecond.
    let khz = thread.counter.as_ref().and_then(|counter| counter.khz);
    let tick_ns = khz.map_or(1, |khz| 1_000_000_u64.div_ceil(khz.max(1))).max(1);
    fill(&mut series, &as_distribution(thread), tick_ns);
    series.missed = Some(thread.missed);
    series.stated.duration_ns = Some(thread.duration_ns);
    series.spikes.extend(thread.gaps.iter().flatten());
    for spike in thread.spikes.iter().flatten() {
        series.spikes.push(Spike {
            at_ns: spike.at_ns,
            duration_ns: spike.late_ns,
            label: None,
        });
    }
    series.stretches = thread.over_time.as_ref().map_or_else(Vec::new, stretches);
    if let Some(schedule) = &thread.schedule {
        let mut schedule_series = another(&series, Basis::Schedule, schedule);
        // Samples without room in memory: their delay is unknown.
        schedule_series.missed = Some(thread.expected.saturating_sub(schedule.count));
        series.beside.push(schedule_series);
    }
    if let Some(jitter) = &thread.jitter {
        series.beside.push(another(&series, Basis::Period, &jitter.distance));
    }
    if let Some(early) = &thread.early {
        let known = Distribution {
            count: early.count,
            max_ns: Some(early.max_ns),
            histogram: early.histogram.clone(),
            ..Distribution::default()
        };
        series.beside.push(another(&series, Basis::Early, &known));
    }
    series
}

fn stretches(over_time: &TimeSeries) -> Vec<MeasurementStretch> {
    let begins = std::iter::successors(Some(over_time.begins_ns), |at_ns| {
        Some(at_ns.saturating_add(over_time.part_ns))
    });
    let stretch = |(at_ns, value_ns): (u64, &u64)| MeasurementStretch {
        at_ns,
        length_ns: over_time.part_ns,
        value_ns: *value_ns,
    };
    begins.zip(&over_time.values_ns).map(stretch).collect()
}

fn another(series: &Series, basis: Basis, distribution: &Distribution) -> Series {
    let mut another = series.another(basis);
    fill(&mut another, distribution, 1);
    another
}

fn as_distribution(thread: &ThreadResult) -> Distribution {
    Distribution {
        count: thread.recorded,
        min_ns: thread.min_ns,
        mean_ns: thread.mean_ns,
        stddev_ns: thread.stddev_ns,
        mode_ns: thread.mode_ns,
        p50_ns: thread.p50_ns,
        p90_ns: thread.p90_ns,
        p99_ns: thread.p99_ns,
        p999_ns: thread.p999_ns,
        p9999_ns: thread.p9999_ns,
        p99999_ns: thread.p99999_ns,
        max_ns: thread.max_ns,
        histogram: thread.histogram.clone(),
    }
}

/// Buckets and statistics; each value keeps three significant digits.
fn fill(series: &mut Series, from: &Distribution, tick_ns: u64) {
    let lows = from.histogram.iter().map(|(low, _)| *low).skip(1);
    let nexts = lows.map(Some).chain(std::iter::once(None));
    for ((low_ns, count), next) in from.histogram.iter().zip(nexts) {
        let width = (low_ns / 1_024).saturating_add(tick_ns);
        let room = next.map_or(width, |next| next.saturating_sub(*low_ns));
        series.buckets.push(Bucket {
            low_ns: *low_ns,
            width_ns: width.min(room).max(1),
            count: *count,
        });
    }
    series.buckets.retain(|bucket| bucket.count > 0);
    series.overflow = Some(0);
    let stated = &mut series.stated;
    stated.count = Some(from.count);
    stated.min_ns = from.min_ns;
    stated.mean_ns = from.mean_ns;
    stated.max_ns = from.max_ns;
    stated.stddev_ns = from.stddev_ns;
    stated.median_ns = from.p50_ns;
    stated.mode_ns = from.mode_ns;
    for (share, value) in [
        (0.9, from.p90_ns),
        (0.99, from.p99_ns),
        (0.999, from.p999_ns),
        (0.9999, from.p9999_ns),
        (0.99999, from.p99999_ns),
    ] {
        stated.quantiles.extend(value.map(|value| (share, value)));
    }
}
