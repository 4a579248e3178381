//! Formats a file of any tool, as text and as JSON: one table of quantiles, other facts, and the samples that the file
//! lost.

pub(crate) mod comparison;
mod conclusion;
mod json;
pub(crate) mod sets;

#[cfg(feature = "schema")]
pub(crate) use comparison::Comparison;
pub use comparison::{ComparedFile, RequirementResult, comparison_json, comparison_text, comparison_verdict};
#[cfg(feature = "schema")]
pub(crate) use json::RecordingReport;
pub use json::{COMPARE_SCHEMA, REPORT_SCHEMA, recording_json};
pub use sets::sets_text;

use crate::bound::{at_least, at_most};
use crate::measurement::measured_text;
use crate::report_text::ReportText;
use crate::style::{COLUMNS, Style, TextRole, cut, grouped, safe, wrap};
use crate::units::{maybe_mean, time};
use formats::statistics::{SHARES, Statistics, ValueRange, best_quantile, statistics};
use formats::{Basis, Recording, Series, SeriesKind};
use machine::Nanos;

/// The screen of one file.
#[must_use]
pub fn recording_text(recording: &Recording, style: Style) -> String {
    let mut text = ReportText::new(style);
    text.painted(TextRole::Head, &title(recording));
    let (limits, context): (Vec<_>, Vec<_>) = recording.facts.iter().partition(|(name, value)| is_limit(name, value));
    let facts = |text: &mut ReportText, role, facts: &[&(String, String)]| {
        for (name, value) in facts {
            text.wrapped_as(role, 2, 4, &format!("{}: {}", safe(name), safe(value)));
        }
    };
    facts(&mut text, TextRole::Warning, &limits);
    writeln!(text);
    head(&mut text);
    let all = || recording.series.iter().flat_map(Series::with_those_beside);
    for series in all() {
        row(&mut text, recording, series);
    }
    for details in all().filter_map(|series| details(recording, series)) {
        writeln!(text, "{details}");
    }
    if let Some(own) = &recording.own {
        measured_text(&mut text, own);
    }
    writeln!(text);
    text.wrapped_as(TextRole::Quiet, 2, 2, &reading(recording));
    text.notes(&recording.notes);
    if !context.is_empty() {
        writeln!(text);
        text.painted(TextRole::Head, "Machine and run");
        facts(&mut text, TextRole::Quiet, &context);
    }
    text.into_string()
}

/// Whether a fact limits what the numbers prove, so that it stands above them.
fn is_limit(name: &str, value: &str) -> bool {
    name.starts_with("not_representative") || matches!((name, value), ("complete", "false") | ("emulated", "true"))
}

/// `cyclictest 2.40: latency of wake-ups, in whole microseconds`
pub(crate) fn title(recording: &Recording) -> String {
    let version = recording
        .version
        .as_deref()
        .map_or_else(String::new, |version| format!(" {}", safe(version)));
    let kind = match recording.kind() {
        SeriesKind::Latency => "latency of wake-ups",
        SeriesKind::Noise => "gaps in a busy loop",
    };
    let unit = match recording.unit_ns {
        1 => "in nanoseconds".to_owned(),
        1_000 => "in whole microseconds".to_owned(),
        unit => format!("in units of {}", time(unit)),
    };
    format!("{}{version}: {kind}, {unit}", safe(&recording.tool))
}

/// What the rows of a table stand for that are not the samples themselves.
pub(crate) fn rows_legend(recordings: &[&Recording]) -> String {
    let series = recordings.iter().flat_map(|recording| &recording.series);
    let has = |basis| series.clone().any(|series| series.by(basis).is_some());
    let mut rows = String::new();
    for (basis, what) in [
        (
            Basis::Schedule,
            "`due` covers every expected wake-up; missed ones count with their estimated latency. ",
        ),
        (
            Basis::Period,
            "`period` is the deviation of the time between two wake-ups from the expected one. ",
        ),
        (Basis::Early, "`early` is how much too early wake-ups were. "),
    ] {
        if has(basis) {
            rows.push_str(what);
        }
    }
    rows
}

/// How to read the numbers of the table.
fn reading(recording: &Recording) -> String {
    let widest = recording
        .series
        .iter()
        .flat_map(|series| &series.buckets)
        .map(|bucket| bucket.width_ns)
        .max();
    let rows = rows_legend(&[recording]);
    let lower = match widest {
        None | Some(1) => String::new(),
        Some(_) if recording.unit_ns == 1 && recording.own.is_some() => "Values are exact to three digits. ".to_owned(),
        Some(width) => format!(
            "A value is the lower end of its bucket: the sample itself is higher, by less than {}. ",
            at_most(width)
        ),
    };
    let states = |series: &Series| !series.buckets.is_empty() && !series.stated.quantiles.is_empty();
    let stated = match recording.own.is_none() && recording.series.iter().any(states) {
        true => "Percentiles that the file contains are shown unchanged. ",
        false => "",
    };
    format!(
        "{rows}{lower}{stated}`-` means that this file cannot show it; `>` that the sample was higher, in a wide \
         bucket or above the histogram."
    )
}

pub(crate) fn head(text: &mut ReportText) {
    let names = SHARES
        .iter()
        .filter(|share| **share != 0.9)
        .map(|share| share_name(*share));
    let names: String = names.map(|name| format!(" {name:>8}")).collect();
    let head = format!("{:<14} {:>11}{names} {:>8}", "", "samples", "max");
    text.painted(TextRole::Quiet, &head);
}

