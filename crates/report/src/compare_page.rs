//! Writes a comparison as one page: what the repetitions show in words, the overlaid distributions of all sets, the numbers of
//! each pair, and the differences between machines and runs. Only `compare` calls anything better or worse.

use crate::page;
use crate::page::picture::{SCRIPT, STYLE};
use crate::page::text::unit;
use crate::recording::comparison::{self, ComparedFile, RequirementResult, differences, environment, signed};
use crate::recording::sets::{cautions, set_head};
use crate::recording::span_text;
use crate::study_page::{cells, pair, stamp};
use crate::study_samples::StudyCell;
use crate::style::{TextRole, safe};
use compare::Verdict;
use formats::SeriesKind;
use maud::{Markup, html};

/// Content of the page.
#[derive(Clone, Copy)]
pub struct ComparePage<'a> {
    /// All files, grouped by set.
    pub files: &'a [ComparedFile],
    /// Each set: its name, and its number of files, in their order.
    pub sets: &'a [(String, usize)],
    /// What every other set shows compared with the first; empty if no set has repetitions.
    pub verdicts: &'a [compare::SetComparison],
    /// The requirements.
    pub judged: &'a [RequirementResult],
    /// All numbers, to be saved with one click.
    pub json: Option<&'a [u8]>,
    /// The name of that file.
    pub json_name: &'a str,
}

/// The page.
#[must_use]
pub fn comparison_html(compared: &ComparePage) -> String {
    let mut own = compared.files.iter().filter_map(|one| one.recording.own.as_deref());
    let sets = sets(compared);
    let content = html! {
        @if own.any(|own| own.environment.emulated) { (stamp()) }
        (header(compared))
        @for one in compared.verdicts { (set(one)) }
        @if compared.verdicts.is_empty() { (single(compared.files)) }
        (required(compared.judged))
        @for kind in [SeriesKind::Latency, SeriesKind::Noise] { (cells::section(kind, "set", &sets)) }
        (environments(compared))
        (page::footer(env!("CARGO_PKG_VERSION"), compared.json_name, compared.json))
    };
    page::page("quietcore compare", STYLE, SCRIPT, &content)
}

