//! Reports the results of a study: for every two cells that differ in one axis, what that axis makes better or worse.

use crate::bound::BoundSide;
use crate::recording::sets::{bound, cautions, name, number_text, range, runs};
use crate::report_text::ReportText;
use crate::style::{COLUMNS, Style, TextRole, safe, wrap};
use compare::{ComparisonAnswer, NoVerdictReason, Quantity, SetComparison, Verdict};
use std::collections::BTreeSet;

/// The validity of the verdicts: they are those of `compare`.
const PROMISE: &str = "Means over the runs. Within one pair, the chance of a false difference in any number is at most \
     5 %; `quietcore compare DIR/CELL DIR/CELL` shows the ranges.";

/// Two cells that differ in one axis.
#[derive(Clone, Copy, Debug)]
pub struct PairRow<'a> {
    /// The axis.
    pub axis: &'a str,
    /// Its level in the first cell.
    pub from: &'a str,
    /// Its level in the other one.
    pub to: &'a str,
    /// The other axes that have several levels, with the level that both cells share.
    pub with: &'a [(String, String)],
    /// The result of the repetitions.
    pub compared: &'a SetComparison,
    /// Temperature ranges of the machine in the runs of both, in thousandths of a degree Celsius, if it may explain a difference.
    pub apart_mc: Option<[[i64; 2]; 2]>,
}

/// The screen of a study.
#[must_use]
pub fn study_text(rows: &[PairRow], style: Style) -> String {
    let mut text = ReportText::new(style);
    for row in rows {
        text.wrapped_as(TextRole::Head, 0, 2, &head(row));
        differences(&mut text, row.compared);
    }
    for line in remarks(rows) {
        text.wrapped_as(TextRole::Warning, 0, 2, &line);
    }
    text.into_string()
}

/// One number of a pair in a table.
pub(crate) struct StudyLine {
    pub verdict: Verdict,
    /// The verdict in a word.
    pub word: &'static str,
    /// The thread.
    pub of: String,
    pub what: String,
    pub was: String,
    pub is: String,
    /// The size of the difference, or the smallest difference that could have been detected.
    pub size: String,
}

/// All numbers of a pair, including those that do not differ.
pub(crate) fn lines(compared: &SetComparison) -> Vec<StudyLine> {
    let line = |(quantity, answer): &(Quantity, ComparisonAnswer)| {
        let range = || range(quantity.number, answer.interval);
        let (word, size) = match answer.verdict {
            Verdict::Lower => ("better", range()),
            Verdict::Higher => ("worse", range()),
            Verdict::NotShown => {
                let least = bound(quantity.number, answer.detectable, BoundSide::Upper);
                ("not shown", format!("{least} would be shown"))
            }
        };
        StudyLine {
            verdict: answer.verdict,
            word,
            of: quantity.thread.clone(),
            what: name(quantity.number),
            was: number_text(quantity.number, answer.first_mean),
            is: number_text(quantity.number, answer.other_mean),
            size,
        }
    };
    compared.answers.iter().map(line).collect()
}

/// Why a pair has no verdict, in words; `None` if it has one.
pub(crate) fn withheld(compared: &SetComparison) -> Option<&'static str> {
    match compared.withheld.as_ref()? {
        NoVerdictReason::Emulated(_) => Some("No verdict: emulated."),
        _ => Some("No verdict."),
    }
}

/// The number of pairs that show a difference.
pub(crate) fn headline(rows: &[PairRow]) -> String {
    let judged = rows.iter().filter(|row| row.compared.withheld.is_none()).count();
    let differs = |row: &&PairRow| {
        let mut answers = row.compared.answers.iter();
        answers.any(|(_, answer)| answer.verdict != Verdict::NotShown)
    };
    let shown = rows.iter().filter(differs).count();
    match (rows.len(), judged) {
        (0, _) => "No two cells can be compared yet".to_owned(),
        (_, 0) => "No verdict yet".to_owned(),
        (all, _) => format!("A difference is shown in {shown} of {all} pairs of cells"),
    }
}

/// Remarks on all pairs, without duplicates.
pub(crate) fn remarks(rows: &[PairRow]) -> Vec<String> {
    let compared = rows.iter().map(|row| row.compared);
    common_remarks(PROMISE, compared, rows.iter().filter_map(warmth))
}

