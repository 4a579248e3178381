//! oslat and cyclictest: JSON files with histograms in whole microseconds.

use super::{BenchRun, INTERVAL_NS, PRIORITY, json, words};
use crate::truth::seen::{ToolReading, bins_of_width};
use serde_json::Value;

/// The maximum that oslat accepts.
const OSLAT_BINS: u64 = 1_024;
/// Number of rows of cyclictest's histogram, enough for every injected disturbance.
const CYCLICTEST_ROWS: u64 = 600_000;

pub(crate) fn oslat_words(run: &BenchRun) -> Vec<String> {
    let BenchRun {
        cpu, other, seconds, ..
    } = run;
    let json = result(run);
    words(format!(
        "-c {cpu} -C {other} -D {seconds} -f {PRIORITY} -b {OSLAT_BINS} -q -z --json={json}"
    ))
}

pub(crate) fn cyclictest_words(run: &BenchRun) -> Vec<String> {
    let BenchRun {
        cpu, other, seconds, ..
    } = run;
    let json = result(run);
    let interval_us = INTERVAL_NS / 1_000;
    words(format!(
        "-q -m -t1 -a{cpu} -p{PRIORITY} -i{interval_us} -D {seconds} --mainaffinity={other} -h {CYCLICTEST_ROWS} --json={json}"
    ))
}

pub(crate) fn read_oslat(run: &BenchRun, _: &str) -> Result<ToolReading, String> {
    oslat(&json(run.folder.join("result.json").as_path())?)
}

pub(crate) fn read_cyclictest(run: &BenchRun, _: &str) -> Result<ToolReading, String> {
    cyclictest(&json(run.folder.join("result.json").as_path())?, run.seconds)
}

fn result(run: &BenchRun) -> String {
    run.folder.join("result.json").display().to_string()
}

/// Every iteration of the loop is in the histogram. The last bin has everything above, which the file does not mark.
fn oslat(report: &Value) -> Result<ToolReading, String> {
    let thread = &report["thread"]["0"];
    let counts = histogram(thread)?;
    let turns = counts.iter().map(|(_, count)| count).sum();
    let seconds = thread["duration"].as_f64().ok_or("no duration")?;
    Ok(ToolReading {
        // The first bin has every undisturbed iteration.
        floor_ns: 2_000,
        bins: bins_of_width(counts, 1_000, Some(OSLAT_BINS * 1_000)),
        duration_ns: (seconds * 1e9) as u64,
        recorded: turns,
        iterations: Some(turns),
        ..ToolReading::default()
    })
}

/// The file reports neither the number of expected wake-ups nor of skipped ones. The expected number follows from the
/// duration.
fn cyclictest(report: &Value, seconds: u64) -> Result<ToolReading, String> {
    let thread = &report["thread"]["0"];
    let counts = histogram(thread)?;
    let duration_ns = seconds * 1_000_000_000;
    Ok(ToolReading {
        bins: bins_of_width(counts, 1_000, None),
        duration_ns,
        expected: Some(duration_ns / INTERVAL_NS),
        recorded: thread["cycles"].as_u64().ok_or("no cycles")?,
        ..ToolReading::default()
    })
}

fn histogram(thread: &Value) -> Result<Vec<(u64, u64)>, String> {
    let rows = thread["histogram"].as_object().ok_or("no histogram")?;
    let counts: Option<Vec<(u64, u64)>> = rows
        .iter()
        .map(|(us, count)| Some((us.parse::<u64>().ok()? * 1_000, count.as_u64()?)))
        .collect();
    counts.ok_or_else(|| "a row of the histogram has no number".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::seen::DurationBin;

    #[test]
    fn oslat_counts_iterations_and_its_last_bin_is_open() {
        let report = serde_json::json!({"thread": {"0": {"cpu": 1, "duration": 2.0,
            "histogram": {"1": 85_970_463_u64, "1024": 3, "17": 5}}}});
        let seen = oslat(&report).unwrap();
        assert_eq!(seen.iterations, Some(85_970_471));
        assert_eq!(seen.duration_ns, 2_000_000_000);
        assert_eq!(seen.ceiling_ns(), Some(1_024_000));
        let low: Vec<u64> = seen.bins.iter().map(|bin| bin.low_ns).collect();
        assert_eq!(low, [1_000, 17_000, 1_024_000]);
        assert!(oslat(&serde_json::json!({"thread": {}})).is_err());
    }

    #[test]
    fn cyclictest_reports_recorded_cycles_and_no_missed_ones() {
        let report = serde_json::json!({"thread": {"0": {"histogram": {"9": 5, "2070": 1}, "cycles": 1927}}});
        let seen = cyclictest(&report, 2).unwrap();
        assert_eq!((seen.expected, seen.recorded, seen.missed), (Some(2_000), 1_927, None));
        assert_eq!(seen.ceiling_ns(), None);
        assert_eq!(
            seen.bins[1],
            DurationBin {
                low_ns: 2_070_000,
                high_ns: Some(2_071_000),
                count: 1
            }
        );
    }
}
