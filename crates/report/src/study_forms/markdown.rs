//! Exports a study as Markdown with tables (GitHub's, and most wikis'): the content of its page, without the drawings.

use crate::page::facts;
use crate::recording::sets::runs;
use crate::recording::share_name;
use crate::study::{head, headline, lines, remarks, withheld};
use crate::study_page::{STAMP, StudyPage, own};
use crate::study_samples::{CellSamples, SHARES, measured};
use crate::style::{grouped, safe};
use crate::units::time;
use formats::SeriesKind;
use std::fmt::Write as _;

/// Writes the document. No name of the study or of the machine becomes markup.
pub(super) fn write(study: &StudyPage) -> String {
    let mut text = format!("# Study {}\n\n", plain(study.name));
    let own = own(study);
    if own.is_some_and(|own| own.environment.emulated) {
        let _ = writeln!(text, "**{STAMP}**\n");
    }
    let _ = writeln!(
        text,
        "{}. {} of {} in {} cells are done.",
        plain(&headline(study.rows)),
        study.runs_done,
        runs(study.runs),
        study.cells.len()
    );
    for (kind, title) in [(SeriesKind::Latency, "Wake-up latency"), (SeriesKind::Noise, "Noise")] {
        let samples = measured(kind, study.cells);
        if !samples.is_empty() {
            let _ = writeln!(text, "\n## {title}\n");
            cells(&mut text, &samples);
        }
    }
    if !study.rows.is_empty() {
        text.push_str("\n## What makes a difference\n");
    }
    for row in study.rows {
        let _ = writeln!(text, "\n### {}\n", plain(&head(row)));
        if let Some(why) = withheld(row.compared) {
            let _ = writeln!(text, "{why}");
            continue;
        }
        table(&mut text, &["", "where", "what", "was", "is", "difference"], 3);
        for line in lines(row.compared) {
            let cells = [line.word, &line.of, &line.what, &line.was, &line.is, &line.size];
            table_row(&mut text, &cells.map(str::to_owned));
        }
    }
    for line in remarks(study.rows) {
        let _ = writeln!(text, "\n{}", plain(&line));
    }
    if let Some(own) = own {
        text.push_str("\n## Where this was measured\n\n");
        table(&mut text, &["", ""], 2);
        let start_field = [("began", own.started_at.clone())];
        let version = [("quietcore", own.environment.tool_version.clone())];
        for (name, value) in start_field.into_iter().chain(facts(&own.environment)).chain(version) {
            let value = if value.is_empty() { "none".to_owned() } else { value };
            table_row(&mut text, &[name.to_owned(), value]);
        }
    }
    text
}

fn cells(text: &mut String, samples: &[CellSamples]) {
    let shares = SHARES.map(share_name);
    let names = ["cell", "runs", "samples", "min"].into_iter();
    let names: Vec<&str> = names
        .chain(shares.iter().map(String::as_str))
        .chain(["max of each run"])
        .collect();
    table(text, &names, 1);
    for one in samples {
        let or_not = |known: Option<String>| known.unwrap_or_else(|| "-".to_owned());
        let mut row = vec![
            one.cell.to_owned(),
            one.runs.to_string(),
            or_not(one.all.samples().map(grouped)),
            or_not(one.least()),
        ];
        row.extend(SHARES.map(|share| or_not(one.at_most(share).map(time))));
        row.push(or_not(one.worst()));
        table_row(text, &row);
    }
}

/// The head of a table, whose columns after the first `words` contain numbers.
fn table(text: &mut String, names: &[&str], words: usize) {
    table_row(text, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let line = |place: usize| if place < words { "---" } else { "---:" };
    let lines: Vec<&str> = (0..names.len()).map(line).collect();
    let _ = writeln!(text, "| {} |", lines.join(" | "));
}

fn table_row(text: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// A text in which no character is markup.
fn plain(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for letter in safe(words).chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => text.extend(['\\', letter]),
            _ => text.push(letter),
        }
    }
    text
}
