//! Writes a study as one page: overlaid distributions of all cells, the effect of each axis, and the numbers to download.
//! One picture only contains data that was measured in the same way.

pub(crate) mod cells;

use crate::page;
use crate::page::picture::{SCRIPT, STYLE};
use crate::page::text::unit;
use crate::recording::sets::runs;
use crate::study::{PairRow, head, headline, lines, remarks, withheld};
use crate::study_samples::StudyCell;
use crate::style::safe;
use compare::{SetComparison, Verdict};
use formats::SeriesKind;
use maud::{Markup, html};

/// The warning above results of emulated processors.
pub(crate) const STAMP: &str = "Emulated processor. These times are those of the emulator and show nothing about a \
     real machine; there is no verdict.";

/// Content of the page.
#[derive(Clone, Copy, Debug)]
pub struct StudyPage<'a> {
    /// Name of the study.
    pub name: &'a str,
    /// Number of existing runs.
    pub runs_done: usize,
    /// Number of all runs.
    pub runs: usize,
    /// The cells with their runs, in the order of the study, including those without a run.
    pub cells: &'a [StudyCell<'a>],
    /// All pairs of cells that differ in one axis.
    pub rows: &'a [PairRow<'a>],
    /// All numbers, to be saved with one click, and their format.
    pub json: Option<&'a [u8]>,
    /// The name of that file.
    pub json_name: &'a str,
}

/// The page.
#[must_use]
pub fn study_html(study: &StudyPage) -> String {
    let own = own(study);
    let content = html! {
        @if own.is_some_and(|own| own.environment.emulated) { (stamp()) }
        (header(study))
        @for kind in [SeriesKind::Latency, SeriesKind::Noise] { (cells::section(kind, "cell", study.cells)) }
        (differences(study.rows))
        @if let Some(own) = own {
            (page::environment(&own.environment, &[("began", own.started_at.clone())], &[]))
            (page::footer(&own.environment.tool_version, study.json_name, study.json))
        }
    };
    page::page(&format!("quietcore study: {}", study.name), STYLE, SCRIPT, &content)
}

/// The first run that quietcore itself made: its machine and conditions.
pub(crate) fn own<'a>(study: &StudyPage<'a>) -> Option<&'a measure::Measurement> {
    let mut runs = study.cells.iter().flat_map(|cell| &cell.runs);
    runs.find_map(|recording| recording.own.as_deref())
}

fn header(study: &StudyPage) -> Markup {
    html! {
        header { "\n"
            div.brand { b { "quietcore study" } span { (safe(study.name)) } } "\n"
            h1 { (unit(&headline(study.rows))) } "\n"
            p.lead { (study.runs_done) " of " (runs(study.runs)) " in " (study.cells.len()) " cells are done." } "\n"
        } "\n"
    }
}

/// Warns that the measuring machine was emulated.
pub(crate) fn stamp() -> Markup {
    html! { p.stamp role="note" { (STAMP) } "\n" }
}

fn differences(rows: &[PairRow]) -> Markup {
    html! {
        @if !rows.is_empty() {
            section { "\n"
                h2 { "What makes a difference" } "\n"
                @for row in rows { h3 { (safe(&head(row))) } "\n" (pair(row.compared)) }
                @for line in remarks(rows) { p.note { (safe(&line)) } "\n" }
            } "\n"
        }
    }
}

/// All numbers of two sets of runs in a table, with the result of the repetitions.
pub(crate) fn pair(compared: &SetComparison) -> Markup {
    if let Some(why) = withheld(compared) {
        return html! { p.care { (why) } "\n" };
    }
    let class = |verdict| match verdict {
        Verdict::Lower => "good",
        Verdict::Higher => "bad",
        Verdict::NotShown => "small",
    };
    html! {
        div.scroll { table {
            thead { tr {
                th {} th { "where" } th { "what" } th.n { "was" } th.n { "is" } th.n { "difference" }
            } } "\n"
            tbody {
                @for line in lines(compared) {
                    tr {
                        td class=(class(line.verdict)) { (line.word) } td { (safe(&line.of)) } td { (safe(&line.what)) }
                        td.n { (unit(&line.was)) } td.n { (unit(&line.is)) } td.n { (unit(&line.size)) }
                    } "\n"
                }
            }
        } } "\n"
    }
}
