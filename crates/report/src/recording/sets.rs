//! Reports in words what repetitions show: what is better or worse, and by how much; what was not shown, and what would show it.

use super::comparison::{RequirementResult, judged_text, required};
use super::{conclusion, share_name};
use crate::bound::{BoundSide, at_most, number_bound, time_bound};
use crate::report_text::ReportText;
use crate::style::{Style, TextRole, safe};
use crate::units::time;
use compare::{ComparisonAnswer, NoVerdictReason, Number, Quantity, SetComparison, Verdict};
use formats::Basis;
use machine::Nanos;

/// The screen of sets of repetitions. `detect` is the size of a difference that must be detectable.
#[must_use]
pub fn sets_text(sets: &[SetComparison], detect: Option<Nanos>, judged: &[RequirementResult], style: Style) -> String {
    let mut text = ReportText::new(style);
    for (place, one) in sets.iter().enumerate() {
        if place > 0 {
            writeln!(text);
        }
        set_text(&mut text, one, detect);
    }
    judged_text(&mut text, judged);
    conclusion::of_sets(&mut text, sets, required(judged));
    text.into_string()
}

fn set_text(text: &mut ReportText, one: &SetComparison, detect: Option<Nanos>) {
    text.wrapped_as(TextRole::Head, 0, 2, &set_head(one));
    let mut current = None;
    for (quantity, answer) in &one.answers {
        if current != Some(&quantity.thread) {
            current = Some(&quantity.thread);
            let by = match quantity.basis {
                Basis::Schedule => ", all expected wake-ups",
                _ => "",
            };
            writeln!(text, "  {}{by}", safe(&quantity.thread));
        }
        let mark = match answer.verdict {
            Verdict::Lower => ("better", TextRole::Good),
            Verdict::Higher => ("WORSE", TextRole::Bad),
            Verdict::NotShown => ("-", TextRole::Quiet),
        };
        let line = format!("{}: {}", name(quantity.number), words(one, quantity, answer, detect));
        text.marked(mark, 4, 12, &line);
    }
    if !one.answers.is_empty() {
        text.wrapped_as(TextRole::Quiet, 2, 4, &conclusion::marks(one));
    }
    for line in cautions(one) {
        text.wrapped_as(TextRole::Warning, 2, 4, &line);
    }
}

/// The names of the two sets, and the number and length of their runs.
pub(crate) fn set_head(one: &SetComparison) -> String {
    let length = one.run_ns.map_or_else(String::new, |ns| format!(", {} each", time(ns)));
    format!(
        "{}: {}; compared with {}: {}{length}",
        safe(&one.other),
        runs(one.other_runs),
        safe(&one.first),
        runs(one.first_runs)
    )
}

pub(crate) fn words(
    one: &SetComparison,
    quantity: &Quantity,
    answer: &ComparisonAnswer,
    detect: Option<Nanos>,
) -> String {
    let number = quantity.number;
    let means = format!(
        "{}, was {}",
        number_text(number, answer.other_mean),
        number_text(number, answer.first_mean)
    );
    match answer.verdict {
        Verdict::Lower | Verdict::Higher => {
            let word = if answer.verdict == Verdict::Lower {
                "less"
            } else {
                "more"
            };
            format!("{} {word} ({means})", range(number, answer.interval))
        }
        Verdict::NotShown => {
            let detectable = bound(number, answer.detectable, BoundSide::Upper);
            format!(
                "no difference shown ({means}); a difference of {detectable} would be shown{}",
                more(one, quantity, answer, detect)
            )
        }
    }
}

/// The number of repetitions needed to detect more.
fn more(one: &SetComparison, quantity: &Quantity, answer: &ComparisonAnswer, detect: Option<Nanos>) -> String {
    let size = match (quantity.number, detect) {
        (Number::Quantile(_), Some(size)) => size.0 as f64,
        _ => answer.detectable / 2.0,
    };
    if size <= 0.0 || answer.detectable <= size {
        return String::new();
    }
    let what = bound(quantity.number, size, BoundSide::Upper);
    let Some(times) = answer.times_for(size) else {
        return format!(", {what} cannot be shown: the resolution of the files is too low");
    };
    let now = one.first_runs.max(one.other_runs) as f64;
    let runs = (now * times).ceil();
    let added = 2.0 * runs - (one.first_runs + one.other_runs) as f64;
    let longer = one.run_ns.map_or_else(String::new, |ns| {
        format!(", {} more", at_most(whole(added * ns as f64, BoundSide::Upper)))
    });
    format!(", {what} with {runs} runs of each{longer}")
}

