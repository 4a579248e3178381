//! Reads jitterdebugger's results.json, and its samples as text (`cpu;seconds;latency`).

use crate::error::ReadError;
use crate::lines::{InputLines, is_digits};
use crate::model::{Recording, Series, SeriesKind, Spike};
use crate::pairs::{Pairs, document};
use crate::tally::{BucketBudget, Spikes, Tally, check_series};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::BufRead;

/// The name of the JSON format.
pub(crate) const NAME: &str = "jitterdebugger";

/// The name of the samples format.
pub(crate) const SAMPLES: &str = "jitterdebugger-samples";

#[derive(Deserialize)]
struct JitterdebuggerFile {
    #[serde(default)]
    sysinfo: BTreeMap<String, serde_json::Value>,
    cpu: Pairs<JitterdebuggerCpu>,
}

#[derive(Deserialize)]
struct JitterdebuggerCpu {
    histogram: Pairs<u64>,
    count: Option<u64>,
    min: Option<u64>,
    max: Option<u64>,
    avg: Option<f64>,
}

pub fn looks_like(head: &str) -> bool {
    // rt-tests also has a member with this name, which is a number.
    let opens = |rest: &str| {
        rest.trim_start()
            .strip_prefix(':')
            .is_some_and(|rest| rest.trim_start().starts_with('{'))
    };
    head.trim_start().starts_with('{') && head.split("\"cpu\"").skip(1).any(opens) && head.contains("\"histogram\"")
}

/// Reads the JSON.
///
/// # Errors
/// Invalid JSON, with line and column; no CPU.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let file: JitterdebuggerFile = document(input)?;
    check_series(file.cpu.0.len())?;
    let resolution = file.sysinfo.get("resolution_in_ns").and_then(serde_json::Value::as_u64);
    let unit_ns = resolution.filter(|ns| (1..=1_000_000).contains(ns)).unwrap_or(1_000);
    let mut recording = Recording::new(NAME, "jitterdebugger", unit_ns);
    for (name, value) in file.sysinfo {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        recording.fact(&name, value);
    }
    let mut room = BucketBudget::default();
    for (number, cpu) in file.cpu.0 {
        let mut series = Series::new(SeriesKind::Latency);
        series.cpu = u32::try_from(number).ok();
        let mut tally = Tally::default();
        for (value, count) in cpu.histogram.0 {
            let low = value
                .checked_mul(unit_ns)
                .ok_or(ReadError::Nothing("a latency is too large"))?;
            if !tally.add(low, unit_ns, count, &mut room)? {
                return Err(ReadError::Nothing("a count is too large"));
            }
        }
        series.buckets = tally.buckets();
        series.stated.count = cpu.count;
        let time = |value: u64| value.saturating_mul(unit_ns);
        series.stated.min_ns = cpu.min.map(time);
        series.stated.max_ns = cpu.max.map(time);
        let mean = cpu.avg.map(|value| value * unit_ns as f64);
        series.stated.mean_ns = mean;
        let missing = cpu.count.map(|count| count.saturating_sub(series.in_buckets()));
        series.overflow = missing.or(Some(0)).filter(|_| !series.buckets.is_empty());
        recording.series.push(series);
    }
    if recording.series.is_empty() {
        return Err(ReadError::Nothing("no CPU"));
    }
    recording.note_overflows();
    recording.info(
        "missed_not_counted",
        "missed wake-ups",
        "jitterdebugger does not report how many wake-ups were expected",
    );
    Ok(recording)
}

pub fn looks_like_samples(head: &str) -> bool {
    let first = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let words: Vec<&str> = first.trim().split(';').collect();
    matches!(words.as_slice(), [cpu, at, value] if is_digits(cpu) && is_digits(value) && at.split('.').count() == 2 && at.split('.').all(is_digits))
}

/// Reads the samples.
///
/// # Errors
/// An invalid line, with its position.
pub fn read_samples(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    const UNIT_NS: u64 = 1_000;
    let mut cpus: BTreeMap<u32, (Tally, Spikes)> = BTreeMap::new();
    let mut room = BucketBudget::default();
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let words: Vec<&str> = line.text.splitn(4, ';').map(str::trim).collect();
        let [cpu, at, value] = words.as_slice() else {
            return Err(line.columns(line.text, words.len(), 3));
        };
        let number = line.small(cpu)?;
        let duration_ns = line.time(value, UNIT_NS)?;
        let at_ns = seconds(at).ok_or_else(|| line.decimal(at).err().unwrap_or_else(|| line.no_number(at)))?;
        let units = line.number(value)?;
        let (tally, spikes) = cpus.entry(number).or_default();
        if !tally.add_exact(units, UNIT_NS, &mut room)? {
            return Err(line.too_large(value));
        }
        spikes.add(Spike {
            at_ns,
            duration_ns,
            label: None,
        });
        check_series(cpus.len())?;
    }
    let mut recording = Recording::new(SAMPLES, "jitterdebugger", UNIT_NS);
    for (cpu, (tally, spikes)) in cpus {
        let series = Series::of_samples(SeriesKind::Latency, Some(cpu), tally, spikes);
        recording.series.push(series);
    }
    if recording.series.is_empty() {
        return Err(ReadError::Nothing("no sample"));
    }
    recording.info(
        "missed_not_counted",
        "missed wake-ups",
        "jitterdebugger does not report how many wake-ups were expected",
    );
    Ok(recording)
}

/// `1114.936950838` in nanoseconds, without rounding.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    if !is_digits(whole) || !is_digits(rest) {
        return None;
    }
    let nine: String = rest.chars().chain(std::iter::repeat('0')).take(9).collect();
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(nine.parse().ok()?)
}
