//! Output files of other tools with statistics printed by the tool itself. The tests parse these with minimal code and
//! compare them with our readers. The comparison is exact where the format allows it; elsewhere the test gives the
//! reason.

use formats::statistics::{mean_ns, statistics};
use formats::{Recording, Series, read};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign")
}

/// Returns the files whose names start and end like this, with their text and our recording.
fn files(start: &str, end: &str) -> Vec<(String, String, Recording)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with(start) && name.ends_with(end) && !name.contains("refused") {
            let text = std::fs::read_to_string(&path).unwrap();
            let recording = read(&mut text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
            found.push((name, text, recording));
        }
    }
    found
}

/// Returns the numbers after a word at the start of a line.
fn numbers(text: &str, start: &str) -> Option<Vec<f64>> {
    let line = text.lines().map(str::trim).find_map(|line| line.strip_prefix(start))?;
    let words = line.split_whitespace();
    Some(words.map_while(|word| word.parse().ok()).collect())
}

fn close(name: &str, what: &str, printed: f64, ours: Option<f64>, within: f64) {
    let ours = ours.unwrap_or_else(|| panic!("{name}: {what} is {printed} there, and unknown to us"));
    assert!(
        (printed - ours).abs() <= within,
        "{name}: {what}: {printed} there, {ours} ours"
    );
}

