//! OpenMetrics text: one histogram in seconds and, where missed wake-ups are counted, one counter of them, by CPU.
//!
//! Bounds are the same for every machine and run (1, 2, 5 times powers of ten), so that series of a fleet can be added
//! up. A sample whose bucket reaches across a bound is counted above it: never better than it was.

use crate::model::{Kind, Recording, Series};
use crate::statistics::{as_f64, best_mean_ns};
use std::fmt::Write as _;

/// The bounds that have a bucket, in nanoseconds: 100 ns to 10 s.
fn bounds() -> impl Iterator<Item = u64> {
    let decades = (2..10).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    decades.chain(std::iter::once(10_000_000_000))
}

/// Writes it.
#[must_use]
pub fn write(recording: &Recording) -> String {
    let mut text = String::new();
    for kind in [Kind::Latency, Kind::Noise] {
        let series: Vec<(usize, &Series)> = recording
            .series
            .iter()
            .enumerate()
            .filter(|(_, series)| series.kind == kind)
            .collect();
        if !series.is_empty() {
            family(&mut text, kind, &series);
        }
    }
    text.push_str("# EOF\n");
    text
}

/// All series of one kind, which must stand together.
fn family(text: &mut String, kind: Kind, all: &[(usize, &Series)]) {
    let (name, help) = match kind {
        Kind::Latency => (
            "quietcore_wakeup_latency_seconds",
            "How late a periodic thread woke up.",
        ),
        Kind::Noise => (
            "quietcore_noise_gap_seconds",
            "For how long a thread that never sleeps was stopped.",
        ),
    };
    let _ = writeln!(
        text,
        "# TYPE {name} histogram\n# UNIT {name} seconds\n# HELP {name} {help}"
    );
    for (place, series) in all {
        histogram(text, name, &labels(series, *place), series);
    }
    let missed = all
        .iter()
        .filter_map(|(place, series)| Some((place, series, series.missed?)));
    if kind == Kind::Latency && missed.clone().count() > 0 {
        let name = "quietcore_wakeups_missed";
        let help = "Wake-ups that were due while the thread was late for an earlier one.";
        let _ = writeln!(text, "# TYPE {name} counter\n# HELP {name} {help}");
        for (place, series, count) in missed {
            let _ = writeln!(text, "{name}_total{{{}}} {count}", labels(series, *place));
        }
    }
}

/// Numbers and our own words, so nothing in them needs an escape.
fn labels(series: &Series, place: usize) -> String {
    let mut labels = match series.cpu {
        Some(cpu) if series.thread.is_none() => format!("cpu=\"{cpu}\""),
        Some(cpu) => format!("cpu=\"{cpu}\",thread=\"{}\"", series.thread.unwrap_or(0)),
        None => format!("thread=\"{}\"", series.thread.map_or(place as u64, u64::from)),
    };
    if let Some(part) = series.part {
        let _ = write!(labels, ",part=\"{}\"", format!("{part:?}").to_lowercase());
    }
    labels
}

fn histogram(text: &mut String, name: &str, labels: &str, series: &Series) {
    let mut below = 0_u64;
    let mut buckets = series.buckets.iter().peekable();
    for bound in bounds() {
        while let Some(bucket) = buckets.next_if(|bucket| bucket.high_ns() <= bound) {
            below = below.saturating_add(bucket.count);
        }
        let _ = writeln!(
            text,
            "{name}_bucket{{{labels},le=\"{}\"}} {below}",
            seconds(bound)
        );
    }
    let count = series.in_buckets().saturating_add(series.overflow.unwrap_or(0));
    let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
    let sum = best_mean_ns(series).unwrap_or(0.0) * as_f64(count) / 1e9;
    let _ = writeln!(text, "{name}_sum{{{labels}}} {sum}");
    let _ = writeln!(text, "{name}_count{{{labels}}} {count}");
}

/// Seconds as the canonical decimal number of OpenMetrics: `0.0001`, `1.0`.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') {
        format!("{short}0")
    } else {
        short.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn buckets_add_up_and_the_text_ends_as_it_must() {
        let recording = example::latency();
        let text = write(&recording);
        assert!(text.ends_with("# EOF\n"));
        let value = |start: &str| -> f64 {
            let line = text.lines().find(|line| line.starts_with(start)).expect(start);
            line.rsplit(' ')
                .next()
                .expect("a value")
                .parse()
                .expect("a number")
        };
        let name = "quietcore_wakeup_latency_seconds";
        assert!((value(&format!("{name}_bucket{{cpu=\"1\",le=\"0.000002\"}}")) - 0.0).abs() < 1e-9);
        assert!((value(&format!("{name}_bucket{{cpu=\"1\",le=\"0.000005\"}}")) - 23.0).abs() < 1e-9);
        assert!((value(&format!("{name}_bucket{{cpu=\"1\",le=\"0.0001\"}}")) - 24.0).abs() < 1e-9);
        assert!((value(&format!("{name}_bucket{{cpu=\"1\",le=\"+Inf\"}}")) - 24.0).abs() < 1e-9);
        assert!((value(&format!("{name}_count{{cpu=\"1\"}}")) - 24.0).abs() < 1e-9);
        assert!((value(&format!("{name}_sum{{cpu=\"1\"}}")) - 24.0 * 4_250.5e-9).abs() < 1e-12);
        assert!((value("quietcore_wakeups_missed_total{cpu=\"1\"}") - 3.0).abs() < 1e-9);
        for series in ["cpu=\"1\"", "cpu=\"3\""] {
            let counts: Vec<u64> = text
                .lines()
                .filter(|line| line.contains("_bucket") && line.contains(series))
                .map(|line| {
                    line.rsplit(' ')
                        .next()
                        .expect("a value")
                        .parse()
                        .expect("a count")
                })
                .collect();
            assert!(counts.is_sorted() && counts.len() == 26, "{counts:?}");
        }
        let types = text.lines().filter(|line| line.starts_with("# TYPE")).count();
        assert_eq!(types, 2);
        assert_eq!(
            (seconds(1_000_000_000), seconds(100)),
            ("1.0".to_owned(), "0.0000001".to_owned())
        );
    }
}
