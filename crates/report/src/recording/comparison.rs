//! Compares several files: their quantiles, the losses of each, the differences between their machines, and the user's
//! requirements. It states differences, but calls nothing better: that needs more than one run of each.

use super::conclusion::{self, RequirementCounts};
use super::json::{COMPARE_SCHEMA, RecordingReport};
use super::{head, row, share_name, span_text, title};
use crate::report_text::ReportText;
use crate::style::{Style, TextRole, safe};
use compare::CONDITIONS;
use formats::requirement::{Judgement, Requirement, RequirementOutcome, judge};
use formats::statistics::{SHARES, ValueRange, best_quantile};
use formats::{Basis, Recording, Series, SeriesKind};
use measure::Note;
use serde::Serialize;

/// One of the files.
pub struct ComparedFile {
    /// Its name, as given by the user.
    pub file: String,
    /// Its content.
    pub recording: Recording,
}

/// What one series of a file says about one requirement.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequirementResult {
    /// The requirement, as written by the user.
    pub requirement: String,
    /// The file.
    pub file: String,
    /// The series in it.
    pub thread: String,
    /// What was judged: samples, or all expected wake-ups.
    pub basis: Option<Basis>,
    /// Whether it is met, and why.
    #[serde(flatten)]
    pub judgement: Judgement,
}

impl RequirementResult {
    /// Checks every series of every file against every requirement.
    #[must_use]
    pub fn all(files: &[ComparedFile], requirements: &[Requirement]) -> Vec<RequirementResult> {
        let mut judged = Vec::new();
        for requirement in requirements {
            for file in files {
                let before = judged.len();
                judged.extend(requirement.about(&file.recording).map(|series| RequirementResult {
                    requirement: requirement.text.clone(),
                    file: file.file.clone(),
                    thread: file.recording.name_of(series),
                    basis: Some(series.basis),
                    judgement: judge(series, requirement),
                }));
                // A file without a series of this kind proves nothing.
                if judged.len() == before {
                    let what = match requirement.kind {
                        None => "sample",
                        Some(SeriesKind::Latency) => "wake-up",
                        Some(SeriesKind::Noise) => "gap of a busy loop",
                    };
                    judged.push(RequirementResult {
                        requirement: requirement.text.clone(),
                        file: file.file.clone(),
                        thread: String::new(),
                        basis: None,
                        judgement: Judgement {
                            outcome: RequirementOutcome::NotShown,
                            why: format!("it contains no {what}"),
                        },
                    });
                }
            }
        }
        judged
    }
}

/// A quantile in the first file and in another one.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct QuantileDifference {
    /// The first file.
    first: String,
    /// The other file.
    pub other: String,
    /// The series.
    pub thread: String,
    /// What was compared: all expected wake-ups, if both files report their lateness; otherwise samples.
    basis: Basis,
    /// The quantile.
    pub which: String,
    /// Its value in the first file.
    pub first_ns: ValueRange,
    /// Its value in the other file.
    pub other_ns: ValueRange,
    /// The increase in the other file, as lower and upper bound.
    pub more_ns: [Option<i128>; 2],
}

/// A difference between machines or runs, in a fact that all files report.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FactDifference<'a> {
    /// Name of the fact.
    pub name: String,
    /// One value per file.
    pub values: Vec<&'a str>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Comparison<'a> {
    schema: &'static str,
    /// The files.
    files: Vec<RecordingReport<'a>>,
    /// Differences of quantiles from the first file.
    differences: Vec<QuantileDifference>,
    /// Facts that differ between the files.
    environment: Vec<FactDifference<'a>>,
    /// Whether each requirement is met.
    requirements: &'a [RequirementResult],
    /// Comparisons of sets of repetitions; absent without sets.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sets: &'a [compare::SetComparison],
}

/// The comparison as the JSON of the contract.
#[must_use]
pub fn comparison_json<'a>(
    files: &'a [ComparedFile],
    judged: &'a [RequirementResult],
    sets: &'a [compare::SetComparison],
) -> impl Serialize + 'a {
    Comparison {
        schema: COMPARE_SCHEMA,
        files: files
            .iter()
            .map(|one| RecordingReport::of(&one.file, &one.recording, None))
            .collect(),
        differences: differences(files),
        environment: environment(files),
        requirements: judged,
        sets,
    }
}

