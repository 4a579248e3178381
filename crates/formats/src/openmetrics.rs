//! Writes OpenMetrics text: histograms in seconds by CPU, one family per measured quantity; counters of missed wake-ups;
//! all other facts as gauges and labels.
//!
//! Bounds are the same for every machine and run (1, 2, 5 times powers of ten), so that series of a fleet can be
//! summed. A sample whose bucket crosses a bound counts as above it: the result is never better than the measurement.

use crate::exposition::{Exposition, ExpositionFormat, LabelSet, MetricType, label_name, seconds};
use crate::model::{Basis, Recording, Series, SeriesKind};
use crate::statistics::{as_f64, best_mean_ns};

/// The bounds that have a bucket, in nanoseconds: 100 ns to 10 s.
fn bounds() -> impl Iterator<Item = u64> {
    let decades = (2..10).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    decades.chain(std::iter::once(10_000_000_000))
}

/// One family of metrics: a histogram with a line per label set.
struct MetricFamily {
    kind: SeriesKind,
    basis: Basis,
    name: &'static str,
    help: &'static str,
}

const FAMILIES: [MetricFamily; 5] = [
    MetricFamily {
        kind: SeriesKind::Latency,
        basis: Basis::Samples,
        name: "quietcore_wakeup_latency_seconds",
        help: "How late a periodic thread woke up.",
    },
    MetricFamily {
        kind: SeriesKind::Latency,
        basis: Basis::Schedule,
        name: "quietcore_wakeup_due_latency_seconds",
        help: "Latency of every expected wake-up; missed ones count with their estimated latency.",
    },
    MetricFamily {
        kind: SeriesKind::Latency,
        basis: Basis::Period,
        name: "quietcore_wakeup_period_error_seconds",
        help: "Deviation of the time between two wake-ups from the expected one.",
    },
    MetricFamily {
        kind: SeriesKind::Latency,
        basis: Basis::Early,
        name: "quietcore_wakeup_early_seconds",
        help: "How much too early wake-ups were.",
    },
    MetricFamily {
        kind: SeriesKind::Noise,
        basis: Basis::Samples,
        name: "quietcore_noise_gap_seconds",
        help: "How long a thread that never sleeps was stopped.",
    },
];

/// A series with its place in the recording.
type IndexedSeries<'a> = (usize, &'a Series);

/// Writes a recording as OpenMetrics text (version 1.0.0), with the closing `# EOF`.
pub fn write(recording: &Recording) -> String {
    let mut text = Exposition::new(ExpositionFormat::OpenMetrics);
    histograms(&mut text, recording);
    threads(&mut text, &recording.series.iter().enumerate().collect::<Vec<_>>());
    run(&mut text, recording);
    text.end()
}

/// Adds the measurement: the histograms, the maximum of each, and counters of missed wake-ups.
pub fn histograms(text: &mut Exposition, recording: &Recording) {
    let all = || recording.series.iter().enumerate();
    for family in &FAMILIES {
        let of_kind = all().filter(|(_, series)| series.kind == family.kind);
        let found: Vec<IndexedSeries> = of_kind
            .filter_map(|(place, series)| Some((place, series.by(family.basis)?)))
            .collect();
        if !found.is_empty() {
            write_family(text, family, &found);
        }
    }
    for (kind, name, help) in [
        (
            SeriesKind::Latency,
            "quietcore_wakeups_missed",
            "Wake-ups that were expected while the thread was late for an earlier one.",
        ),
        (
            SeriesKind::Noise,
            "quietcore_noise_gaps_missed",
            "Gaps that were dropped before they were recorded.",
        ),
    ] {
        missed(text, all().filter(|(_, series)| series.kind == kind), name, help);
    }
}

/// All series of one kind, which must be consecutive, and the maximum of each, which no bucket states.
fn write_family(text: &mut Exposition, family: &MetricFamily, all: &[IndexedSeries]) {
    let MetricFamily { name, help, .. } = family;
    text.family(MetricType::Histogram, name, help);
    for (place, series) in all {
        histogram(text, &labels(series, *place), series);
    }
    if all.iter().all(|(_, series)| series.stated.max_ns.is_none()) {
        return;
    }
    let largest = name.replace("_seconds", "_largest_seconds");
    text.family(MetricType::Gauge, &largest, "The largest of them.");
    for (place, series) in all {
        if let Some(max) = series.stated.max_ns {
            text.line(&labels(series, *place), seconds(max));
        }
    }
}

