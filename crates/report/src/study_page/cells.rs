//! The cells of a study, or sets of runs: all samples of all runs of each in one drawing, and their numbers.

use crate::measurement::time;
use crate::page::curves::{Curve, Scale, curves, round};
use crate::page::escape::{html, unit};
use crate::recording::share_name;
use crate::study_samples::{SHARES, Samples, StudyCell, measured};
use crate::style::grouped;
use formats::Kind;
use std::fmt::Write as _;

/// Curves in a drawing, each with a colour and dashes of its own; the table has all cells.
const CURVES: usize = 12;

/// Writes what was measured of that kind in each cell into the page, if anything was; `word` is what a cell is called there.
pub(crate) fn section(page: &mut String, kind: Kind, word: &str, cells: &[StudyCell]) {
    let samples = measured(kind, cells);
    if !samples.is_empty() {
        distribution(page, kind, word, &samples);
    }
}

fn distribution(page: &mut String, kind: Kind, word: &str, samples: &[Samples]) {
    let (heading, axis, id) = match kind {
        Kind::Latency => ("Wake-up latency", "how late the thread woke up", "latency"),
        Kind::Noise => ("Noise", "how long the program was stopped", "noise"),
    };
    let _ = writeln!(page, "<section class=\"picture\">\n<h2>{heading}</h2>");
    let histograms: Vec<Vec<(u64, u64)>> = samples
        .iter()
        .take(CURVES)
        .map(|one| {
            let buckets = one.all.buckets.iter();
            buckets.map(|bucket| (bucket.low_ns, bucket.count)).collect()
        })
        .collect();
    let all: Vec<Curve> = samples
        .iter()
        .zip(&histograms)
        .enumerate()
        .map(|(number, (one, histogram))| Curve {
            number,
            name: one.cell,
            histogram,
        })
        .collect();
    let common = samples.iter().filter_map(|one| one.at_most(0.99)).max();
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )] // Of a scale.
    let linear = common.map(|top_ns| Scale::Linear(round(top_ns as f64) as u64));
    if linear.is_some() {
        let _ = writeln!(
            page,
            "<fieldset><legend>Scales</legend>\
             <label><input type=\"radio\" name=\"{id}\" class=\"log\" checked> logarithmic</label>\
             <label><input type=\"radio\" name=\"{id}\" class=\"lin\"> linear</label></fieldset>"
        );
    }
    let _ = write!(page, "<fieldset class=\"legend\"><legend>Each {word}</legend>");
    for curve in &all {
        let _ = write!(
            page,
            "<label class=\"k{0}\"><input type=\"checkbox\" class=\"show{0}\" checked> {1}</label>",
            curve.number,
            html(curve.name)
        );
    }
    page.push_str("</fieldset>\n");
    for (class, scale) in [("logs", Some(Scale::Logarithmic)), ("lins", linear)] {
        let Some(scale) = scale else { continue };
        let title = format!("{heading}: the share of all samples of a {word}, by length");
        if let Some(figure) = curves(&format!("{id}-{class}"), class, &title, axis, scale, &all) {
            page.push_str(&figure);
        }
    }
    if samples.len() > CURVES {
        let _ = writeln!(
            page,
            "<p class=\"note\">Drawn are the first {CURVES} {word}s of {}.</p>",
            samples.len()
        );
    }
    table(page, word, samples);
    page.push_str("</section>\n");
}

/// The table of the cells: what is typical, what is seldom, and the worst of the runs.
fn table(page: &mut String, word: &str, samples: &[Samples]) {
    let _ = write!(
        page,
        "<div class=\"scroll\"><table><thead><tr><th>{word}</th><th class=\"n\">runs</th><th class=\"n\">samples</th>\
         <th class=\"n\">min</th>",
    );
    for share in SHARES {
        let _ = write!(page, "<th class=\"n\">{}</th>", share_name(share));
    }
    page.push_str("<th class=\"n\">max of each run</th></tr></thead>\n<tbody>");
    for one in samples {
        let cell =
            |text: Option<String>| format!("<td class=\"n\">{}</td>", unit(text.as_deref().unwrap_or("-")));
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td>{}",
            html(one.cell),
            one.runs,
            grouped(one.all.samples()),
            cell(one.least())
        );
        for share in SHARES {
            page.push_str(&cell(one.at_most(share).map(time)));
        }
        let _ = writeln!(page, "{}</tr>", cell(one.worst()));
    }
    page.push_str("</tbody></table></div>\n");
}
