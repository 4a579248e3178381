//! Reports which knob helped: one sentence, one table sorted by effect, and the evidence for each line of it.

mod prediction;

pub use prediction::prediction_check_text;

use crate::recording::sets::{name, runs, words};
use crate::report_text::ReportText;
use crate::study::common_remarks;
use crate::style::{Style, TextRole, safe};
use compare::{ComparisonAnswer, Quantity, Verdict};
use study::which_knob::{KnobAnswer, KnobComparison, KnobEffect};

/// The validity of the sentences.
const PROMISE: &str = "The chance that a knob is wrongly reported as helpful or harmful is at most 5 %, over all knobs \
     together; each range has a confidence of 95 % within its own pair of cells.";

/// Further facts for the report.
#[derive(Clone, Copy, Debug)]
pub struct KnobReportContext<'a> {
    /// Names of the cells, by index.
    pub cells: &'a [String],
    /// The minimum number of repetitions per cell that can show a difference.
    pub least_repetitions: usize,
    /// The smallest number of repetitions of any cell.
    pub repetitions: usize,
}

/// The answers, in their order.
#[must_use]
pub fn which_knob_text(answers: &[KnobAnswer], context: &KnobReportContext, style: Style) -> String {
    let mut text = ReportText::new(style);
    for line in summary(answers) {
        text.wrapped_as(TextRole::Head, 0, 2, &line);
    }
    writeln!(text);
    let head = row(["knob", "", "alone", "with the others"]);
    text.painted(TextRole::Quiet, &head.join(" "));
    for one in answers {
        let (word, role) = verdict(one.effect);
        let [knob, word, alone, in_plan] = row([
            &safe(&one.question.knob),
            word,
            &cell(one.alone.as_ref(), &one.question.needs),
            &cell(one.in_plan.as_ref(), &[]),
        ]);
        let line = format!("{knob} {} {alone} {in_plan}", style.paint(role, &word));
        writeln!(text, "{}", line.trim_end());
    }
    writeln!(text);
    for one in answers {
        evidence(&mut text, one, context);
    }
    for line in remarks(answers, context) {
        text.wrapped_as(TextRole::Warning, 0, 2, &line);
    }
    text.into_string()
}

/// One sentence for each result about a knob.
#[must_use]
pub fn summary(answers: &[KnobAnswer]) -> Vec<String> {
    let of = |effect: KnobEffect, words: &str| {
        let knobs: Vec<String> = answers
            .iter()
            .filter(|one| one.effect == effect)
            .map(|one| safe(&one.question.knob))
            .collect();
        (!knobs.is_empty()).then(|| format!("{words}: {}.", knobs.join(", ")))
    };
    let all = [
        of(KnobEffect::Helped, "Helped this machine"),
        of(
            KnobEffect::HelpedAndDidHarm,
            "Improved some numbers and worsened others",
        ),
        of(KnobEffect::DidHarm, "Harmful"),
        of(KnobEffect::NotShown, "No difference shown"),
        of(KnobEffect::NoVerdict, "No verdict"),
    ];
    all.into_iter().flatten().collect()
}

fn verdict(effect: KnobEffect) -> (&'static str, TextRole) {
    match effect {
        KnobEffect::Helped => ("helped", TextRole::Good),
        KnobEffect::HelpedAndDidHarm => ("both", TextRole::Warning),
        KnobEffect::DidHarm => ("HARM", TextRole::Bad),
        KnobEffect::NotShown => ("-", TextRole::Quiet),
        KnobEffect::NoVerdict => ("?", TextRole::Quiet),
    }
}

fn row(cells: [&str; 4]) -> [String; 4] {
    let [knob, word, alone, in_plan] = cells;
    [
        format!("{knob:<29}"),
        format!("{word:<6}"),
        format!("{alone:<22}"),
        in_plan.to_owned(),
    ]
}

/// The result of one comparison, in a few letters.
fn cell(side: Option<&KnobComparison>, needs: &[String]) -> String {
    let Some(side) = side else {
        return match needs {
            [] => String::new(),
            [one] => format!("needs {}", safe(one)),
            several => format!("needs one of {}", several.len()),
        };
    };
    let headline = side.headline().filter(|place| side.counts.contains(place));
    let quantity = headline.and_then(|place| side.compared.answers.get(place).map(|(quantity, _)| quantity));
    match (headline.and_then(|place| side.share(place)), quantity) {
        (Some(share), Some(quantity)) => format!("{} {:+.0} %", name(quantity.number), share * 100.0),
        _ if side.compared.answers.is_empty() => "no verdict".to_owned(),
        _ => "no difference shown".to_owned(),
    }
}

fn evidence(text: &mut ReportText, one: &KnobAnswer, context: &KnobReportContext) {
    let mut lines = Vec::new();
    let needs: Vec<String> = one.question.needs.iter().map(|knob| safe(knob)).collect();
    if !needs.is_empty() {
        lines.push(format!("no effect alone: it needs {}", needs.join(" or ")));
    }
    let along: Vec<String> = one.question.along.iter().map(|knob| safe(knob)).collect();
    if !along.is_empty() {
        lines.push(format!("left out together with {}, which needs it", along.join(", ")));
    }
    let sides = [(one.question.alone, &one.alone), (one.question.in_plan, &one.in_plan)];
    for (pair, side) in sides {
        let Some(pair) = pair else { continue };
        let cell = |place: usize| context.cells.get(place).map_or("?".to_owned(), |cell| safe(cell));
        let head = format!("{} -> {}", cell(pair[0]), cell(pair[1]));
        match side {
            None => lines.push(format!("{head}: no result yet")),
            Some(side) => {
                lines.push(format!("{head}:"));
                lines.extend(significant_numbers(side));
            }
        }
    }
    writeln!(text, "{}", safe(&one.question.knob));
    for line in lines {
        text.wrapped_as(TextRole::Quiet, 2, 6, &line);
    }
}