fn as_f64(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// Returns the mean of the samples as the tool sums them up: each counts with the number of its row.
fn mean_of_rows(series: &Series) -> Option<f64> {
    (series.overflow == Some(0)).then(|| mean_ns(series)).flatten()
}

#[test]
fn printed_statistics_of_cyclictest_histograms_agree() {
    let mut rules = [0, 0];
    for (name, text, recording) in files("cyclictest", ".txt") {
        let Some(min) = numbers(&text, "# Min Latencies:") else {
            continue;
        };
        // 2.10 no longer prints the totals of its rows.
        let totals = numbers(&text, "# Total:");
        let rows: Vec<Vec<u64>> = text
            .lines()
            .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
            .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
            .collect();
        let leaves_out = rows[0][0] > 0 || rows.windows(2).any(|pair| pair[1][0] != pair[0][0] + 1);
        rules[usize::from(leaves_out)] += 1;
        let lines = ["# Avg Latencies:", "# Max Latencies:", "# Histogram Overflows:"];
        let [avg, max, above] = lines.map(|start| numbers(&text, start).unwrap());
        assert_eq!(recording.series.len(), min.len(), "{name}");
        for (place, series) in recording.series.iter().enumerate() {
            let name = format!("{name}, thread {place}");
            if let Some(totals) = &totals {
                close(&name, "total", totals[place], Some(series.in_buckets() as f64), 0.0);
            }
            close(&name, "overflows", above[place], as_f64(series.overflow), 0.0);
            close(&name, "smallest", min[place] * 1e3, as_f64(series.stated.min_ns), 0.0);
            close(&name, "largest", max[place] * 1e3, as_f64(series.stated.max_ns), 0.0);
            close(&name, "mean", avg[place] * 1e3, series.stated.mean_ns, 0.0);
            // The tool truncates its mean to whole microseconds.
            if let Some(mean) = mean_of_rows(series) {
                close(&name, "mean of the rows", avg[place] * 1e3 + 500.0, Some(mean), 500.0);
            }
            // The count of each row and column.
            let kept: Vec<(u64, u64)> = series
                .buckets
                .iter()
                .map(|bucket| (bucket.low_ns / 1_000, bucket.count))
                .collect();
            let printed: Vec<(u64, u64)> = rows
                .iter()
                .map(|row| (row[0], row[place + 1]))
                .filter(|row| row.1 > 0)
                .collect();
            assert_eq!(kept, printed, "{name}");
        }
    }
    assert!(
        rules[0] >= 3 && rules[1] >= 3,
        "every row, and rows with samples: {rules:?}"
    );
}

#[test]
fn printed_statistics_of_cyclictest_and_oslat_json_agree() {
    let mut seen = [0, 0];
    for start in ["cyclictest", "oslat"] {
        for (name, text, recording) in files(start, ".json") {
            let value: Value = serde_json::from_str(&text).unwrap();
            for (number, thread) in value["thread"].as_object().unwrap() {
                let series = &recording.series[number.parse::<usize>().unwrap()];
                let name = format!("{name}, thread {number}");
                let unit = recording.unit_ns as f64;
                let printed = |field: &str| thread[field].as_f64().unwrap();
                close(
                    &name,
                    "smallest",
                    printed("min") * unit,
                    as_f64(series.stated.min_ns),
                    0.0,
                );
                close(
                    &name,
                    "largest",
                    printed("max") * unit,
                    as_f64(series.stated.max_ns),
                    0.0,
                );
                let histogram = thread["histogram"].as_object();
                let all: u64 = histogram
                    .into_iter()
                    .flatten()
                    .map(|(_, count)| count.as_u64().unwrap())
                    .sum();
                if start == "oslat" {
                    seen[1] += 1;
                    // Always in microseconds, rounded to a millionth.
                    close(&name, "mean", printed("avg") * 1e3, series.stated.mean_ns, 1e-6);
                    close(&name, "samples", all as f64, as_f64(series.samples()), 0.0);
                    continue;
                }
                seen[0] += 1;
                close(&name, "mean", printed("avg") * unit, series.stated.mean_ns, 1e-6);
                close(&name, "cycles", printed("cycles"), as_f64(series.stated.count), 0.0);
                close(&name, "in rows", all as f64, Some(series.in_buckets() as f64), 0.0);
                if let Some(mean) = mean_of_rows(series) {
                    // The mean has two decimals.
                    close(
                        &name,
                        "mean of the rows",
                        printed("avg") * unit,
                        Some(mean),
                        unit / 100.0,
                    );
                }
            }
        }
    }
    assert!(seen[0] >= 5 && seen[1] >= 4, "{seen:?}");
}

#[test]
fn printed_statistics_of_cyclictest_without_histogram_agree() {
    let mut seen = 0;
    for (name, text, recording) in files("cyclictest-2.4-q", ".txt") {
        for (series, line) in recording
            .series
            .iter()
            .zip(text.lines().filter(|line| line.starts_with("T:")))
        {
            let behind = |word: &str| -> f64 {
                let rest = line.split(word).nth(1).unwrap();
                rest.split_whitespace().next().unwrap().parse().unwrap()
            };
            close(&name, "cycles", behind(" C:"), as_f64(series.stated.count), 0.0);
            close(
                &name,
                "smallest",
                behind("Min:") * 1e3,
                as_f64(series.stated.min_ns),
                0.0,
            );
            close(&name, "mean", behind("Avg:") * 1e3, series.stated.mean_ns, 0.0);
            close(
                &name,
                "largest",
                behind("Max:") * 1e3,
                as_f64(series.stated.max_ns),
                0.0,
            );
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen}");
}

#[test]
fn printed_statistics_of_oslat_text_agree() {
    let mut seen = 0;
    for (name, text, recording) in files("oslat", ".txt") {
        let rows: Vec<(f64, Vec<f64>)> = text
            .lines()
            .filter_map(|line| {
                let (row, counts) = line.split_once(" (us):")?;
                Some((row.trim().parse().ok()?, numbers(counts, "")?))
            })
            .collect();
        for (place, series) in recording.series.iter().enumerate() {
            let printed = |start: &str| numbers(&text, start).unwrap()[place];
            close(&name, "CPU", printed("Core:"), series.cpu.map(f64::from), 0.0);
            close(
                &name,
                "smallest",
                printed("Minimum:") * 1e3,
                as_f64(series.stated.min_ns),
                1e-6,
            );
            close(
                &name,
                "largest",
                printed("Maximum:") * 1e3,
                as_f64(series.stated.max_ns),
                1e-6,
            );
            close(&name, "mean", printed("Average:") * 1e3, series.stated.mean_ns, 1e-6);
            close(
                &name,
                "duration",
                printed("Duration:") * 1e9,
                as_f64(series.stated.duration_ns),
                1.0,
            );
            let all: f64 = rows.iter().map(|(_, counts)| counts[place]).sum();
            close(&name, "samples", all, as_f64(series.samples()), 0.0);
            let last = rows.last().unwrap().1[place];
            match series.overflow {
                // The format does not distinguish overflows from samples in the last row.
                Some(above) if above > 0 => close(&name, "the last row", last, Some(above as f64), 0.0),
                _ => assert!(printed("Maximum:") <= rows.last().unwrap().0, "{name}"),
            }
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn printed_statistics_of_jitterdebugger_json_agree() {
    let mut seen = 0;
    for (name, text, recording) in files("jitterdebugger", ".json") {
        let value: Value = serde_json::from_str(&text).unwrap();
        let unit = value["sysinfo"]["resolution_in_ns"].as_f64().unwrap();
        for (cpu, printed) in value["cpu"].as_object().unwrap() {
            let cpu: u32 = cpu.parse().unwrap();
            let series = recording.series.iter().find(|series| series.cpu == Some(cpu)).unwrap();
            let number = |field: &str| printed[field].as_f64().unwrap();
            close(&name, "count", number("count"), as_f64(series.stated.count), 0.0);
            close(
                &name,
                "smallest",
                number("min") * unit,
                as_f64(series.stated.min_ns),
                0.0,
            );
            close(
                &name,
                "largest",
                number("max") * unit,
                as_f64(series.stated.max_ns),
                0.0,
            );
            close(&name, "mean", number("avg") * unit, series.stated.mean_ns, 1e-6);
            if let Some(mean) = mean_of_rows(series) {
                close(
                    &name,
                    "mean of the rows",
                    number("avg") * unit,
                    Some(mean),
                    unit / 100.0,
                );
            }
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen}");
}

#[test]
fn printed_statistics_of_rtla_text_agree() {
    let mut seen = 0;
    let histograms = files("rtla", ".txt").into_iter();
    for (name, text, recording) in histograms.filter(|(_, _, recording)| recording.format == "rtla") {
        // The block of each column comes before the one that sums them up.
        let text = text.split("ALL:").next().unwrap();
        for (place, series) in recording.series.iter().enumerate() {
            let unit = recording.unit_ns as f64;
            let printed = |start: &str| {
                let line = text.lines().find(|line| line.starts_with(start)).unwrap();
                let word = line.split_whitespace().nth(place + 1).unwrap();
                word.parse::<f64>().ok()
            };
            let count = printed("count:").unwrap();
            close(&name, "count", count, as_f64(series.stated.count), 0.0);
            close(&name, "samples", count, as_f64(series.samples()), 0.0);
            close(&name, "over", printed("over:").unwrap(), as_f64(series.overflow), 0.0);
            if count == 0.0 {
                // Some releases print `-` here, others 2^64-1 and 0. Neither is a statistic.
                let stated = &series.stated;
                assert_eq!(
                    (stated.min_ns, stated.mean_ns, stated.max_ns),
                    (None, None, None),
                    "{name}"
                );
                continue;
            }
            for (word, ours) in [
                ("min:", as_f64(series.stated.min_ns)),
                ("avg:", series.stated.mean_ns),
                ("max:", as_f64(series.stated.max_ns)),
            ] {
                match printed(word) {
                    Some(value) => close(&name, word, value * unit, ours, 1e-6),
                    None => assert_eq!(ours, None, "{name}: {word} is not reported"),
                }
            }
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn printed_statistics_of_stress_ng_text_agree() {
    for (name, text, recording) in files("stress-ng", ".txt") {
        let series = &recording.series[0];
        let behind = |word: &str| -> f64 {
            let rest = text.split(word).nth(1).unwrap();
            let word = rest.split_whitespace().next().unwrap();
            word.trim_end_matches(',').parse().unwrap()
        };
        close(&name, "mean", behind("mean:"), series.stated.mean_ns, 1e-6);
        close(&name, "mode", behind("mode:"), as_f64(series.stated.mode_ns), 0.0);
        close(&name, "smallest", behind("min:"), as_f64(series.stated.min_ns), 0.0);
        close(&name, "largest", behind("max:"), as_f64(series.stated.max_ns), 0.0);
        close(&name, "deviation", behind("std.dev."), series.stated.stddev_ns, 1e-6);
        for (share, value) in &series.stated.quantiles {
            let word = format!("{:.2}%:", share * 100.0);
            close(&name, &word, behind(&word), Some(*value as f64), 0.0);
        }
        assert!(series.stated.quantiles.len() >= 6, "{name}");
    }
}

#[test]
fn printed_statistics_of_systress_and_sysjitter_text_agree() {
    for (name, text, recording) in files("systress", ".txt") {
        let series = &recording.series[0];
        let summary = text
            .lines()
            .filter_map(|line| numbers(line, "#"))
            .find(|numbers| numbers.len() == 11);
        let summary = summary.unwrap();
        let us = |place: usize| summary[place] * 1e3;
        close(&name, "samples", summary[2], as_f64(series.stated.count), 0.0);
        close(&name, "smallest", us(3), as_f64(series.stated.min_ns), 0.0);
        close(&name, "largest", us(4), as_f64(series.stated.max_ns), 0.0);
        close(&name, "mean", us(5), series.stated.mean_ns, 0.0);
        close(&name, "median", us(8), as_f64(series.stated.median_ns), 0.0);
        close(&name, "deviation", us(9), series.stated.stddev_ns, 0.0);
        close(&name, "mode", us(10), as_f64(series.stated.mode_ns), 0.0);
        // An article omits rows. A complete file has all of them, and its statistics follow from them, truncated to
        // whole units.
        if series.overflow.is_some() {
            close(&name, "in rows", summary[6], Some(series.in_buckets() as f64), 0.0);
            let mean = mean_ns(series).unwrap();
            close(&name, "mean of the rows", us(7) + 500.0, Some(mean), 500.0);
            let mode = statistics(series).mode.map(|span| span.low_ns);
            close(&name, "most frequent row", us(10), as_f64(mode), 0.0);
        }
    }
    for (name, text, recording) in files("sysjitter", "raw.1") {
        let series = &recording.series[0];
        let count = numbers(&text, "# n_interruptions:").unwrap()[0];
        close(&name, "interruptions", count, Some(series.in_buckets() as f64), 0.0);
        let gaps: Vec<u64> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().nth(3).unwrap().parse().unwrap())
            .collect();
        let ours: Vec<u64> = series.spikes.iter().map(|spike| spike.duration_ns).collect();
        assert_eq!(ours, gaps, "{name}");
    }
}