fn missed<'a>(text: &mut Exposition, all: impl Iterator<Item = IndexedSeries<'a>>, name: &str, help: &str) {
    let mut all = all
        .filter_map(|(place, series)| Some((place, series, series.missed?)))
        .peekable();
    if all.peek().is_none() {
        return;
    }
    text.family(MetricType::Counter, name, help);
    for (place, series, count) in all {
        text.line(&labels(series, place), count);
    }
}

/// Other facts about each thread: numbers as gauges under their names in the result, words in one line of labels.
fn threads(text: &mut Exposition, all: &[IndexedSeries]) {
    let number = |value: &str| value.parse::<f64>().is_ok_and(f64::is_finite);
    if all.iter().all(|(_, series)| series.facts.is_empty()) {
        return;
    }
    text.family(
        MetricType::Gauge,
        "quietcore_thread_value",
        "A number of the result, by its name and in its unit there.",
    );
    let of = |series: &Series, place: usize| {
        let kind = match series.kind {
            SeriesKind::Latency => "latency",
            SeriesKind::Noise => "noise",
        };
        labels(series, place).with("kind", kind)
    };
    for (place, series) in all {
        for (field, value) in series.facts.iter().filter(|(_, value)| number(value)) {
            text.line(&of(series, *place).with("name", field), value);
        }
    }
    text.family(MetricType::Info, "quietcore_thread", "What a thread measured.");
    for (place, series) in all {
        let words = series.facts.iter().filter(|(_, value)| !number(value));
        let labels = words.fold(of(series, *place), |labels, (field, value)| labels.with(field, value));
        text.line(&labels, 1);
    }
}

/// Where and how it was measured, and the limits of the numbers.
fn run(text: &mut Exposition, recording: &Recording) {
    let version = recording.version.iter().map(|value| ("version", value));
    let started_at = recording.started_at.iter().map(|value| ("started_at", value));
    let facts = recording.facts.iter().map(|(name, value)| (name.as_str(), value));
    let mut labels = LabelSet::default().with("tool", &recording.tool);
    let mut seen = vec!["tool".to_owned()];
    for (field, value) in version.chain(started_at).chain(facts) {
        let field = label_name(field);
        if !seen.contains(&field) {
            labels = labels.with(&field, value);
            seen.push(field);
        }
    }
    text.family(MetricType::Info, "quietcore_run", "Where and how it was measured.");
    text.line(&labels, 1);
    if recording.notes.is_empty() {
        return;
    }
    text.family(MetricType::Info, "quietcore_finding", "What limits the numbers.");
    for (place, note) in recording.notes.iter().enumerate() {
        let labels = LabelSet::default()
            .with("place", place)
            .with("id", &note.id)
            .with("level", format!("{:?}", note.level).to_lowercase())
            .with("subject", &note.subject)
            .with("message", &note.message);
        text.line(&labels, 1);
    }
}

fn labels(series: &Series, place: usize) -> LabelSet {
    let labels = LabelSet::default();
    let labels = match series.cpu {
        Some(cpu) if series.thread.is_none() => labels.with("cpu", cpu),
        Some(cpu) => labels.with("cpu", cpu).with("thread", series.thread.unwrap_or(0)),
        None => labels.with("thread", series.thread.map_or(place as u64, u64::from)),
    };
    match series.part {
        Some(part) => labels.with("part", format!("{part:?}").to_lowercase()),
        None => labels,
    }
}

fn histogram(text: &mut Exposition, labels: &LabelSet, series: &Series) {
    // An empty histogram would state that there were no samples.
    if series.buckets.is_empty() && series.samples() != Some(0) {
        return;
    }
    let mut below = 0_u64;
    let mut buckets = series.buckets.iter().peekable();
    let up_to = bounds().map(|bound| {
        while let Some(bucket) = buckets.next_if(|bucket| bucket.high_ns() <= bound) {
            below = below.saturating_add(bucket.count);
        }
        (bound, below)
    });
    let count = series.in_buckets().saturating_add(series.overflow.unwrap_or(0));
    let sum_s = best_mean_ns(series).unwrap_or(0.0) * as_f64(count) / 1e9;
    text.histogram(labels, up_to, count, sum_s);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn buckets_are_cumulative_and_the_text_ends_with_eof() {
        let recording = example::latency();
        let text = write(&recording);
        assert!(text.ends_with("# EOF\n"));
        let value = |start: &str| -> f64 {
            let line = text.lines().find(|line| line.starts_with(start)).expect(start);
            line.rsplit(' ').next().expect("a value").parse().expect("a number")
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
                .map(|line| line.rsplit(' ').next().expect("a value").parse().expect("a count"))
                .collect();
            assert!(counts.is_sorted() && counts.len() == 26, "{counts:?}");
        }
        let types = text.lines().filter(|line| line.starts_with("# TYPE")).count();
        assert_eq!(types, 6);
    }
}