/// The comparison as a terminal shows it.
#[must_use]
pub fn comparison_text(files: &[ComparedFile], judged: &[RequirementResult], style: Style) -> String {
    let mut text = ReportText::new(style);
    let recordings: Vec<&Recording> = files.iter().map(|one| &one.recording).collect();
    head(&mut text);
    for one in files {
        let name = format!("{}: {}", safe(&one.file), title(&one.recording));
        text.wrapped_as(TextRole::Head, 0, 2, &name);
        for series in one.recording.series.iter().flat_map(Series::with_those_beside) {
            row(&mut text, &one.recording, series);
        }
    }
    text.wrapped_as(TextRole::Quiet, 2, 2, &conclusion::columns(&recordings));
    let found = differences(files);
    differences_text(&mut text, &found);
    let machines = environment(files);
    if !machines.is_empty() {
        text.heading("Where the machines or the runs differ");
    }
    for fact in &machines {
        let values: Vec<String> = fact.values.iter().map(|value| safe(value)).collect();
        text.wrapped(2, 4, &format!("{}: {}", safe(&fact.name), values.join(" | ")));
    }
    for (names, notes) in same_notes(files) {
        write!(text, "\n{}", style.paint(TextRole::Head, &names.join(", ")));
        text.notes(notes);
    }
    judged_text(&mut text, judged);
    conclusion::conclude(
        &mut text,
        &conclusion::sentences_of_files(files.len(), found.len(), required(judged)),
    );
    text.into_string()
}

/// The findings, each list once, with the files that have it.
fn same_notes(files: &[ComparedFile]) -> Vec<(Vec<String>, &[Note])> {
    let mut groups: Vec<(Vec<String>, &[Note])> = Vec::new();
    for one in files.iter().filter(|one| !one.recording.notes.is_empty()) {
        match groups.iter_mut().find(|(_, notes)| *notes == one.recording.notes) {
            Some((names, _)) => names.push(safe(&one.file)),
            None => groups.push((vec![safe(&one.file)], &one.recording.notes)),
        }
    }
    groups
}

/// The conclusion in one line. `sets` is empty where the files are no repetitions.
#[must_use]
pub fn comparison_verdict(
    files: &[ComparedFile],
    sets: &[compare::SetComparison],
    judged: &[RequirementResult],
) -> String {
    let sentences = match sets.is_empty() {
        true => conclusion::sentences_of_files(files.len(), differences(files).len(), required(judged)),
        false => conclusion::sentences_of_sets(sets, required(judged)),
    };
    match sentences.is_empty() {
        true => "No difference could be examined.\n".to_owned(),
        false => format!("{}\n", sentences.join(" ")),
    }
}

fn differences_text(text: &mut ReportText, found: &[QuantileDifference]) {
    if !found.is_empty() {
        text.heading("Differences from the first");
    }
    let mut message = None;
    for one in found {
        let of = (&one.other, &one.thread);
        if message != Some(of) {
            message = Some(of);
            let by = match one.basis {
                Basis::Schedule => "all expected wake-ups of both",
                _ => "the samples of both",
            };
            text.wrapped(2, 4, &format!("{}, {}: {by}", safe(&one.other), one.thread));
        }
        let (first, span) = (safe(&one.first), span_text(one.first_ns));
        let line = match one.more_ns {
            [Some(0), Some(0)] => format!("{} is the same as in {first}: {span}", one.which),
            [least, most] => format!(
                "{} is {} to {}, where {first} has {span}",
                one.which,
                signed(least),
                signed(most)
            ),
        };
        text.wrapped(4, 6, &line);
    }
}

/// The requirements, and whether they are met.
pub(crate) fn judged_text(text: &mut ReportText, judged: &[RequirementResult]) {
    if !judged.is_empty() {
        text.heading("Required");
    }
    for one in judged {
        let line = format!(
            "{} {}: {}: {}",
            safe(&one.file),
            one.thread,
            safe(&one.requirement),
            one.judgement.why
        );
        text.marked(outcome(one), 2, 12, &line);
    }
}

/// How many requirements there are, and how many are met.
pub(super) fn required(judged: &[RequirementResult]) -> RequirementCounts {
    let met = judged
        .iter()
        .filter(|one| one.judgement.outcome == RequirementOutcome::Held);
    RequirementCounts {
        all: judged.len(),
        met: met.count(),
    }
}

/// Whether it is met, in one word.
pub(crate) fn outcome(one: &RequirementResult) -> (&'static str, TextRole) {
    match one.judgement.outcome {
        RequirementOutcome::Held => ("holds", TextRole::Good),
        RequirementOutcome::Violated => ("VIOLATED", TextRole::Bad),
        RequirementOutcome::NotShown => ("NOT SHOWN", TextRole::Warning),
    }
}