/// `p99.9`
pub(crate) fn share_name(share: f64) -> String {
    let percent = format!("{:.6}", share * 100.0);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

pub(crate) fn row(text: &mut ReportText, recording: &Recording, series: &Series) {
    write!(
        text,
        "{:<14} {:>11}",
        cut(&recording.name_of(series), 14),
        series.samples().map_or_else(|| "-".to_owned(), grouped)
    );
    for share in SHARES.iter().filter(|share| **share != 0.9) {
        let value = match best_quantile(series, *share) {
            Some(span) => span_text(span),
            // The tool's own value is the fallback.
            None => stated(series, *share).map_or_else(|| "-".to_owned(), short),
        };
        write!(text, " {value:>8}");
    }
    writeln!(text, " {:>8}", largest(series).map_or_else(|| "-".to_owned(), short));
}

fn stated(series: &Series, share: f64) -> Option<u64> {
    let known = series
        .stated
        .quantiles
        .iter()
        .find(|(known, _)| (known - share).abs() < 1e-9);
    let median = series.stated.median_ns.filter(|_| (share - 0.5).abs() < 1e-9);
    known.map(|(_, value)| *value).or(median)
}

/// The largest sample, as stated in the file or as bounded by its last bucket.
pub(crate) fn largest(series: &Series) -> Option<u64> {
    let last = series.buckets.last().filter(|_| series.overflow == Some(0));
    series.stated.max_ns.or(last.map(|bucket| bucket.low_ns))
}

/// A value, with `>` if it was above the histogram, and `<` if it was in a first bucket that starts at zero.
pub(crate) fn span_text(span: ValueRange) -> String {
    if let (0, Some(high)) = (span.low_ns, span.high_ns.filter(|high| *high > 0)) {
        return format!("<{}", at_most(high.saturating_add(1)));
    }
    let known = span
        .high_ns
        .is_some_and(|high| high - span.low_ns <= (span.low_ns / 2).max(20_000));
    match known {
        true => short(span.low_ns),
        false => format!(">{}", at_least(span.low_ns)),
    }
}

/// The most frequent value, as words: one bucket, which may be wide.
fn mode_text(span: ValueRange) -> String {
    match (span.low_ns, span.high_ns) {
        (low, None) => format!("above {}", at_least(low)),
        (0, Some(high)) if high > 0 => format!("below {}", at_most(high.saturating_add(1))),
        (low, Some(high)) if high - low <= (low / 2).max(20_000) => short(low),
        (low, Some(high)) => format!("from {} to {}", at_least(low), at_most(high.saturating_add(1))),
    }
}

/// A time in a few columns: `21 us`, `1.2 ms`.
pub(crate) fn short(ns: u64) -> String {
    match time(ns) {
        long if long.len() > 8 => Nanos(ns).to_string(),
        text => text,
    }
}

/// Other facts about a series; `None` if there are none.
fn details(recording: &Recording, series: &Series) -> Option<String> {
    let found: Statistics = statistics(series);
    let mut parts = Vec::new();
    if let Some(min) = series
        .stated
        .min_ns
        .or(series.buckets.first().map(|bucket| bucket.low_ns))
    {
        parts.push(format!("smallest {}", short(min)));
    }
    match (series.stated.mean_ns, found.mean_ns) {
        (Some(mean), _) => parts.push(format!("mean {}", maybe_mean(Some(mean)))),
        (None, Some(mean)) => parts.push(format!("mean of the buckets {}", maybe_mean(Some(mean)))),
        (None, None) => {}
    }
    if let Some(stddev) = found.stddev_ns.or(series.stated.stddev_ns) {
        parts.push(format!("deviation {}", maybe_mean(Some(stddev))));
    }
    if let Some(mode) = found.mode.map(mode_text).or(series.stated.mode_ns.map(short)) {
        parts.push(format!("most often {mode}"));
    }
    parts.push(match (series.kind, series.missed) {
        (_, Some(missed)) if series.basis == Basis::Schedule && missed > 0 => {
            format!("the latency of {} is unknown", grouped(missed))
        }
        _ if series.basis != Basis::Samples => String::new(),
        (SeriesKind::Latency, Some(missed)) => format!("{} missed", grouped(missed)),
        (SeriesKind::Latency, None) => "missed ones not counted".to_owned(),
        (SeriesKind::Noise, Some(missed)) if missed > 0 => format!("{} not recorded", grouped(missed)),
        (SeriesKind::Noise, _) => String::new(),
    });
    parts.push(match series.overflow {
        Some(0) => String::new(),
        Some(count) => format!("{} above the histogram", grouped(count)),
        None if series.buckets.is_empty() => "no histogram".to_owned(),
        None => "the number above the histogram is unknown".to_owned(),
    });
    if !series.spikes.is_empty() {
        parts.push(format!(
            "{} recorded with their times",
            grouped(series.spikes.len() as u64)
        ));
    }
    // The additional facts of our own results have separate screens.
    if recording.tool != "quietcore" {
        let facts = series.facts.iter();
        parts.extend(facts.map(|(name, value)| format!("{} {}", safe(&name.replace('_', " ")), safe(value))));
    }
    parts.retain(|part| !part.is_empty());
    (!parts.is_empty()).then(|| {
        format!(
            "{:<14} {}",
            cut(&recording.name_of(series), 14),
            wrap(&parts.join("; "), 15, COLUMNS)
        )
    })
}
