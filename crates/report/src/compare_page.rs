//! Writes a comparison as one page: what the repetitions show in words, the overlaid distributions of all sets, the numbers of
//! each pair, and the differences between machines and runs. Only `compare` calls anything better or worse.

use crate::page;
use crate::page::escape::{html, unit};
use crate::page::picture::{SCRIPT, STYLE};
use crate::recording::comparison::{self, Compared, Judged, differences, environment, signed};
use crate::recording::sets::{cautions, set_head};
use crate::recording::span_text;
use crate::study_page::{cells, pair, stamp};
use crate::study_samples::StudyCell;
use crate::style::Role;
use compare::Verdict;
use formats::Kind;
use std::fmt::Write as _;

/// Content of the page.
#[derive(Clone, Copy)]
pub struct ComparePage<'a> {
    /// All files, grouped by set.
    pub files: &'a [Compared],
    /// Each set: its name, and its number of files, in their order.
    pub sets: &'a [(String, usize)],
    /// What every other set shows compared with the first; empty if no set has repetitions.
    pub verdicts: &'a [compare::Compared],
    /// The requirements.
    pub judged: &'a [Judged],
    /// All numbers, to be saved with one click.
    pub json: Option<&'a [u8]>,
    /// The name of that file.
    pub json_name: &'a str,
}

/// The page. All text of files and of the user is escaped.
#[must_use]
pub fn comparison_html(compared: &ComparePage) -> String {
    let mut page = String::with_capacity(1 << 16);
    page::head(&mut page, "quietcore compare", STYLE);
    let mut own = compared
        .files
        .iter()
        .filter_map(|one| one.recording.own.as_deref());
    if own.any(|own| own.environment.emulated) {
        page.push_str(&stamp().into_string());
    }
    header(&mut page, compared);
    for one in compared.verdicts {
        let _ = writeln!(page, "<section>\n<h2>{}</h2>", unit(&set_head(one)));
        page.push_str(&pair(one).into_string());
        for line in cautions(one) {
            let _ = writeln!(page, "<p class=\"note\">{}</p>", unit(&line));
        }
        page.push_str("</section>\n");
    }
    if compared.verdicts.is_empty() {
        single(&mut page, compared.files);
    }
    required(&mut page, compared.judged);
    let sets = sets(compared);
    for kind in [Kind::Latency, Kind::Noise] {
        page.push_str(&cells::section(kind, "set", &sets).into_string());
    }
    environments(&mut page, compared);
    page.push_str(&page::footer(env!("CARGO_PKG_VERSION"), compared.json_name, compared.json).into_string());
    page::end(&mut page, SCRIPT);
    page
}

/// The sets with their runs.
fn sets<'a>(compared: &ComparePage<'a>) -> Vec<StudyCell<'a>> {
    let mut rest = compared.files;
    let mut sets = Vec::new();
    for (name, size) in compared.sets {
        let (own, others) = rest.split_at((*size).min(rest.len()));
        rest = others;
        sets.push(StudyCell {
            name,
            levels: Vec::new(),
            runs: own.iter().map(|one| &one.recording).collect(),
        });
    }
    sets
}

fn header(page: &mut String, compared: &ComparePage) {
    let names: Vec<&str> = compared.sets.iter().map(|(name, _)| name.as_str()).collect();
    let _ = write!(
        page,
        "<header>\n<div class=\"brand\"><b>quietcore compare</b><span>{}</span></div>\n<h1>{}</h1>\n",
        html(&names.join(", ")),
        html(&headline(compared.verdicts))
    );
    for one in compared.verdicts {
        let _ = writeln!(page, "<p class=\"lead\">{}</p>", html(&summary(one)));
    }
    if compared.verdicts.is_empty() {
        page.push_str(
            "<p class=\"lead\">One run of each does not show what is better, however many samples it has: the next run differs as \
             well. Four of each can.</p>\n",
        );
    }
    page.push_str("</header>\n");
}

fn headline(verdicts: &[compare::Compared]) -> String {
    let judged = verdicts.iter().filter(|one| one.withheld.is_none()).count();
    let count = |wanted: Verdict| {
        let answers = verdicts.iter().flat_map(|one| &one.answers);
        answers.filter(|(_, answer)| answer.verdict == wanted).count()
    };
    match (judged, count(Verdict::Lower), count(Verdict::Higher)) {
        (0, ..) => "No verdict".to_owned(),
        (_, 0, 0) => "No difference is shown".to_owned(),
        (_, better, 0) => format!("Better in {better} of the numbers, worse in none"),
        (_, 0, worse) => format!("Worse in {worse} of the numbers, better in none"),
        (_, better, worse) => format!("Better in {better} of the numbers, worse in {worse}"),
    }
}

