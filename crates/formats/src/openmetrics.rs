//! OpenMetrics text: histograms in seconds by CPU, one family for each thing that was measured; counters of what was
//! missed; everything else that is known as gauges and labels.
//!
//! Bounds are the same for every machine and run (1, 2, 5 times powers of ten), so that series of a fleet can be added
//! up. A sample whose bucket reaches across a bound is counted above it: never better than it was.

use crate::model::{Basis, Kind, Recording, Series};
use crate::statistics::{as_f64, best_mean_ns};
use std::fmt::Write as _;

/// The bounds that have a bucket, in nanoseconds: 100 ns to 10 s.
fn bounds() -> impl Iterator<Item = u64> {
    let decades = (2..10).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    decades.chain(std::iter::once(10_000_000_000))
}

/// One family of metrics: a histogram with a line per label set.
struct Family {
    kind: Kind,
    basis: Basis,
    name: &'static str,
    help: &'static str,
}

const FAMILIES: [Family; 5] = [
    Family {
        kind: Kind::Latency,
        basis: Basis::Samples,
        name: "quietcore_wakeup_latency_seconds",
        help: "How late a periodic thread woke up.",
    },
    Family {
        kind: Kind::Latency,
        basis: Basis::Schedule,
        name: "quietcore_wakeup_due_latency_seconds",
        help: "How late every wake-up was that was due: missed ones as late as they would have been.",
    },
    Family {
        kind: Kind::Latency,
        basis: Basis::Period,
        name: "quietcore_wakeup_period_error_seconds",
        help: "How far the distance of two wake-ups was from the one they were due at.",
    },
    Family {
        kind: Kind::Latency,
        basis: Basis::Early,
        name: "quietcore_wakeup_early_seconds",
        help: "How long before their time wake-ups came.",
    },
    Family {
        kind: Kind::Noise,
        basis: Basis::Samples,
        name: "quietcore_noise_gap_seconds",
        help: "For how long a thread that never sleeps was stopped.",
    },
];

/// A series with its place in the recording.
type Placed<'a> = (usize, &'a Series);

/// Writes a recording as OpenMetrics text (version 1.0.0), with the closing `# EOF`.
#[must_use]
pub fn write(recording: &Recording) -> String {
    let mut text = String::new();
    let all = || recording.series.iter().enumerate();
    for family in &FAMILIES {
        let of_kind = all().filter(|(_, series)| series.kind == family.kind);
        let found: Vec<Placed> = of_kind
            .filter_map(|(place, series)| Some((place, series.by(family.basis)?)))
            .collect();
        if !found.is_empty() {
            write_family(&mut text, family, &found);
        }
    }
    for (kind, name, help) in [
        (
            Kind::Latency,
            "quietcore_wakeups_missed",
            "Wake-ups that were due while the thread was late for an earlier one.",
        ),
        (
            Kind::Noise,
            "quietcore_noise_gaps_missed",
            "Gaps that found no room to be recorded.",
        ),
    ] {
        missed(
            &mut text,
            all().filter(|(_, series)| series.kind == kind),
            name,
            help,
        );
    }
    threads(&mut text, &all().collect::<Vec<_>>());
    run(&mut text, recording);
    text.push_str("# EOF\n");
    text
}

/// All series of one kind, which must stand together, and the largest of each, which no bucket tells.
fn write_family(text: &mut String, family: &Family, all: &[Placed]) {
    let Family { name, help, .. } = family;
    let _ = writeln!(
        text,
        "# TYPE {name} histogram\n# UNIT {name} seconds\n# HELP {name} {help}"
    );
    for (place, series) in all {
        histogram(text, name, &labels(series, *place), series);
    }
    if all.iter().all(|(_, series)| series.stated.max_ns.is_none()) {
        return;
    }
    let largest = name.replace("_seconds", "_largest_seconds");
    let _ = writeln!(
        text,
        "# TYPE {largest} gauge\n# UNIT {largest} seconds\n# HELP {largest} The largest of them."
    );
    for (place, series) in all {
        if let Some(max) = series.stated.max_ns {
            let _ = writeln!(text, "{largest}{{{}}} {}", labels(series, *place), seconds(max));
        }
    }
}

