//! The cells of a study: all samples of all runs of each in one drawing, and their numbers.

use crate::measurement::time;
use crate::page::curves::{Curve, Scale, curves, round};
use crate::page::escape::{html, unit};
use crate::recording::share_name;
use crate::style::grouped;
use formats::statistics::{Span, quantile};
use formats::{Bucket, Kind, Recording, Series};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Curves in a drawing, each with a colour and dashes of its own; the table has all cells.
const CURVES: usize = 12;

/// Quantiles of the table.
const SHARES: [f64; 3] = [0.5, 0.99, 0.999];

/// All samples of one cell.
struct Samples<'a> {
    cell: &'a str,
    runs: usize,
    all: Series,
    /// The largest of each run.
    worst_ns: Vec<u64>,
}

/// Writes what was measured of that kind in each cell into the page, if anything was.
pub(super) fn section(page: &mut String, kind: Kind, cells: &[(&str, &[Recording])]) {
    let samples: Vec<Samples> = cells
        .iter()
        .filter_map(|(cell, runs)| together(cell, runs, kind))
        .collect();
    if !samples.is_empty() {
        distribution(page, kind, &samples);
    }
}

/// The samples of all runs of a cell, of one kind; `None` where there are none.
fn together<'a>(cell: &'a str, runs: &[Recording], kind: Kind) -> Option<Samples<'a>> {
    let of_kind = || {
        runs.iter()
            .flat_map(|run| &run.series)
            .filter(|series| series.kind == kind)
    };
    let mut all = of_kind().next()?.clone();
    let mut buckets: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for bucket in of_kind().flat_map(|series| &series.buckets) {
        let count = buckets.entry((bucket.low_ns, bucket.width_ns)).or_default();
        *count = count.saturating_add(bucket.count);
    }
    all.buckets = buckets
        .into_iter()
        .map(|((low_ns, width_ns), count)| Bucket {
            low_ns,
            width_ns,
            count,
        })
        .collect();
    let worst = |run: &Recording| {
        let of_run = run.series.iter().filter(|series| series.kind == kind);
        of_run.filter_map(|series| series.stated.max_ns).max()
    };
    Some(Samples {
        cell,
        runs: runs.len(),
        all,
        worst_ns: runs.iter().filter_map(worst).collect(),
    })
}

fn distribution(page: &mut String, kind: Kind, samples: &[Samples]) {
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
    let common = samples
        .iter()
        .filter_map(|one| quantile(&one.all, 0.99).map(above))
        .max();
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
    page.push_str("<fieldset class=\"legend\"><legend>Cells</legend>");
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
        let title = format!("{heading}: the share of all samples of a cell, by length");
        if let Some(svg) = curves(&format!("{id}-{class}"), &title, axis, scale, &all) {
            let _ = write!(page, "<figure class=\"{class}\">\n{svg}</figure>\n");
        }
    }
    if samples.len() > CURVES {
        let _ = writeln!(
            page,
            "<p class=\"note\">Drawn are the first {CURVES} cells of {}.</p>",
            samples.len()
        );
    }
    table(page, samples);
    page.push_str("</section>\n");
}

/// The table of the cells: what is typical, what is seldom, and the worst of the runs.
fn table(page: &mut String, samples: &[Samples]) {
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>cell</th><th class=\"n\">runs</th><th class=\"n\">samples</th>\
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
            cell(one.all.buckets.first().map(|bucket| time(bucket.low_ns)))
        );
        for share in SHARES {
            page.push_str(&cell(quantile(&one.all, share).map(|span| time(above(span)))));
        }
        let range = match (one.worst_ns.iter().min(), one.worst_ns.iter().max()) {
            (Some(low), Some(high)) if low != high => Some(format!("{} to {}", time(*low), time(*high))),
            (_, high) => high.map(|high| time(*high)),
        };
        let _ = writeln!(page, "{}</tr>", cell(range));
    }
    page.push_str("</tbody></table></div>\n");
}

/// What no sample of the share is above, as far as the file tells.
fn above(span: Span) -> u64 {
    span.high_ns.unwrap_or(span.low_ns)
}