pub(crate) fn cautions(one: &SetComparison) -> Vec<String> {
    let mut lines = Vec::new();
    match &one.withheld {
        Some(NoVerdictReason::TooFew(why)) => lines.push(format!("No verdict: {why}.")),
        Some(NoVerdictReason::Emulated(runs)) => lines.push(format!(
            "No verdict: {runs} of these runs were measured on an emulated processor, whose times mean nothing."
        )),
        Some(NoVerdictReason::NothingInCommon) => {
            lines.push("No verdict: no CPU was measured in the same way in all of these runs.".to_owned());
        }
        None => lines.push(
            "Each line compares means over the runs. The chance of a false difference is at most 5 %, over all lines \
             together; \"would be shown\" means in four of five cases."
                .to_owned(),
        ),
    }
    if one.one_after_the_other {
        lines.push(format!(
            "All runs of {} were measured before or after all of {}: a change of the machine between them looks like a \
             difference. Alternate them.",
            safe(&one.other),
            safe(&one.first)
        ));
    }
    for (name, first, other) in &one.conditions {
        lines.push(format!(
            "Possible reason: {} was {}, is {}.",
            safe(name),
            safe(first),
            safe(other)
        ));
    }
    if !one.not_representative.is_empty() {
        let counted_reason = |(why, count): (&String, &usize)| format!("{} ({})", safe(why), runs(*count));
        let all: Vec<String> = one.not_representative.iter().map(counted_reason).collect();
        lines.push(format!("Not representative of normal operation: {}.", all.join(", ")));
    }
    lines
}

pub(crate) fn runs(count: usize) -> String {
    match count {
        1 => "1 run".to_owned(),
        count => format!("{count} runs"),
    }
}

pub(crate) fn name(number: Number) -> String {
    match number {
        Number::Quantile(share) => share_name(share),
        Number::Stolen => "stolen".to_owned(),
        Number::Rate(length_ns) => format!("gaps from {}", time(length_ns)),
    }
}

pub(crate) fn number_text(number: Number, value: f64) -> String {
    match number {
        Number::Quantile(_) => duration(value),
        Number::Stolen => format!("{} per second", duration(value)),
        Number::Rate(_) if value >= 10.0 => format!("{value:.0} per second"),
        Number::Rate(_) => format!("{value:.2} per second"),
    }
}

/// The size of a difference as an interval, in ascending order, rounded outwards.
pub(crate) fn range(number: Number, interval: [f64; 2]) -> String {
    let [one, other] = interval.map(f64::abs);
    format!(
        "{} to {}",
        bound(number, one.min(other), BoundSide::Lower),
        bound(number, one.max(other), BoundSide::Upper)
    )
}

/// Like [`number_text`], rounded in one direction.
pub(crate) fn bound(number: Number, value: f64, side: BoundSide) -> String {
    let time = || time_bound(whole(value, side), side);
    match number {
        Number::Quantile(_) => time(),
        Number::Stolen => format!("{} per second", time()),
        Number::Rate(_) if value >= 10.0 => format!("{} per second", whole(value, side)),
        Number::Rate(_) => format!("{} per second", number_bound(value, 3, side)),
    }
}

/// As an integer, rounded in one direction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Both are far below, and none is negative.
fn whole(value: f64, side: BoundSide) -> u64 {
    let value = value.max(0.0);
    match side {
        BoundSide::Lower => value.floor() as u64,
        BoundSide::Upper => value.ceil() as u64,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Times are far below, and none is negative.
fn duration(ns: f64) -> String {
    super::short(ns.max(0.0).round() as u64)
}
