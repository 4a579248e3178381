//! Writes the cells of a study, or sets of runs: all samples of all runs of each in one drawing, and their numbers.

use crate::page::curves::Curve;
use crate::page::picture::{CURVES, Picture, picture};
use crate::page::text::unit;
use crate::recording::share_name;
use crate::study_samples::{CellSamples, SHARES, StudyCell, measured};
use crate::style::{grouped, safe};
use crate::units::time;
use formats::SeriesKind;
use maud::{Markup, html};

/// The measurements of that kind in each cell, if there are any; `word` is the page's word for a cell.
pub(crate) fn section(kind: SeriesKind, word: &str, cells: &[StudyCell]) -> Markup {
    let samples = measured(kind, cells);
    if samples.is_empty() {
        return Markup::default();
    }
    let (heading, axis, id) = match kind {
        SeriesKind::Latency => ("Wake-up latency", "how late the thread woke up", "latency"),
        SeriesKind::Noise => ("Noise", "how long the program was stopped", "noise"),
    };
    let drawing = picture(&Picture {
        id,
        title: &format!("{heading}: the share of all samples of a {word}, by length"),
        axis,
        legend: &format!("Each {word}"),
        curves: &drawn(&samples),
        common_ns: samples.iter().filter_map(|one| one.at_most(0.99)).max(),
    });
    html! {
        section { "\n"
            h2 { (heading) } "\n"
            (drawing)
            @if samples.len() > CURVES {
                p.note { "The drawing shows the first " (CURVES) " " (word) "s of " (samples.len()) "." } "\n"
            }
            (table(word, &samples))
        } "\n"
    }
}

/// One curve per cell; if there are more than can be distinguished, only the table has all.
fn drawn(samples: &[CellSamples]) -> Vec<Curve> {
    let curve = |(number, one): (usize, &CellSamples)| Curve {
        number,
        name: one.cell.to_owned(),
        note: String::new(),
        histogram: one
            .all
            .buckets
            .iter()
            .map(|bucket| (bucket.low_ns, bucket.count))
            .collect(),
        worst_ns: None,
    };
    samples.iter().take(CURVES).enumerate().map(curve).collect()
}

/// The table of the cells: typical values, rare values, and the worst of the runs.
fn table(word: &str, samples: &[CellSamples]) -> Markup {
    let number = |text: Option<String>| html! { td.n { (unit(text.as_deref().unwrap_or("-"))) } };
    html! {
        div.scroll { table {
            thead { tr {
                th { (word) } th.n { "runs" } th.n { "samples" } th.n { "min" }
                @for share in SHARES { th.n { (share_name(share)) } }
                th.n { "max of each run" }
            } } "\n"
            tbody {
                @for one in samples {
                    tr {
                        th scope="row" { (safe(one.cell)) } td.n { (one.runs) } (number(one.all.samples().map(grouped)))
                        (number(one.least()))
                        @for share in SHARES { (number(one.at_most(share).map(time))) }
                        (number(one.worst()))
                    } "\n"
                }
            }
        } } "\n"
    }
}
