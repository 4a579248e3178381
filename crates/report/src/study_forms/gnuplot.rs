//! Exports a study as a gnuplot script with its data inside: `gnuplot -p FILE` draws, for each kind of measurement, the frequency
//! of samples by length, and the share of longer samples, with one curve per cell.
//!
//! Histogram buckets are too fine to draw a few thousand samples, so the first panel uses bins.

use crate::bins::logarithmic;
use crate::study_page::{STAMP, StudyPage, own};
use crate::study_samples::{CellSamples, measured};
use crate::style::safe;
use formats::{Series, SeriesKind};
use std::fmt::Write as _;

/// Number of bins per power of ten, as on the page.
const PER_DECADE: u32 = 20;

/// Writes the script: the data of each cell as a block of us, samples, and the share of longer samples, and as a block of bins;
/// then two panels per kind.
pub(super) fn write(study: &StudyPage) -> String {
    let mut text = format!("# quietcore study: {}\n", safe(study.name));
    if own(study).is_some_and(|own| own.environment.emulated) {
        let _ = writeln!(text, "# {STAMP}");
    }
    text.push_str("# gnuplot -p FILE; with linear scales: gnuplot -p -e 'linear = 1' FILE\n");
    text.push_str("if (!exists(\"linear\")) linear = 0\n");
    let kinds = [
        (SeriesKind::Latency, "latency", "Wake-up latency", "latency (us)"),
        (SeriesKind::Noise, "noise", "Noise", "gap (us)"),
    ];
    let mut panels = Vec::new();
    for (kind, word, title, axis) in kinds {
        let samples = measured(kind, study.cells);
        let (mut counts, mut longer) = (Vec::new(), Vec::new());
        for (place, one) in samples.iter().enumerate() {
            let name = format!("${word}{place}");
            samples_of(&mut text, &name, &one.all);
            bins_of(&mut text, &name, &one.all);
            let title = legend(one);
            counts.push(format!("{name}_bins using 1:2 with steps title {title}"));
            longer.push(format!("{name} using 1:3 with steps title {title}"));
        }
        if !samples.is_empty() {
            panels.push((
                format!("{title}: share of all, {PER_DECADE} bins for each power of ten"),
                axis,
                "share",
                counts,
            ));
            panels.push((format!("{title}: share of all that was longer"), axis, "share", longer));
        }
    }
    if panels.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "set grid\nset key noenhanced\nset multiplot layout {},2",
        panels.len() / 2
    );
    for (title, axis, what, curves) in panels {
        let _ = write!(
            text,
            "set title \"{title}\"\nset xlabel \"{axis}\"\nset ylabel \"{what}\"\n\
             if (linear) {{ unset logscale }} else {{ set logscale xy }}\nplot {}\n",
            curves.join(", \\\n     ")
        );
    }
    text.push_str("unset multiplot\n");
    text
}

/// Every bucket: its lower bound, number of samples, and the share of all samples that was longer.
fn samples_of(text: &mut String, name: &str, series: &Series) {
    let _ = writeln!(text, "{name} << EOD");
    let all = all(series);
    let mut longer = all;
    for bucket in &series.buckets {
        longer = longer.saturating_sub(bucket.count);
        // A logarithmic axis has no zero, so an empty share is not drawn.
        let share = match longer {
            0 => "NaN".to_owned(),
            longer => share(longer, all).to_string(),
        };
        let _ = writeln!(text, "{} {} {share}", us(bucket.low_ns), bucket.count);
    }
    text.push_str("EOD\n");
}

/// Bins of equal width on a logarithmic axis, with their share of all samples.
fn bins_of(text: &mut String, name: &str, series: &Series) {
    let _ = writeln!(text, "{name}_bins << EOD");
    let all = all(series);
    let buckets: Vec<(u64, u64)> = series
        .buckets
        .iter()
        .map(|bucket| (bucket.low_ns, bucket.count))
        .collect();
    let bins = logarithmic(&buckets, PER_DECADE);
    for bin in bins.iter().skip_while(|bin| bin.count == 0) {
        let _ = writeln!(text, "{} {}", us(bin.low_ns), share(bin.count, all));
    }
    text.push_str("EOD\n");
}

fn all(series: &Series) -> u64 {
    series.in_buckets().saturating_add(series.overflow.unwrap_or(0)).max(1)
}

#[allow(clippy::cast_precision_loss)] // A share for a drawing.
fn share(count: u64, all: u64) -> f64 {
    count as f64 / all as f64
}

/// A logarithmic axis has no zero: values below a nanosecond are drawn at one.
fn us(ns: u64) -> String {
    let ns = ns.max(1);
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

/// A text in single quotes, in which only single quotes are special.
fn legend(one: &CellSamples) -> String {
    let runs = crate::recording::sets::runs(one.runs);
    format!("'{}, {runs}'", safe(one.cell).replace('\'', "''"))
}
