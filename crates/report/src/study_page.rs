//! Writes a study as one page: overlaid distributions of all cells, the effect of each axis, and the numbers to download.
//! One picture only contains data that was measured in the same way.

pub(crate) mod cells;

use crate::page;
use crate::page::escape::{html, unit};
use crate::page::picture::{SCRIPT, STYLE};
use crate::recording::sets::runs;
use crate::study::{Row, head, headline, lines, remarks, withheld};
use crate::study_samples::StudyCell;
use compare::{Compared, Verdict};
use formats::Kind;
use std::fmt::Write as _;

/// The warning above results of emulated processors.
pub(crate) const STAMP: &str = "Emulated processor. These times are those of the emulator and say nothing about any machine; no \
                                verdict is made of them.";

/// Content of the page.
#[derive(Clone, Copy, Debug)]
pub struct StudyPage<'a> {
    /// Name of the study.
    pub name: &'a str,
    /// Number of existing runs.
    pub done: usize,
    /// Number of all runs.
    pub runs: usize,
    /// The cells with their runs, in the order of the study, including those without a run.
    pub cells: &'a [StudyCell<'a>],
    /// All pairs of cells that differ in one axis.
    pub rows: &'a [Row<'a>],
    /// All numbers, to be saved with one click, and their format.
    pub json: Option<&'a [u8]>,
    /// The name of that file.
    pub json_name: &'a str,
}

/// The page. All text of the machine and of the study is escaped.
#[must_use]
pub fn study_html(study: &StudyPage) -> String {
    let mut page = String::with_capacity(1 << 16);
    page::head(&mut page, &format!("quietcore study: {}", study.name), STYLE);
    let own = own(study);
    header(&mut page, study, own.is_some_and(|own| own.environment.emulated));
    for kind in [Kind::Latency, Kind::Noise] {
        cells::section(&mut page, kind, "cell", study.cells);
    }
    differences(&mut page, study.rows);
    if let Some(own) = own {
        let first = [("began", own.started_at.clone())];
        page.push_str(&page::environment(&own.environment, &first, &[]).into_string());
        page.push_str(
            &page::footer(&own.environment.tool_version, study.json_name, study.json).into_string(),
        );
    }
    page::end(&mut page, SCRIPT);
    page
}

/// The first run that quietcore itself made: its machine and conditions.
pub(crate) fn own<'a>(study: &StudyPage<'a>) -> Option<&'a measure::Measurement> {
    let mut runs = study.cells.iter().flat_map(|cell| &cell.runs);
    runs.find_map(|recording| recording.own.as_deref())
}

fn header(page: &mut String, study: &StudyPage, is_emulated: bool) {
    if is_emulated {
        stamp(page);
    }
    let _ = write!(
        page,
        "<header>\n<div class=\"brand\"><b>quietcore study</b><span>{}</span></div>\n<h1>{}</h1>\n<p class=\"lead\">{} of {} in {} cells are done.</p>\n",
        html(study.name),
        unit(&headline(study.rows)),
        study.done,
        runs(study.runs),
        study.cells.len()
    );
    page.push_str("</header>\n");
}

/// Warns that the measuring machine was emulated.
pub(crate) fn stamp(page: &mut String) {
    let _ = writeln!(page, "<p class=\"stamp\" role=\"note\">{STAMP}</p>");
}

fn differences(page: &mut String, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>What makes a difference</h2>\n");
    for row in rows {
        let _ = writeln!(page, "<h3>{}</h3>", html(&head(row)));
        pair(page, row.compared);
    }
    for line in remarks(rows) {
        let _ = writeln!(page, "<p class=\"note\">{}</p>", html(&line));
    }
    page.push_str("</section>\n");
}

/// All numbers of two sets of runs in a table, with the result of the repetitions.
pub(crate) fn pair(page: &mut String, compared: &Compared) {
    if let Some(why) = withheld(compared) {
        let _ = writeln!(page, "<p class=\"care\">{why}</p>");
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th></th><th>where</th><th>what</th><th class=\"n\">was</th><th class=\"n\">is</th>\
         <th class=\"n\">difference</th></tr></thead>\n<tbody>",
    );
    for line in lines(compared) {
        let class = match line.verdict {
            Verdict::Lower => "good",
            Verdict::Higher => "bad",
            Verdict::NotShown => "small",
        };
        let _ = writeln!(
            page,
            "<tr><td class=\"{class}\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            line.word,
            html(&line.of),
            html(&line.what),
            unit(&line.was),
            unit(&line.is),
            unit(&line.size)
        );
    }
    page.push_str("</tbody></table></div>\n");
}