/// `3.2 us more`, `800 ns less`.
pub(crate) fn signed(more_ns: Option<i128>) -> String {
    let Some(ns) = more_ns else {
        return "the size of the difference is unknown".to_owned();
    };
    let size = super::short(u64::try_from(ns.unsigned_abs()).unwrap_or(u64::MAX));
    match ns {
        0 => "no difference".to_owned(),
        ns if ns > 0 => format!("{size} more"),
        _ => format!("{size} less"),
    }
}

/// Compares only series that certainly correspond: the same CPU and part, or the only series of both files.
pub(crate) fn differences(files: &[ComparedFile]) -> Vec<QuantileDifference> {
    let Some((first, others)) = files.split_first() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for other in others {
        for series in &other.recording.series {
            let Some(base) = counterpart(&first.recording, &other.recording, series) else {
                continue;
            };
            if base.kind != series.kind {
                continue;
            }
            let schedules = base.by(Basis::Schedule).zip(series.by(Basis::Schedule));
            let (base, series) = schedules.unwrap_or((base, series));
            let mut add = |which: String, a: Option<ValueRange>, b: Option<ValueRange>| {
                let (Some(a), Some(b)) = (a, b) else { return };
                let less = |x: Option<u64>, y: Option<u64>| Some(i128::from(x?) - i128::from(y?));
                found.push(QuantileDifference {
                    first: first.file.clone(),
                    other: other.file.clone(),
                    thread: other.recording.name_of(series),
                    basis: series.basis,
                    which,
                    first_ns: a,
                    other_ns: b,
                    more_ns: [less(Some(b.low_ns), a.high_ns), less(b.high_ns, Some(a.low_ns))],
                });
            };
            for share in SHARES {
                add(
                    share_name(share),
                    best_quantile(base, share),
                    best_quantile(series, share),
                );
            }
            add("max".to_owned(), largest_span(base), largest_span(series));
        }
    }
    found
}

/// The only series of the first file, or the only one of this kind on this CPU, for the same part of the wake-up.
fn counterpart<'a>(first: &'a Recording, other: &Recording, series: &Series) -> Option<&'a Series> {
    if let ([base], [_]) = (first.series.as_slice(), other.series.as_slice()) {
        return Some(base);
    }
    let of = |one: &Series| (one.kind, one.cpu, one.part);
    let same = |one: &&Series| one.cpu.is_some() && of(one) == of(series);
    let mut there = first.series.iter().filter(same);
    let alone = other.series.iter().filter(same).count() == 1;
    there.next().filter(|_| alone && there.next().is_none())
}

fn largest_span(series: &Series) -> Option<ValueRange> {
    let last = series.buckets.last().filter(|_| series.overflow == Some(0));
    let last = last.map(|bucket| (bucket.low_ns, bucket.high_ns()));
    let (low_ns, high_ns) = series.stated_max_ns().or(last)?;
    Some(ValueRange {
        low_ns,
        high_ns: Some(high_ns),
    })
}

/// Differences between the machines, or the measuring methods, in facts that all files report.
pub(crate) fn environment(files: &[ComparedFile]) -> Vec<FactDifference<'_>> {
    let Some((first, others)) = files.split_first() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let machines: Vec<&[(String, String)]> = files.iter().map(|one| &*one.recording.facts).collect();
    for (field, _) in &first.recording.facts {
        add_difference(&mut found, field.clone(), &machines, field);
    }
    for series in &first.recording.series {
        let in_others: Option<Vec<&[(String, String)]>> = others
            .iter()
            .map(|other| Some(&*counterpart(&other.recording, &first.recording, series)?.facts))
            .collect();
        let Some(in_others) = in_others else { continue };
        let threads: Vec<&[(String, String)]> = std::iter::once(&*series.facts).chain(in_others).collect();
        for field in CONDITIONS {
            add_difference(
                &mut found,
                format!("{} {field}", first.recording.name_of(series)),
                &threads,
                field,
            );
        }
    }
    found
}

/// Adds a fact, unless it is present, if all files report it and the values differ.
fn add_difference<'a>(
    found: &mut Vec<FactDifference<'a>>,
    name: String,
    lists: &[&'a [(String, String)]],
    field: &str,
) {
    let value = |facts: &&'a [(String, String)]| -> Option<&'a str> {
        let mut known = facts.iter();
        known.find(|(known, _)| known == field).map(|(_, value)| value.as_str())
    };
    let values: Option<Vec<&str>> = lists.iter().map(value).collect();
    let Some(values) = values else { return };
    if values.iter().any(|value| *value != values[0]) && found.iter().all(|fact| fact.name != name) {
        found.push(FactDifference { name, values });
    }
}