/// What the verdicts promise or why there are none, other remarks, and doubts about runs.
pub(crate) fn common_remarks<'a>(
    promise: &str,
    compared: impl Iterator<Item = &'a SetComparison>,
    others: impl IntoIterator<Item = String>,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut doubts: BTreeSet<&str> = BTreeSet::new();
    for compared in compared {
        doubts.extend(compared.not_representative.keys().map(String::as_str));
        let line = match compared.withheld {
            None => promise.to_owned(),
            Some(_) => cautions(compared).into_iter().next().unwrap_or_default(),
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.extend(others);
    if !doubts.is_empty() {
        let all: Vec<String> = doubts.into_iter().map(safe).collect();
        lines.push(format!(
            "Some runs are not representative of normal operation: {}.",
            all.join(", ")
        ));
    }
    lines
}

/// Reports that one cell was much warmer than the other.
fn warmth(row: &PairRow) -> Option<String> {
    let [first, other] = row.apart_mc?.map(|[least, most]| {
        let degrees = |mc: i64| format!("{:.1}", mc as f64 / 1_000.0);
        match least == most {
            true => format!("{} °C", degrees(least)),
            false => format!("{} to {} °C", degrees(least), degrees(most)),
        }
    });
    Some(format!(
        "Temperature may be the reason: {}: the machine was at {first}, then at {other}. A hot processor lowers its \
         clock; set `cool_to_c`.",
        head(row)
    ))
}

pub(crate) fn head(row: &PairRow) -> String {
    let with: Vec<String> = row
        .with
        .iter()
        .map(|(axis, level)| format!("{} {}", safe(axis), safe(level)))
        .collect();
    let with = if with.is_empty() {
        String::new()
    } else {
        format!(", with {}", with.join(", "))
    };
    let (first, other) = (row.compared.first_runs, row.compared.other_runs);
    let (axis, from, to) = (safe(row.axis), safe(row.from), safe(row.to));
    format!("{axis}: {from} -> {to}{with} ({} and {})", runs(first), runs(other))
}

/// One line for every number that differs, and one for all others of a thread.
fn differences(text: &mut ReportText, compared: &SetComparison) {
    if compared.withheld.is_some() {
        text.wrapped_as(TextRole::Quiet, 2, 2, "no verdict");
    }
    let mut threads: Vec<&str> = Vec::new();
    for (quantity, _) in &compared.answers {
        if !threads.contains(&quantity.thread.as_str()) {
            threads.push(&quantity.thread);
        }
    }
    for thread in threads {
        let of_thread = compared
            .answers
            .iter()
            .filter(|(quantity, _)| quantity.thread == thread);
        let mut alike = Vec::new();
        for (quantity, answer) in of_thread {
            let mark = match answer.verdict {
                Verdict::Lower => ("better", TextRole::Good),
                Verdict::Higher => ("WORSE ", TextRole::Bad),
                Verdict::NotShown => {
                    alike.push(name(quantity.number));
                    continue;
                }
            };
            let (now, was) = (
                number_text(quantity.number, answer.other_mean),
                number_text(quantity.number, answer.first_mean),
            );
            let line = format!("{} {}: {now}, was {was}", safe(thread), name(quantity.number));
            text.marked(mark, 2, 10, &line);
        }
        if !alike.is_empty() {
            let line = format!("{}: no difference shown in {}", safe(thread), alike.join(", "));
            writeln!(text, "  -       {}", wrap(&line, 10, COLUMNS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compare::{ComparisonAnswer, Number, Quantity};
    use formats::{Basis, SeriesKind};
    use std::collections::BTreeMap;

    fn compared(verdict: Verdict) -> SetComparison {
        let requested = Quantity {
            thread: "CPU 1".to_owned(),
            kind: SeriesKind::Latency,
            basis: Basis::Samples,
            number: Number::Quantile(0.99),
        };
        let answer = ComparisonAnswer {
            first_mean: 80_500.0,
            other_mean: 40_500.0,
            difference: -40_000.0,
            interval: [-50_000.0, -30_000.0],
            p: 0.01,
            verdict,
            detectable: 10_000.0,
            resolution: 0.0,
        };
        SetComparison {
            first: "a".to_owned(),
            first_runs: 5,
            other: "b".to_owned(),
            other_runs: 4,
            run_ns: None,
            answers: vec![(requested, answer)],
            withheld: None,
            not_representative: BTreeMap::new(),
            one_after_the_other: false,
            conditions: Vec::new(),
        }
    }

    #[test]
    fn each_pair_has_its_difference_as_heading_and_cautions_appear_once() {
        let with = [("load".to_owned(), "idle".to_owned())];
        let (better, alike) = (compared(Verdict::Lower), compared(Verdict::NotShown));
        let row = |compared| PairRow {
            axis: "isolation",
            from: "none",
            to: "strict",
            with: &with,
            compared,
            apart_mc: None,
        };
        let text = study_text(&[row(&better), row(&alike)], Style::Plain);
        assert!(
            text.contains("isolation: none -> strict, with load idle (5 runs and 4 runs)\n"),
            "{text}"
        );
        assert!(text.contains("  better  CPU 1 p99: 40.5 us, was 80.5 us\n"), "{text}");
        assert!(text.contains("  -       CPU 1: no difference shown in p99\n"), "{text}");
        assert_eq!(text.matches("Means over the runs").count(), 1, "{text}");
        assert!(!text.contains("Temperature"), "{text}");
        let warm = PairRow {
            apart_mc: Some([[41_000, 44_500], [62_000, 62_000]]),
            ..row(&better)
        };
        let text = study_text(&[warm, row(&alike)], Style::Plain);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("the machine was at 41.0 to 44.5 °C, then at 62.0 °C"),
            "{text}"
        );
        assert_eq!(text.matches("Temperature may be").count(), 1, "{text}");
    }
}