fn missed<'a>(text: &mut String, all: impl Iterator<Item = Placed<'a>>, name: &str, help: &str) {
    let mut all = all
        .filter_map(|(place, series)| Some((place, series, series.missed?)))
        .peekable();
    if all.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "# TYPE {name} counter\n# HELP {name} {help}");
    for (place, series, count) in all {
        let _ = writeln!(text, "{name}_total{{{}}} {count}", labels(series, place));
    }
}

/// What else is known of each thread: numbers as gauges by their names in the result, words in one line of labels.
fn threads(text: &mut String, all: &[Placed]) {
    let number = |value: &str| value.parse::<f64>().is_ok_and(f64::is_finite);
    if all.iter().all(|(_, series)| series.facts.is_empty()) {
        return;
    }
    let (name, info) = ("quietcore_thread_value", "quietcore_thread");
    let _ = writeln!(
        text,
        "# TYPE {name} gauge\n# HELP {name} A number of the result, by its name and in its unit there."
    );
    let of = |series: &Series, place: usize| {
        let kind = match series.kind {
            Kind::Latency => "latency",
            Kind::Noise => "noise",
        };
        format!("{},kind=\"{kind}\"", labels(series, place))
    };
    for (place, series) in all {
        for (field, value) in series.facts.iter().filter(|(_, value)| number(value)) {
            let labels = of(series, *place);
            let _ = writeln!(text, "{name}{{{labels},name=\"{}\"}} {value}", escaped(field));
        }
    }
    let _ = writeln!(text, "# TYPE {info} info\n# HELP {info} What a thread was.");
    for (place, series) in all {
        let mut labels = of(series, *place);
        for (field, value) in series.facts.iter().filter(|(_, value)| !number(value)) {
            let _ = write!(labels, ",{}=\"{}\"", label_name(field), escaped(value));
        }
        let _ = writeln!(text, "{info}_info{{{labels}}} 1");
    }
}

/// Where and how it was measured, and what limits the numbers.
fn run(text: &mut String, recording: &Recording) {
    let name = "quietcore_run";
    let mut labels = vec![format!("tool=\"{}\"", escaped(&recording.tool))];
    let version = recording.version.iter().map(|value| ("version", value));
    let started_at = recording.started_at.iter().map(|value| ("started_at", value));
    let facts = recording.facts.iter().map(|(name, value)| (name.as_str(), value));
    let mut seen = vec!["tool".to_owned()];
    for (field, value) in version.chain(started_at).chain(facts) {
        let field = label_name(field);
        if !seen.contains(&field) {
            labels.push(format!("{field}=\"{}\"", escaped(value)));
            seen.push(field);
        }
    }
    let _ = writeln!(
        text,
        "# TYPE {name} info\n# HELP {name} Where and how it was measured."
    );
    let _ = writeln!(text, "{name}_info{{{}}} 1", labels.join(","));
    if recording.notes.is_empty() {
        return;
    }
    let name = "quietcore_finding";
    let _ = writeln!(text, "# TYPE {name} info\n# HELP {name} What limits the numbers.");
    for (place, note) in recording.notes.iter().enumerate() {
        let _ = writeln!(
            text,
            "{name}_info{{place=\"{place}\",id=\"{}\",level=\"{}\",subject=\"{}\",message=\"{}\"}} 1",
            escaped(&note.id),
            format!("{:?}", note.level).to_lowercase(),
            escaped(&note.subject),
            escaped(&note.message)
        );
    }
}

/// A name of a label: letters, digits and underscores.
fn label_name(name: &str) -> String {
    let name = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    match name.starts_with(|letter: char| letter.is_ascii_digit()) || name.is_empty() {
        true => format!("_{name}"),
        false => name,
    }
}

/// A value of a label.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace(char::is_control, " ")
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
        assert_eq!(types, 6);
        assert_eq!(
            (seconds(1_000_000_000), seconds(100)),
            ("1.0".to_owned(), "0.0000001".to_owned())
        );
    }
}
