//! A study as one page: every cell's distribution over the others, what each axis does to it, and the numbers to take away.
//! Nothing is drawn into one picture that was not measured in the same way.

mod cells;

use crate::page::escape::{html, unit};
use crate::page::parts;
use crate::recording::sets::{name, runs, shown};
use crate::study::{Row, head, remarks};
use compare::{Compared, Verdict, Withheld};
use formats::{Kind, Recording};
use std::fmt::Write as _;

const STYLE: &str = include_str!("study_page/study_page.css");

/// What is on the page.
#[derive(Clone, Copy, Debug)]
pub struct StudyPage<'a> {
    /// What the study is called.
    pub name: &'a str,
    /// Runs that are there.
    pub done: usize,
    /// Runs that it has.
    pub runs: usize,
    /// The cells with their runs, in the order of the study; those without a run as well.
    pub cells: &'a [(&'a str, &'a [Recording])],
    /// Every two cells that differ in one axis.
    pub rows: &'a [Row<'a>],
    /// All numbers, to be saved with one click, and as what.
    pub json: Option<&'a [u8]>,
    /// The name of that file.
    pub json_name: &'a str,
}

/// The page. All text of the machine and of the study is escaped.
#[must_use]
pub fn study_html(study: &StudyPage) -> String {
    let mut page = String::with_capacity(1 << 16);
    parts::styled_head(&mut page, &format!("quietcore study: {}", study.name), STYLE);
    let own = study
        .cells
        .iter()
        .flat_map(|cell| cell.1)
        .filter_map(|recording| recording.own.as_deref())
        .next();
    header(&mut page, study, own.is_some_and(|own| own.environment.emulated));
    for kind in [Kind::Latency, Kind::Noise] {
        cells::section(&mut page, kind, study.cells);
    }
    differences(&mut page, study.rows);
    if let Some(own) = own {
        let first = [("began", own.started_at.clone())];
        parts::environment(&mut page, &own.environment, &first, &[]);
        parts::footer(
            &mut page,
            &own.environment.tool_version,
            study.json_name,
            study.json,
        );
    }
    parts::end(&mut page);
    page
}

fn header(page: &mut String, study: &StudyPage, is_emulated: bool) {
    if is_emulated {
        page.push_str(
            "<p class=\"stamp\" role=\"note\">Emulated processor. These times are those of the emulator and say nothing about \
             any machine; no verdict is made of them.</p>\n",
        );
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

/// How many of the pairs show something.
fn headline(rows: &[Row]) -> String {
    let judged = rows.iter().filter(|row| row.compared.withheld.is_none()).count();
    let differs = |row: &&Row| {
        row.compared
            .answers
            .iter()
            .any(|(_, answer)| answer.verdict != Verdict::NotShown)
    };
    let shown = rows.iter().filter(differs).count();
    match (rows.len(), judged) {
        (0, _) => "No two cells can be compared yet".to_owned(),
        (_, 0) => "No verdict yet".to_owned(),
        (all, _) => format!("A difference is shown in {shown} of {all} pairs of cells"),
    }
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

fn pair(page: &mut String, compared: &Compared) {
    if compared.withheld.is_some() {
        let why = match compared.withheld {
            Some(Withheld::Emulated(_)) => "No verdict: emulated.",
            _ => "No verdict.",
        };
        let _ = writeln!(page, "<p class=\"care\">{why}</p>");
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th></th><th>where</th><th>what</th><th class=\"n\">was</th><th class=\"n\">is</th>\
         <th class=\"n\">difference</th></tr></thead>\n<tbody>",
    );
    for (asked, answer) in &compared.answers {
        let (class, word) = match answer.verdict {
            Verdict::Lower => ("good", "better"),
            Verdict::Higher => ("bad", "worse"),
            Verdict::NotShown => ("small", "not shown"),
        };
        let [low, high] = answer.interval.map(f64::abs);
        let size = match answer.verdict {
            Verdict::NotShown => format!("one of {} would be", shown(asked.number, answer.detectable)),
            _ => format!(
                "{} to {}",
                shown(asked.number, low.min(high)),
                shown(asked.number, low.max(high))
            ),
        };
        let _ = writeln!(
            page,
            "<tr><td class=\"{class}\">{word}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            html(&asked.thread),
            html(&name(asked.number)),
            unit(&shown(asked.number, answer.first_mean)),
            unit(&shown(asked.number, answer.other_mean)),
            unit(&size)
        );
    }
    page.push_str("</tbody></table></div>\n");
}