/// What the repetitions of one set show, in one sentence.
fn summary(one: &compare::Compared) -> String {
    if one.withheld.is_some() {
        return cautions(one).into_iter().next().unwrap_or_default();
    }
    let named = |wanted: Verdict| -> Option<String> {
        let of = one.answers.iter().filter(|(_, answer)| answer.verdict == wanted);
        let all: Vec<String> = of
            .map(|(asked, _)| format!("{} {}", asked.thread, crate::recording::sets::name(asked.number)))
            .collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let mut parts = Vec::new();
    if let Some(better) = named(Verdict::Lower) {
        parts.push(format!("better in {better}"));
    }
    if let Some(worse) = named(Verdict::Higher) {
        parts.push(format!("worse in {worse}"));
    }
    match parts.as_slice() {
        [] => format!(
            "{} differs from {} in no number that was shown.",
            one.other, one.first
        ),
        parts => format!("{} beside {}: {}.", one.other, one.first, parts.join("; ")),
    }
}

/// Single files: the certain minimum distance of their quantiles.
fn single(page: &mut String, files: &[Compared]) {
    let found = differences(files);
    if found.is_empty() {
        return;
    }
    page.push_str(
        "<section>\n<h2>Differences from the first</h2>\n<div class=\"scroll\"><table><thead><tr><th>file</th><th>where</th>\
         <th>what</th><th class=\"n\">was</th><th class=\"n\">is</th><th class=\"n\">difference</th></tr></thead>\n<tbody>",
    );
    for one in &found {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}</td></tr>",
            html(&one.other),
            html(&one.thread),
            html(&one.which),
            unit(&span_text(one.first_ns)),
            unit(&span_text(one.other_ns)),
            unit(&signed(one.more_ns[0])),
            unit(&signed(one.more_ns[1]))
        );
    }
    page.push_str("</tbody></table></div>\n</section>\n");
}

fn required(page: &mut String, judged: &[Judged]) {
    if judged.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>Required</h2>\n<div class=\"scroll\"><table><tbody>");
    for one in judged {
        let (word, role) = comparison::outcome(one);
        let class = match role {
            Role::Good => "good",
            Role::Bad => "bad",
            _ => "care",
        };
        let _ = writeln!(
            page,
            "<tr><td class=\"{class}\">{word}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            html(&one.requirement),
            html(&one.file),
            html(&one.thread),
            unit(&one.judgement.why)
        );
    }
    page.push_str("</tbody></table></div>\n</section>\n");
}

/// Differences between the machines or the measuring methods, one column per set; possible reasons are marked.
fn environments(page: &mut String, compared: &ComparePage) {
    page.push_str("<section>\n<h2>Where the machines or the runs differ</h2>\n");
    let found = environment(compared.files);
    if found.is_empty() {
        page.push_str("<p>In nothing that all files tell.</p>\n");
    } else {
        page.push_str("<div class=\"scroll\"><table><thead><tr><th>what</th>");
        for (name, _) in compared.sets {
            let _ = write!(page, "<th>{}</th>", html(name));
        }
        page.push_str("<th></th></tr></thead>\n<tbody>");
        for fact in &found {
            let mut values = fact.values.as_slice();
            let mut columns: Vec<Vec<&str>> = Vec::new();
            for (_, size) in compared.sets {
                let (own, others) = values.split_at((*size).min(values.len()));
                values = others;
                let mut own = own.to_vec();
                own.sort_unstable();
                own.dedup();
                columns.push(own);
            }
            // Constant within each set but different between sets: it may explain the difference.
            let may_be = columns.iter().all(|own| own.len() == 1);
            let _ = write!(page, "<tr><th scope=\"row\">{}</th>", html(&fact.name));
            for own in columns {
                let _ = write!(page, "<td>{}</td>", html(&own.join(" | ")));
            }
            let reason = if may_be { "may be the reason" } else { "" };
            let _ = writeln!(page, "<td class=\"care\">{reason}</td></tr>");
        }
        page.push_str("</tbody></table></div>\n");
    }
    same(page, compared.files, &found);
    page.push_str("</section>\n");
}

/// Facts that are the same in all files.
fn same(page: &mut String, files: &[Compared], differing: &[comparison::Fact]) {
    let Some((first, others)) = files.split_first() else {
        return;
    };
    let is_same = |fact: &&(String, String)| {
        others.iter().all(|one| one.recording.facts.contains(fact))
            && differing.iter().all(|other| other.name != fact.0)
    };
    page.push_str("<details><summary>What is the same in all of them</summary><dl class=\"facts\">");
    for (name, value) in first.recording.facts.iter().filter(is_same) {
        let value = if value.is_empty() { "none" } else { value };
        let _ = write!(page, "<dt>{}</dt><dd>{}</dd>", html(name), html(value));
    }
    page.push_str("</dl></details>\n");
}
