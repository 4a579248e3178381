//! Written files are read back with the same samples, by our own readers and, if installed, by gnuplot.

use formats::{Bucket, Recording, SeriesKind, read, writer, writers};
use proptest::prelude::*;
use std::process::Command;

/// Returns a quietcore result with these histograms: lowest value and count, ascending.
fn result(kind: &str, histograms: &[Vec<(u64, u64)>]) -> Recording {
    let threads: Vec<serde_json::Value> = (0_u32..)
        .zip(histograms)
        .map(|(cpu, histogram)| {
            let recorded: u64 = histogram.iter().map(|(_, count)| count).sum();
            let sum: f64 = histogram.iter().map(|(low, count)| *low as f64 * *count as f64).sum();
            serde_json::json!({
                "kind": kind, "cpu": cpu + 2, "policy": "fifo", "priority": 80,
                "expected": recorded + 5, "recorded": recorded, "missed": 5,
                "min_ns": histogram.first().map(|bucket| bucket.0), "max_ns": histogram.last().map(|bucket| bucket.0),
                "mean_ns": (recorded > 0).then(|| sum / recorded as f64), "histogram": histogram,
                "duration_ns": 2_000_000_000_u64,
            })
        })
        .collect();
    let value = serde_json::json!({
        "schema": measure::SCHEMA, "kind": kind, "started_at": "2026-01-02T03:04:05Z",
        "duration_ns": 2_000_000_000_u64, "environment": measure::Environment::default(),
        "threads": threads, "findings": [], "complete": true,
    });
    read(&mut value.to_string().as_bytes()).unwrap()
}

fn again(recording: &Recording, format: &str) -> Recording {
    let text = writer(format).unwrap()(recording);
    read(&mut text.as_bytes()).unwrap_or_else(|error| panic!("{format}: {error}\n{text}"))
}

/// Returns the samples by whole microsecond.
fn by_us(buckets: &[Bucket]) -> Vec<(u64, u64)> {
    let mut rows: std::collections::BTreeMap<u64, u64> = std::collections::BTreeMap::new();
    for bucket in buckets {
        *rows.entry(bucket.low_ns / 1_000).or_default() += bucket.count;
    }
    rows.into_iter().collect()
}

fn histogram() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::btree_map(0_u64..3_000_000, 1_u64..1_000_000, 1..40)
        .prop_map(|buckets| buckets.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn no_sample_is_lost(
        kind in prop::sample::select(vec!["latency", "noise"]),
        histograms in prop::collection::vec(histogram(), 1..4),
    ) {
        let first = result(kind, &histograms);
        for format in ["cyclictest", "cyclictest-2.7", "cyclictest-json", "systress"] {
            let second = again(&first, format);
            prop_assert_eq!(first.series.len(), second.series.len());
            for (one, two) in first.series.iter().zip(&second.series) {
                prop_assert_eq!(by_us(&one.buckets), by_us(&two.buckets), "{}", format);
                prop_assert_eq!(two.overflow, Some(0));
                let us = |ns: Option<u64>| ns.map(|ns| ns / 1_000);
                prop_assert_eq!(us(one.stated.max_ns), us(two.stated.max_ns));
                prop_assert_eq!(us(one.stated.min_ns), us(two.stated.min_ns));
                prop_assert_eq!(one.stated.count, two.stated.count);
                if format.starts_with("cyclictest") {
                    prop_assert_eq!(one.cpu, two.cpu);
                }
                if !format.ends_with("json") && format != "systress" {
                    prop_assert_eq!(two.missed, Some(5));
                    prop_assert_eq!(two.kind == SeriesKind::Noise, kind == "noise");
                }
            }
            prop_assert!(second.notes.iter().all(|note| note.id != "sums_differ"));
        }
        let log = again(&first, "hlog");
        for (one, two) in first.series.iter().zip(&log.series) {
            prop_assert_eq!(one.cpu, two.cpu);
            prop_assert_eq!(one.in_buckets(), two.in_buckets());
            // Three significant digits: every sample is in the bucket that contains it.
            let mut seen = two.buckets.iter();
            for bucket in &one.buckets {
                let inside = |two: &&Bucket| two.low_ns <= bucket.low_ns && bucket.low_ns <= two.high_ns();
                prop_assert!(two.buckets.iter().any(|two| inside(&two)));
            }
            prop_assert!(seen.all(|two| two.width_ns <= (two.low_ns / 1_000).max(1)));
        }
    }
}

