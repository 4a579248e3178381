//! Reads and writes `--json` of cyclictest and oslat (rt-tests), with their actual keys: `"cmdline:"`, `"rt_test_version:"`,
//! and `resolution_in_ns`, which is not a resolution but a flag for numbers in nanoseconds.

use crate::cyclictest::SKIPS;
use crate::error::ReadError;
use crate::model::{Recording, Series, SeriesKind};
use crate::oslat::{OslatRows, rule};
use crate::pairs::{FinePairs, Pairs, document};
use crate::statistics::{best_mean_ns, whole};
use crate::tally::{BucketBudget, Tally, check_series};
use machine::MapEntries;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::BufRead;

pub(crate) const NAME: &str = "cyclictest-json";

#[derive(Deserialize)]
struct RtTestsFile {
    #[serde(rename = "cmdline:", alias = "cmdline")]
    cmdline: Option<String>,
    #[serde(rename = "rt_test_version:", alias = "rt_test_version")]
    version: Option<String>,
    start_time: Option<String>,
    return_code: Option<i64>,
    #[serde(default)]
    sysinfo: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    resolution_in_ns: u64,
    thread: Pairs<RtTestsThread>,
}

#[derive(Deserialize)]
struct RtTestsThread {
    #[serde(default)]
    histogram: FinePairs,
    cycles: Option<u64>,
    min: Option<u64>,
    max: Option<u64>,
    avg: Option<f64>,
    cpu: Option<u32>,
    freq: Option<u64>,
    duration: Option<f64>,
}

pub fn looks_like(head: &str) -> bool {
    head.trim_start().starts_with('{') && head.contains("\"rt_test_version")
}

/// Reads it.
///
/// # Errors
/// Invalid JSON, with line and column; no thread.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let file: RtTestsFile = document(input)?;
    check_series(file.thread.0.len())?;
    let threads = file.thread.0;
    let Some((_, first)) = threads.first() else {
        return Err(ReadError::Nothing("no thread"));
    };
    let command = file.cmdline.as_deref().unwrap_or_default();
    let name = command
        .split_whitespace()
        .next()
        .and_then(|path| path.rsplit('/').next());
    let is_oslat = first.freq.is_some();
    let tool = name.unwrap_or(if is_oslat { "oslat" } else { "cyclictest" });
    // cyclictest states the unit; oslat with -W below a microsecond has decimals.
    let fine = |thread: &(u64, RtTestsThread)| thread.1.histogram.thousandths;
    let unit_ns = match file.resolution_in_ns == 0 && !threads.iter().any(fine) {
        true => 1_000,
        false => 1,
    };
    if !is_oslat && threads.iter().any(fine) {
        return Err(ReadError::Nothing("whole numbers: a key of its histogram has decimals"));
    }
    let mut recording = Recording::new(NAME, tool, unit_ns);
    recording.version = file.version;
    recording.started_at = file.start_time;
    if let Some(command) = file.cmdline {
        recording.fact("command", command);
    }
    if let Some(code) = file.return_code {
        recording.fact("return_code", code.to_string());
    }
    for (name, value) in file.sysinfo {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        recording.fact(&name, value);
    }
    let mut mhz = Vec::new();
    let mut room = BucketBudget::default();
    let rows = is_oslat.then(|| rows(&threads, recording.version.as_deref(), unit_ns));
    for (number, thread) in threads {
        mhz.extend(thread.freq);
        let series = series(number, thread, unit_ns, rows, &mut room)?;
        recording.series.push(series);
    }
    if is_oslat {
        crate::oslat::notes(&mut recording, &mhz);
    } else {
        recording.warning("missed_not_counted", "missed wake-ups", SKIPS);
        recording.note_overflows();
        if recording.series.iter().all(|series| series.buckets.is_empty()) {
            recording.warning(
                "no_histogram",
                "histogram",
                "there is no histogram: percentiles, median and deviation are unknown",
            );
        }
    }
    Ok(recording)
}

/// How to interpret oslat's rows.
fn rows(threads: &[(u64, RtTestsThread)], version: Option<&str>, unit_ns: u64) -> OslatRows {
    let ends: Vec<u64> = threads
        .iter()
        .flat_map(|(_, thread)| &thread.histogram.pairs)
        .map(|(end, _)| end.saturating_mul(unit_ns))
        .collect();
    let width_ns = OslatRows::width(&ends, unit_ns);
    let smallest = threads.iter().filter_map(|(_, thread)| thread.min).min();
    OslatRows {
        rule: rule(version, smallest, ends.contains(&width_ns)),
        unit_ns,
        width_ns,
        // The JSON does not state it.
        bias_ns: 0,
    }
}

