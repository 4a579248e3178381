//! Writes the cells of a study, or sets of runs: all samples of all runs of each in one drawing, and their numbers.

use crate::page::curves::Curve;
use crate::page::escape::{html, unit};
use crate::page::picture::{CURVES, Picture, picture};
use crate::recording::share_name;
use crate::study_samples::{SHARES, Samples, StudyCell, measured};
use crate::style::grouped;
use crate::units::time;
use formats::Kind;
use std::fmt::Write as _;

/// Writes the measurements of that kind in each cell into the page, if there are any; `word` is the page's word for a cell.
pub(crate) fn section(page: &mut String, kind: Kind, word: &str, cells: &[StudyCell]) {
    let samples = measured(kind, cells);
    if samples.is_empty() {
        return;
    }
    let (heading, axis, id) = match kind {
        Kind::Latency => ("Wake-up latency", "how late the thread woke up", "latency"),
        Kind::Noise => ("Noise", "how long the program was stopped", "noise"),
    };
    let _ = writeln!(page, "<section>\n<h2>{heading}</h2>");
    page.push_str(
        &picture(&Picture {
            id,
            title: &format!("{heading}: the share of all samples of a {word}, by length"),
            axis,
            legend: &format!("Each {word}"),
            curves: &drawn(&samples),
            common_ns: samples.iter().filter_map(|one| one.at_most(0.99)).max(),
        })
        .into_string(),
    );
    if samples.len() > CURVES {
        let _ = writeln!(
            page,
            "<p class=\"note\">Drawn are the first {CURVES} {word}s of {}.</p>",
            samples.len()
        );
    }
    table(page, word, &samples);
    page.push_str("</section>\n");
}

/// One curve per cell; if there are more than can be distinguished, only the table has all.
fn drawn(samples: &[Samples]) -> Vec<Curve> {
    let curve = |(number, one): (usize, &Samples)| Curve {
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
            one.all.samples().map_or_else(|| "-".to_owned(), grouped),
            cell(one.least())
        );
        for share in SHARES {
            page.push_str(&cell(one.at_most(share).map(time)));
        }
        let _ = writeln!(page, "{}</tr>", cell(one.worst()));
    }
    page.push_str("</tbody></table></div>\n");
}