#[test]
fn foreign_files_survive_a_round_trip_through_foreign_formats() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign");
    for name in [
        "cyclictest-2.4-h.txt",
        "oslat-2.4.txt",
        "rtla-timerlat.txt",
        "systress.txt",
    ] {
        let first = read(&mut std::fs::read(folder.join(name)).unwrap().as_slice()).unwrap();
        for format in ["cyclictest", "cyclictest-2.7", "cyclictest-json", "systress"] {
            let second = again(&first, format);
            for (one, two) in first.series.iter().zip(&second.series) {
                assert_eq!(by_us(&one.buckets), by_us(&two.buckets), "{name} as {format}");
                assert_eq!(one.overflow, two.overflow, "{name} as {format}");
                assert_eq!(one.stated.max_ns, two.stated.max_ns, "{name} as {format}");
            }
        }
    }
    // The rows equal those of cyclictest up to the last sample. Above the last and below the first, cyclictest prints
    // empty rows.
    let text = std::fs::read_to_string(folder.join("cyclictest-2.4-h.txt")).unwrap();
    let ours = writer("cyclictest").unwrap()(&read(&mut text.as_bytes()).unwrap());
    let rows = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.ends_with(" 000000") && !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    assert_eq!(rows(&ours), rows(&text));
    for line in text
        .lines()
        .filter(|line| line.starts_with("# ") && line.contains("atenc") || line.contains("Total"))
    {
        if !line.contains("cpu_dma_latency") {
            assert!(ours.lines().any(|our| our == line), "{line}\n{ours}");
        }
    }
}

#[test]
fn the_maximum_in_an_hdr_log_is_in_milliseconds() {
    let recording = result("latency", &[vec![(1_000, 3), (2_000_000, 1)]]);
    let text = writer("hlog").unwrap()(&recording);
    let line = text.lines().find(|line| line.starts_with("Tag=cpu2,")).unwrap();
    let fields: Vec<&str> = line.split(',').collect();
    let largest: f64 = fields[3].parse().unwrap();
    assert!((largest - 2.0).abs() < 0.002 && fields[2] == "2.000", "{line}");
    assert!(text.contains("CPU 2: 5 more samples were missed"));
}

#[test]
fn latency_and_noise_in_one_result_stay_separate() {
    let mut both = result("noise", &[vec![(1_000, 3)]]);
    both.series.extend(result("latency", &[vec![(7_000, 9)]]).series);
    assert_eq!(both.kind(), SeriesKind::Latency);
    let log = again(&both, "hlog");
    assert_eq!(
        log.series.iter().map(|series| series.in_buckets()).collect::<Vec<_>>(),
        [9, 3]
    );
    for format in ["cyclictest", "cyclictest-2.7", "cyclictest-json", "systress"] {
        let latency = again(&both, format);
        assert_eq!(
            (latency.series.len(), latency.series[0].in_buckets()),
            (1, 9),
            "{format}"
        );
    }
    let metrics = writer("openmetrics").unwrap()(&both);
    for line in [
        "wakeup_latency_seconds_count{cpu=\"2\"} 9",
        "noise_gap_seconds_count{cpu=\"2\"} 3",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[test]
fn empty_results_contain_no_invalid_numbers() {
    let recording = result("noise", &[vec![]]);
    // Base64 text may contain any three letters.
    for format in writers().filter(|format| format.name != "hlog") {
        let text = format.write.unwrap()(&recording);
        assert!(!text.to_lowercase().contains("nan"), "{}: {text}", format.name);
    }
}

#[test]
fn gnuplot_accepts_the_script() {
    let recording = result("latency", &[vec![(1_000, 3), (2_000_000, 1)], vec![(0, 7), (5_500, 9)]]);
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("plot.gp");
    std::fs::write(&script, writer("gnuplot").unwrap()(&recording)).unwrap();
    let drawn = Command::new("gnuplot")
        .args(["-e", "set terminal dumb 100 30"])
        .arg(&script)
        .output();
    let output = match drawn {
        Ok(output) => output,
        Err(error) => {
            println!("SKIP: gnuplot_accepts_the_script: gnuplot cannot be started: {error}");
            return;
        }
    };
    let (text, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    assert!(text.contains("CPU 3") && text.contains("latency (us)"), "{text}");
}
