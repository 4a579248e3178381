//! Writes CSV files. Unknown values have no line, and fields that do not apply are empty.

use super::HEAD;
use crate::model::{Recording, Rounding, Series, SeriesKind, StatedStatistics, WakeUpPart};
use measure::{GapLabel, NoteLevel};
use std::fmt::Write as _;

/// Writes all data of a recording.
pub fn write(recording: &Recording) -> String {
    let mut text = format!("{HEAD}\n");
    let mut about = |what: &str, of: &str, value: &str| {
        let _ = writeln!(text, ",,,,{of},{what},,,,,{}", quoted(value));
    };
    about("tool", "", &recording.tool);
    about("unit_ns", "", &recording.unit_ns.to_string());
    if let Some(version) = &recording.version {
        about("version", "", version);
    }
    if let Some(started_at) = &recording.started_at {
        about("started_at", "", started_at);
    }
    for (name, value) in &recording.facts {
        about("fact", "", &format!("{name}={value}"));
    }
    for note in &recording.notes {
        let level = match note.level {
            NoteLevel::Error => "error",
            NoteLevel::Warning => "warning",
            NoteLevel::Info => "info",
        };
        about(
            "note",
            level,
            &format!("{}={}: {}", note.id, note.subject, note.message),
        );
    }
    for series in recording.series.iter().flat_map(Series::with_those_beside) {
        lines(&mut text, series);
    }
    text
}

fn lines(text: &mut String, series: &Series) {
    let start = series_fields(series);
    histogram_lines(text, &start, series);
    stated_lines(text, &start, &series.stated);
    moment_lines(text, &start, series);
    for (name, value) in &series.facts {
        let _ = writeln!(text, "{start},fact,,,,,{}", quoted(&format!("{name}={value}")));
    }
}

/// The fields that name a series, with which each of its lines starts.
fn series_fields(series: &Series) -> String {
    let kind = match series.kind {
        SeriesKind::Latency => "latency",
        SeriesKind::Noise => "noise",
    };
    let part = match series.part {
        None => "",
        Some(WakeUpPart::Irq) => "irq",
        Some(WakeUpPart::Thread) => "thread",
        Some(WakeUpPart::User) => "user",
    };
    let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    format!(
        "{kind},{},{},{part},{}",
        number(series.cpu),
        number(series.thread),
        series.basis.name()
    )
}

fn histogram_lines(text: &mut String, start: &str, series: &Series) {
    for bucket in &series.buckets {
        let (low, width) = (bucket.low_ns, bucket.width_ns);
        let _ = writeln!(text, "{start},bucket,,{low},{width},{},", bucket.count);
    }
    // The end of the histogram is known even if the file does not state the overflows.
    if series.overflow.is_some() || series.overflow_from_ns > 0 {
        let count = series.overflow.map_or_else(String::new, |count| count.to_string());
        let _ = writeln!(text, "{start},above,,{},,{count},", series.overflow_from_ns);
    }
    if let Some(missed) = series.missed {
        let _ = writeln!(text, "{start},missed,,,,{missed},");
    }
    if series.rounding == Rounding::Up {
        let _ = writeln!(text, "{start},rounded_up,,,,,");
    }
}

/// The statistics that the file itself states.
fn stated_lines(text: &mut String, start: &str, stated: &StatedStatistics) {
    if let Some(count) = stated.count {
        let _ = writeln!(text, "{start},stated,,,,{count},");
    }
    for (what, ns) in [
        ("smallest", stated.min_ns),
        ("median", stated.median_ns),
        ("mode", stated.mode_ns),
        ("largest", stated.max_ns),
        ("duration", stated.duration_ns),
    ] {
        if let Some(ns) = ns {
            let _ = writeln!(text, "{start},{what},,{ns},,,");
        }
    }
    for (what, ns) in [("mean", stated.mean_ns), ("deviation", stated.stddev_ns)] {
        if let Some(ns) = ns {
            let _ = writeln!(text, "{start},{what},,,,,{ns}");
        }
    }
    for (share, ns) in &stated.quantiles {
        let _ = writeln!(text, "{start},quantile,,{ns},,,{share}");
    }
}

/// Single samples and stretches of time.
fn moment_lines(text: &mut String, start: &str, series: &Series) {
    for spike in &series.spikes {
        let label = match spike.label {
            None => "",
            Some(GapLabel::RtThrottling) => "rt_throttling",
            Some(GapLabel::OwnWakeUp) => "own_wake_up",
            Some(GapLabel::FairServer) => "fair_server",
        };
        let _ = writeln!(text, "{start},spike,{},{},,1,{label}", spike.at_ns, spike.duration_ns);
    }
    for stretch in &series.stretches {
        let (at, length) = (stretch.at_ns, stretch.length_ns);
        let _ = writeln!(text, "{start},stretch,{at},{},{length},,", stretch.value_ns);
    }
}

/// Text in one field of one line: quoted, with quotes doubled, and without line ends.
fn quoted(value: &str) -> String {
    let value: String = value
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    match value.contains([',', '"']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value,
    }
}
