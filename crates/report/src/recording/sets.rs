//! Reports in words what repetitions show: what is better or worse, and by how much; what was not shown, and what would show it.

use super::comparison::{Judged, judged_text};
use super::share_name;
use crate::bound::{Side, at_most, number_bound, time_bound};
use crate::style::{COLUMNS, Role, Style, safe, wrap};
use crate::units::time;
use compare::{Answer, Compared, Number, Quantity, Verdict, Withheld};
use formats::Basis;
use machine::Nanos;
use std::fmt::Write as _;

/// The screen of sets of repetitions. `detect` is the size of a difference that must be detectable.
#[must_use]
pub fn sets_text(sets: &[Compared], detect: Option<Nanos>, judged: &[Judged], style: Style) -> String {
    let mut text = String::new();
    for (place, one) in sets.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        text.push_str(&set_text(one, detect, style));
    }
    text.push_str(&judged_text(judged, style));
    text
}

fn set_text(one: &Compared, detect: Option<Nanos>, style: Style) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}",
        style.paint(Role::Head, &wrap(&set_head(one), 2, COLUMNS))
    );
    let mut said = None;
    for (asked, answer) in &one.answers {
        if said != Some(&asked.thread) {
            said = Some(&asked.thread);
            let by = match asked.basis {
                Basis::Schedule => ", all expected wake-ups",
                _ => "",
            };
            let _ = writeln!(text, "  {}{by}", safe(&asked.thread));
        }
        let (word, role) = match answer.verdict {
            Verdict::Lower => ("better", Role::Good),
            Verdict::Higher => ("WORSE", Role::Bad),
            Verdict::NotShown => ("-", Role::Quiet),
        };
        let line = format!("{}: {}", name(asked.number), words(one, asked, answer, detect));
        let _ = writeln!(
            text,
            "    {}{:gap$}{}",
            style.paint(role, word),
            "",
            wrap(&line, 12, COLUMNS),
            gap = 8 - word.len()
        );
    }
    for line in cautions(one) {
        let _ = writeln!(text, "  {}", style.paint(Role::Care, &wrap(&line, 4, COLUMNS)));
    }
    text
}

/// The names of the two sets, and the number and length of their runs.
pub(crate) fn set_head(one: &Compared) -> String {
    let length = one
        .run_ns
        .map_or_else(String::new, |ns| format!(", {} each", time(ns)));
    format!(
        "{}: {}, against {}: {}{length}",
        safe(&one.other),
        runs(one.other_runs),
        safe(&one.first),
        runs(one.first_runs)
    )
}

pub(crate) fn words(one: &Compared, asked: &Quantity, answer: &Answer, detect: Option<Nanos>) -> String {
    let number = asked.number;
    let means = format!(
        "{}, was {}",
        shown(number, answer.other_mean),
        shown(number, answer.first_mean)
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
            let detectable = bound(number, answer.detectable, Side::Upper);
            format!(
                "no difference shown ({means}); one of {detectable} would be{}",
                more(one, asked, answer, detect)
            )
        }
    }
}

/// The number of repetitions needed to detect more.
fn more(one: &Compared, asked: &Quantity, answer: &Answer, detect: Option<Nanos>) -> String {
    let size = match (asked.number, detect) {
        (Number::Quantile(_), Some(size)) => size.0 as f64,
        _ => answer.detectable / 2.0,
    };
    if size <= 0.0 || answer.detectable <= size {
        return String::new();
    }
    let what = bound(asked.number, size, Side::Upper);
    let Some(times) = answer.times_for(size) else {
        return format!(", one of {what} never: the files are not so fine");
    };
    let now = one.first_runs.max(one.other_runs) as f64;
    let runs = (now * times).ceil();
    let added = 2.0 * runs - (one.first_runs + one.other_runs) as f64;
    let longer = one.run_ns.map_or_else(String::new, |ns| {
        format!(", {} more", at_most(whole(added * ns as f64, Side::Upper)))
    });
    format!(", one of {what} by {runs} runs of each{longer}")
}

pub(crate) fn cautions(one: &Compared) -> Vec<String> {
    let mut lines = Vec::new();
    match &one.withheld {
        Some(Withheld::TooFew(why)) => lines.push(format!("No verdict: {why}.")),
        Some(Withheld::Emulated(runs)) => lines.push(format!(
            "No verdict: {runs} of these runs were measured on an emulated processor, whose times mean nothing."
        )),
        Some(Withheld::NothingInCommon) => {
            lines.push("No verdict: no CPU was measured in the same way by all of these runs.".to_owned());
        }
        None => lines.push(
            "Each line compares means over the runs. That any difference is called one without being one has a chance of at \
             most 5 %, over all lines together; \"would be\" means four times of five."
                .to_owned(),
        ),
    }
    if one.one_after_the_other {
        lines.push(format!(
            "All runs of {} were measured before or after all of {}: what changed on the machine in between looks like a \
             difference. Alternate them.",
            safe(&one.other),
            safe(&one.first)
        ));
    }
    for (name, first, other) in &one.conditions {
        lines.push(format!(
            "May be the reason: {} was {}, is {}.",
            safe(name),
            safe(first),
            safe(other)
        ));
    }
    if !one.not_representative.is_empty() {
        let said = |(why, count): (&String, &usize)| format!("{} ({})", safe(why), runs(*count));
        let all: Vec<String> = one.not_representative.iter().map(said).collect();
        lines.push(format!("Not as the machine will be used: {}.", all.join(", ")));
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

pub(crate) fn shown(number: Number, value: f64) -> String {
    match number {
        Number::Quantile(_) => duration(value),
        Number::Stolen => format!("{} each second", duration(value)),
        Number::Rate(_) if value >= 10.0 => format!("{value:.0} each second"),
        Number::Rate(_) => format!("{value:.2} each second"),
    }
}

/// The size of a difference as an interval, in ascending order, rounded outwards.
pub(crate) fn range(number: Number, interval: [f64; 2]) -> String {
    let [one, other] = interval.map(f64::abs);
    format!(
        "{} to {}",
        bound(number, one.min(other), Side::Lower),
        bound(number, one.max(other), Side::Upper)
    )
}

/// Like [`shown`], rounded in one direction.
pub(crate) fn bound(number: Number, value: f64, side: Side) -> String {
    let time = || time_bound(whole(value, side), side);
    match number {
        Number::Quantile(_) => time(),
        Number::Stolen => format!("{} each second", time()),
        Number::Rate(_) if value >= 10.0 => format!("{} each second", whole(value, side)),
        Number::Rate(_) => format!("{} each second", number_bound(value, 3, side)),
    }
}

/// As an integer, rounded in one direction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Both are far below, and none is negative.
fn whole(value: f64, side: Side) -> u64 {
    let value = value.max(0.0);
    match side {
        Side::Lower => value.floor() as u64,
        Side::Upper => value.ceil() as u64,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Times are far below, and none is negative.
fn duration(ns: f64) -> String {
    super::short(ns.max(0.0).round() as u64)
}