fn series(
    number: u64,
    thread: RtTestsThread,
    unit_ns: u64,
    rows: Option<OslatRows>,
    room: &mut BucketBudget,
) -> Result<Series, ReadError> {
    let too_large = |what| ReadError::Nothing(what);
    let mut series = Series::new(if rows.is_some() {
        SeriesKind::Noise
    } else {
        SeriesKind::Latency
    });
    series.thread = u32::try_from(number).ok();
    series.cpu = thread.cpu;
    series.stated.count = thread.cycles;
    if thread.cycles != Some(0) {
        series.stated.min_ns = thread.min.map(|value| value.saturating_mul(unit_ns));
        series.stated.max_ns = thread.max.map(|value| value.saturating_mul(unit_ns));
        // oslat's mean is always in microseconds.
        let mean_unit_ns = if rows.is_some() { 1_000 } else { unit_ns };
        let mean = thread.avg.map(|value| value * mean_unit_ns as f64);
        series.stated.mean_ns = mean;
    }
    series.stated.duration_ns = thread.duration.map(|seconds| whole(seconds * 1e9));
    let mut pairs = Vec::with_capacity(thread.histogram.pairs.len());
    for (value, count) in thread.histogram.pairs {
        let value = value
            .checked_mul(unit_ns)
            .ok_or_else(|| too_large("a latency is too large"))?;
        pairs.push((value, count));
    }
    if let Some(rows) = rows {
        if !rows.fill(&mut series, &pairs, true)? {
            return Err(too_large("a count is too large"));
        }
        return Ok(series);
    }
    let mut tally = Tally::default();
    for (low_ns, count) in pairs {
        if !tally.add(low_ns, unit_ns, count, room)? {
            return Err(too_large("a count is too large"));
        }
    }
    series.buckets = tally.buckets();
    // The file does not state its overflows, but the number of all cycles.
    if !series.buckets.is_empty()
        && let Some(cycles) = thread.cycles
    {
        series.overflow = Some(cycles.saturating_sub(series.in_buckets()));
    }
    Ok(series)
}

#[derive(Serialize)]
struct RtTestsOutput<'a> {
    file_version: u32,
    #[serde(rename = "cmdline:")]
    cmdline: &'a str,
    #[serde(rename = "rt_test_version:")]
    version: &'a str,
    start_time: &'a str,
    end_time: &'a str,
    return_code: i32,
    sysinfo: BTreeMap<&'a str, &'a str>,
    num_threads: usize,
    resolution_in_ns: u32,
    thread: BTreeMap<u64, RtTestsOutputThread>,
}

#[derive(Serialize)]
struct RtTestsOutputThread {
    histogram: BTreeMap<u64, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles: Option<u64>,
    min: u64,
    max: u64,
    avg: f64,
    cpu: Option<u32>,
    node: i32,
}

/// Writes it in microseconds, like cyclictest without `-N`. Unknown text fields are empty.
pub fn write(recording: &Recording) -> String {
    let recording = &*recording.of_one_kind();
    let fact = |name: &str| {
        let mut facts = recording.facts.iter();
        facts.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    };
    let mut sysinfo = BTreeMap::from([("sysname", "Linux")]);
    for name in ["nodename", "release", "version", "machine", "realtime"] {
        sysinfo.extend(fact(name).map(|value| (name, value)));
    }
    let version = recording.version.as_deref().unwrap_or_default();
    let threads = recording.series.iter().enumerate().map(|(place, series)| {
        let mut histogram = BTreeMap::new();
        for bucket in &series.buckets {
            let count: &mut u64 = histogram.entry(bucket.low_ns / 1_000).or_default();
            *count = count.saturating_add(bucket.count);
        }
        let last = series.buckets.last().map_or(0, |bucket| bucket.low_ns);
        let first = series.buckets.first().map_or(0, |bucket| bucket.low_ns);
        let mean = best_mean_ns(series).unwrap_or(0.0);
        let thread = RtTestsOutputThread {
            histogram,
            cycles: series.samples(),
            min: series.stated.min_ns.unwrap_or(first) / 1_000,
            max: series.stated.max_ns.unwrap_or(last) / 1_000,
            avg: (mean / 10.0).round() / 100.0,
            cpu: series.cpu,
            node: -1,
        };
        (place as u64, thread)
    });
    let written = RtTestsOutput {
        file_version: 1,
        cmdline: fact("command").unwrap_or(&recording.tool),
        version,
        start_time: recording.started_at.as_deref().unwrap_or_default(),
        end_time: "",
        return_code: 0,
        sysinfo,
        num_threads: recording.series.len(),
        resolution_in_ns: 0,
        thread: threads.into_map(),
    };
    // Serialising numbers and text in maps with unique keys cannot fail.
    let mut text = serde_json::to_string_pretty(&written).unwrap_or_default();
    text.push('\n');
    text
}
