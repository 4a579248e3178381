//! Our own results (`measure --out`), as one more format.

use crate::error::ReadError;
use crate::model::{Bucket, Kind, Recording, Series, Spike};
use crate::pairs::document;
use measure::{Measurement, ThreadResult};
use std::io::BufRead;

/// Its name in our list.
pub(crate) const NAME: &str = "json";

/// Whether the beginning of a file is a result of ours.
#[must_use]
pub fn looks_like(head: &str) -> bool {
    head.trim_start().starts_with('{') && head.contains("\"quietcore.measure/")
}

/// Reads it.
///
/// # Errors
/// JSON that is broken, or of another version.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let measurement: Measurement = document(input)?;
    if measurement.schema != measure::SCHEMA {
        return Err(ReadError::Nothing(
            "its schema is of another version of quietcore",
        ));
    }
    Ok(of_measurement(measurement))
}

/// A result as what all formats share.
#[must_use]
pub fn of_measurement(measurement: Measurement) -> Recording {
    let mut recording = Recording::new(NAME, "quietcore", 1);
    recording.version = Some(measurement.environment.tool_version.clone());
    recording.started_at = Some(measurement.started_at.clone());
    // The environment as its own names and values, so that a new field of it is compared without another line here.
    if let Ok(serde_json::Value::Object(environment)) = serde_json::to_value(&measurement.environment) {
        for (name, value) in environment {
            match value {
                serde_json::Value::Null | serde_json::Value::Object(_) | serde_json::Value::Array(_) => {}
                serde_json::Value::String(text) => recording.fact(&name, text),
                other => recording.fact(&name, other.to_string()),
            }
        }
    }
    recording.series = measurement.threads.iter().map(series).collect();
    recording.notes = measurement.findings.clone();
    recording.own = Some(Box::new(measurement));
    recording
}

fn series(thread: &ThreadResult) -> Series {
    let mut series = Series::new(match thread.kind {
        measure::Kind::Noise => Kind::Noise,
        _ => Kind::Latency,
    });
    series.cpu = Some(thread.cpu.0);
    // A tick of the counter can be longer than a nanosecond, and three significant digits are kept.
    let khz = thread.counter.as_ref().and_then(|counter| counter.khz);
    let tick_ns = khz.map_or(1, |khz| 1_000_000_u64.div_ceil(khz.max(1))).max(1);
    let lows = thread.histogram.iter().map(|(low, _)| *low).skip(1);
    let nexts = lows.map(Some).chain(std::iter::once(None));
    for ((low_ns, count), next) in thread.histogram.iter().zip(nexts) {
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
    series.missed = Some(thread.missed);
    let stated = &mut series.stated;
    stated.count = Some(thread.recorded);
    stated.min_ns = thread.min_ns;
    stated.mean_ns = thread.mean_ns;
    stated.max_ns = thread.max_ns;
    stated.stddev_ns = thread.stddev_ns;
    stated.median_ns = thread.p50_ns;
    stated.mode_ns = thread.mode_ns;
    for (share, value) in [
        (0.9, thread.p90_ns),
        (0.99, thread.p99_ns),
        (0.999, thread.p999_ns),
        (0.9999, thread.p9999_ns),
        (0.99999, thread.p99999_ns),
    ] {
        stated.quantiles.extend(value.map(|value| (share, value)));
    }
    stated.duration_ns = Some(thread.duration_ns);
    for gap in thread.gaps.iter().flatten() {
        series.spikes.push(Spike {
            at_ns: gap.at_ns,
            duration_ns: gap.duration_ns,
        });
    }
    for spike in thread.spikes.iter().flatten() {
        series.spikes.push(Spike {
            at_ns: spike.at_ns,
            duration_ns: spike.late_ns,
        });
    }
    series
}