/// All numbers that are significant over all knobs, largest relative difference first; otherwise the most certain one.
fn significant_numbers(side: &KnobComparison) -> Vec<String> {
    let Some(headline) = side.headline() else {
        return vec!["no verdict".to_owned()];
    };
    let others = side.counts.iter().copied().filter(|place| *place != headline);
    let answers = std::iter::once(headline)
        .chain(others)
        .filter_map(|place| Some((place, side.compared.answers.get(place)?)));
    let percent = side.p.map_or(100.0, |p| p * 100.0);
    let line = |(place, (quantity, answer)): (usize, &(Quantity, ComparisonAnswer))| {
        let is_reported_only = side.reported.contains(&place);
        let word = match answer.verdict {
            _ if side.counts.is_empty() || is_reported_only => "",
            Verdict::Lower => "better: ",
            Verdict::Higher => "WORSE: ",
            Verdict::NotShown => "",
        };
        let text = words(&side.compared, quantity, answer, None);
        let alone = match answer.verdict {
            _ if is_reported_only => {
                "; not harmful, because less time is stolen and the longest gaps are not longer".to_owned()
            }
            Verdict::Lower | Verdict::Higher if side.counts.is_empty() => {
                format!("; significant alone, but not over all knobs (p {percent:.0} %)")
            }
            _ => String::new(),
        };
        format!(
            "{word}{} {}: {text}{alone}",
            safe(&quantity.thread),
            name(quantity.number)
        )
    };
    let mut lines: Vec<String> = answers.map(line).collect();
    if !side.counts.is_empty() {
        lines.push(format!(
            "the chance of this without a real difference is {percent:.2} %, over all knobs"
        ));
    }
    lines
}

fn remarks(answers: &[KnobAnswer], context: &KnobReportContext) -> Vec<String> {
    let few = (context.repetitions < context.least_repetitions).then(|| {
        format!(
            "{} of each cell cannot show a difference over so many comparisons; {} can.",
            runs(context.repetitions),
            context.least_repetitions
        )
    });
    let sides = answers.iter().flat_map(KnobAnswer::sides);
    common_remarks(PROMISE, sides.map(|side| &side.compared), few)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compare::{Number, SetComparison};
    use formats::{Basis, SeriesKind};
    use std::collections::BTreeMap;
    use study::which_knob::{KnobQuestion, knob_answers};

    /// A comparison with one answer, with that p-value.
    fn compared(other_mean: f64, verdict: Verdict, p: f64) -> SetComparison {
        let requested = Quantity {
            thread: "CPU 1".to_owned(),
            kind: SeriesKind::Latency,
            basis: Basis::Samples,
            number: Number::Quantile(0.99),
        };
        let difference = other_mean - 80_000.0;
        let answer = ComparisonAnswer {
            first_mean: 80_000.0,
            other_mean,
            difference,
            interval: [difference - 1_000.0, difference + 1_000.0],
            p,
            verdict,
            detectable: 10_000.0,
            resolution: 0.0,
        };
        SetComparison {
            first: "a".to_owned(),
            first_runs: 8,
            other: "b".to_owned(),
            other_runs: 8,
            run_ns: None,
            answers: vec![(requested, answer)],
            withheld: None,
            not_representative: BTreeMap::new(),
            one_after_the_other: false,
            conditions: Vec::new(),
        }
    }

    #[test]
    fn knobs_are_judged_over_all_knobs_and_the_table_shows_the_effect() {
        let question = |knob: &str, alone, in_plan, needs: &[&str]| KnobQuestion {
            knob: knob.to_owned(),
            alone,
            in_plan,
            needs: needs.iter().map(|knob| (*knob).to_owned()).collect(),
            along: Vec::new(),
        };
        let questions = [
            question("irq_affinity", Some([0, 3]), None, &[]),
            question("rq_affinity", None, Some([1, 2]), &["irq_affinity"]),
            question("ksm_run", Some([0, 1]), None, &[]),
        ];
        let answers = knob_answers(&questions, &mut |[_, with]| {
            Some(match with {
                1 => compared(40_000.0, Verdict::Lower, 0.001),
                2 => compared(120_000.0, Verdict::Higher, 0.002),
                _ => compared(60_000.0, Verdict::Lower, 0.06),
            })
        });
        let cells = ["bare", "only_ksm_run", "full", "only_irq_affinity"].map(str::to_owned);
        let context = KnobReportContext {
            cells: &cells,
            least_repetitions: 5,
            repetitions: 8,
        };
        let text = which_knob_text(&answers, &context, Style::Plain);
        for words in [
            "Helped this machine: ksm_run.\nHarmful: rq_affinity.\nNo difference shown: irq_affinity.\n",
            "ksm_run                       helped p99 -50 %\n",
            "needs irq_affinity     p99 +33 %\n",
            "  bare -> only_ksm_run:\n  better: CPU 1 p99: ",
            "is 0.30 %",
            "knobs (p 6 %)",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("cannot show a difference"), "{text}");
        let few = KnobReportContext {
            repetitions: 4,
            ..context
        };
        assert!(which_knob_text(&answers, &few, Style::Plain).contains("cannot show a difference"));
    }
}