/// One set with repetitions, compared with the first.
fn set(one: &compare::SetComparison) -> Markup {
    html! {
        section { "\n"
            h2 { (unit(&set_head(one))) } "\n"
            (pair(one))
            @for line in cautions(one) { p.note { (unit(&line)) } "\n" }
        } "\n"
    }
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

fn header(compared: &ComparePage) -> Markup {
    let names: Vec<&str> = compared.sets.iter().map(|(name, _)| name.as_str()).collect();
    html! {
        header { "\n"
            div.brand { b { "quietcore compare" } span { (safe(&names.join(", "))) } } "\n"
            h1 { (headline(compared.verdicts)) } "\n"
            @for one in compared.verdicts { p.lead { (safe(&summary(one))) } "\n" }
            @if compared.verdicts.is_empty() {
                p.lead {
                    "One run of each does not show which is better, however many samples it has: the next run will \
                     differ as well. "
                    "Four of each can show it."
                } "\n"
            }
        } "\n"
    }
}

fn headline(verdicts: &[compare::SetComparison]) -> String {
    let judged = verdicts.iter().filter(|one| one.withheld.is_none()).count();
    let count = |verdict: Verdict| {
        let answers = verdicts.iter().flat_map(|one| &one.answers);
        answers.filter(|(_, answer)| answer.verdict == verdict).count()
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
fn summary(one: &compare::SetComparison) -> String {
    if one.withheld.is_some() {
        return cautions(one).into_iter().next().unwrap_or_default();
    }
    let named = |verdict: Verdict| -> Option<String> {
        let of = one.answers.iter().filter(|(_, answer)| answer.verdict == verdict);
        let all: Vec<String> = of
            .map(|(quantity, _)| format!("{} {}", quantity.thread, crate::recording::sets::name(quantity.number)))
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
        [] => format!("no difference between {} and {} was shown.", one.other, one.first),
        parts => format!("{} compared with {}: {}.", one.other, one.first, parts.join("; ")),
    }
}

/// Single files: the certain minimum distance of their quantiles.
fn single(files: &[ComparedFile]) -> Markup {
    let found = differences(files);
    if found.is_empty() {
        return Markup::default();
    }
    html! {
        section { "\n"
            h2 { "Differences from the first" } "\n"
            div.scroll { table {
                thead { tr {
                    th { "file" } th { "where" } th { "what" } th.n { "was" } th.n { "is" } th.n { "difference" }
                } } "\n"
                tbody {
                    @for one in &found {
                        tr {
                            td { (safe(&one.other)) } td { (safe(&one.thread)) } td { (safe(&one.which)) }
                            td.n { (unit(&span_text(one.first_ns))) } td.n { (unit(&span_text(one.other_ns))) }
                            td.n { (unit(&signed(one.more_ns[0]))) " to " (unit(&signed(one.more_ns[1]))) }
                        } "\n"
                    }
                }
            } } "\n"
        } "\n"
    }
}

fn required(judged: &[RequirementResult]) -> Markup {
    if judged.is_empty() {
        return Markup::default();
    }
    let outcome = |one| {
        let (word, role) = comparison::outcome(one);
        let class = match role {
            TextRole::Good => "good",
            TextRole::Bad => "bad",
            _ => "care",
        };
        html! { td class=(class) { (word) } }
    };
    html! {
        section { "\n"
            h2 { "Required" } "\n"
            div.scroll { table { tbody {
                @for one in judged {
                    tr {
                        (outcome(one)) td { (safe(&one.requirement)) } td { (safe(&one.file)) } td { (safe(&one.thread)) }
                        td { (unit(&one.judgement.why)) }
                    } "\n"
                }
            } } } "\n"
        } "\n"
    }
}

/// Differences between the machines or the measuring methods, one column per set; possible reasons are marked.
fn environments(compared: &ComparePage) -> Markup {
    let found = environment(compared.files);
    html! {
        section { "\n"
            h2 { "Where the machines or the runs differ" } "\n"
            @if found.is_empty() {
                p { "In no fact that all files report." } "\n"
            } @else {
                div.scroll { table {
                    thead { tr {
                        th { "what" }
                        @for (name, _) in compared.sets { th { (safe(name)) } }
                        th {}
                    } } "\n"
                    tbody { @for fact in &found { (differing(fact, compared.sets)) "\n" } }
                } } "\n"
            }
            (same(compared.files, &found))
        } "\n"
    }
}

/// One fact that is not the same in all files, with its values in each set.
fn differing(fact: &comparison::FactDifference, sets: &[(String, usize)]) -> Markup {
    let mut values = fact.values.as_slice();
    let mut columns: Vec<Vec<&str>> = Vec::new();
    for (_, size) in sets {
        let (own, others) = values.split_at((*size).min(values.len()));
        values = others;
        let mut own = own.to_vec();
        own.sort_unstable();
        own.dedup();
        columns.push(own);
    }
    // Constant within each set but different between sets: it may explain the difference.
    let may_be = columns.iter().all(|own| own.len() == 1);
    html! {
        tr {
            th scope="row" { (safe(&fact.name)) }
            @for own in columns { td { (safe(&own.join(" | "))) } }
            td.care { @if may_be { "possible reason" } }
        }
    }
}

/// Facts that are the same in all files.
fn same(files: &[ComparedFile], differing: &[comparison::FactDifference]) -> Markup {
    let Some((first, others)) = files.split_first() else {
        return Markup::default();
    };
    let is_same = |fact: &&(String, String)| {
        others.iter().all(|one| one.recording.facts.contains(fact))
            && differing.iter().all(|other| other.name != fact.0)
    };
    let facts = first.recording.facts.iter().filter(is_same);
    html! {
        details {
            summary { "What all of them have in common" }
            (page::list(facts.map(|(name, value)| (name.as_str(), value.as_str()))))
        } "\n"
    }
}
