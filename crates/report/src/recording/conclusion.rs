//! Explains the columns and marks of a comparison, and sums it up in one sentence at its end.

use super::rows_legend;
use crate::report_text::ReportText;
use crate::style::{TextRole, counted, safe};
use ::compare::{SetComparison, Verdict};
use formats::Recording;

/// How many requirements there are, and how many of them are met.
#[derive(Clone, Copy)]
pub(super) struct RequirementCounts {
    pub all: usize,
    pub met: usize,
}

/// What the columns of the table of files mean.
pub(super) fn columns(recordings: &[&Recording]) -> String {
    format!(
        "p99: 99 % of the samples are at most as high. max: the highest. {}`-`: the file does not say. `>`: the sample was higher.",
        rows_legend(recordings)
    )
}

/// What the marks before the lines of a set mean, those that occur.
pub(super) fn marks(one: &SetComparison) -> String {
    let first = safe(&one.first);
    let all = [
        (Verdict::Lower, format!("better: shown to be lower than in {first}.")),
        (Verdict::Higher, format!("WORSE: shown to be higher than in {first}.")),
        (Verdict::NotShown, "`-`: no difference is shown.".to_owned()),
    ];
    let occurring = all.into_iter().filter(|(verdict, _)| count(one, *verdict) > 0);
    occurring.map(|(_, text)| text).collect::<Vec<_>>().join(" ")
}

/// How many numbers have this verdict.
fn count(one: &SetComparison, verdict: Verdict) -> usize {
    let same = one.answers.iter().filter(|(_, answer)| answer.verdict == verdict);
    same.count()
}

/// The conclusion about single files, of which this many quantiles could be compared with the first file.
pub(super) fn sentences_of_files(files: usize, compared: usize, required: RequirementCounts) -> Vec<String> {
    let sentence = match (files, compared) {
        (..=1, _) => None,
        (_, 0) => Some("No quantity of these files can be compared with the first one."),
        (_, _) => Some(
            "One run of each does not show a lasting difference: repeat each four times or more, and compare the directories.",
        ),
    };
    let mut sentences = required.sentences();
    sentences.extend(sentence.map(str::to_owned));
    sentences
}

/// The last line about sets of repetitions.
pub(super) fn of_sets(text: &mut ReportText, sets: &[SetComparison], required: RequirementCounts) {
    conclude(text, &sentences_of_sets(sets, required));
}

pub(super) fn sentences_of_sets(sets: &[SetComparison], required: RequirementCounts) -> Vec<String> {
    let mut sentences = required.sentences();
    sentences.extend(sets.iter().filter(|one| one.withheld.is_none()).map(of_set));
    sentences
}

fn of_set(one: &SetComparison) -> String {
    let count = |verdict| count(one, verdict);
    let (better, worse, open) = (count(Verdict::Lower), count(Verdict::Higher), count(Verdict::NotShown));
    let (first, other) = (safe(&one.first), safe(&one.other));
    let numbers = |count| counted(count, "number");
    match (better, worse) {
        (0, 0) => format!("No difference between {other} and {first} is shown."),
        (better, 0) => format!(
            "{other} is better than {first} in {}; for {open} no difference is shown.",
            numbers(better)
        ),
        (0, worse) => format!(
            "{other} is WORSE than {first} in {}; for {open} no difference is shown.",
            numbers(worse)
        ),
        (better, worse) => format!(
            "{other} is better than {first} in {} and WORSE in {worse}; for {open} no difference is shown.",
            numbers(better)
        ),
    }
}

impl RequirementCounts {
    fn sentences(self) -> Vec<String> {
        match self.all {
            0 => Vec::new(),
            all => vec![format!("{} of {} are met.", self.met, counted(all, "requirement"))],
        }
    }
}

/// The last line.
pub(super) fn conclude(text: &mut ReportText, sentences: &[String]) {
    if !sentences.is_empty() {
        writeln!(text);
        text.wrapped_as(TextRole::Head, 0, 2, &sentences.join(" "));
    }
}
