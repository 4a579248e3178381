//! Formats predictions: what each change would gain, best first, and what no change removes.

pub(crate) mod page;

use crate::blame::combined;
use crate::report_text::ReportText;
use crate::style::{Style, TextRole, counted, cut, safe};
use crate::units::{rate, time};
use measure::Environment;
use plan::Finding;
use predict::{ChangeEffect, Estimate, GapSummary, PlanEffect, PredictedChange, Prediction, ProposalKind};
use serde::Serialize;

/// The schema of the JSON document.
pub const PREDICT_SCHEMA: &str = "quietcore.predict/1";

/// What a range contains.
const RANGE_NOTE: &str = "With the same load, another watch of this length lies in the range in nine of ten cases.";

/// The longest name of a change on the screen.
const NAME_COLUMNS: usize = 28;

/// The JSON document `quietcore.predict/1`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictionDocument<'a> {
    /// The schema.
    pub schema: &'static str,
    /// The machine that was watched.
    pub environment: &'a Environment,
    /// The prediction.
    #[serde(flatten)]
    pub prediction: &'a Prediction,
    /// What to consider before the CPUs are isolated, as `plan` reports it.
    pub findings: &'a [Finding],
}

/// The verdict: one line.
#[must_use]
pub fn prediction_verdict(prediction: &Prediction) -> String {
    let cpus = &prediction.cpus;
    let now = per_second(prediction.now.stolen_ns_per_s.value);
    let now = match cpus.len() {
        1 => format!("CPU {cpus}: {now} of each second stolen"),
        _ => format!("CPU {cpus}: {now} of each second stolen, on average"),
    };
    match prediction.changes.first().filter(|change| is_effective(change)) {
        Some(best) => {
            let left = per_second(best.outcome.stolen_ns_per_s.value);
            let name = match best.change.kind {
                ProposalKind::Everything => "all safe changes together leave".to_owned(),
                _ => format!("{} leaves", safe(&best.change.name)),
            };
            format!("{now}; {name} {left}\n")
        }
        None if prediction.gaps == 0 => format!("CPU {cpus}: no gap was seen, so there is nothing to gain\n"),
        None => format!("{now}; no predicted change removes any of it\n"),
    }
}

/// The screen.
#[must_use]
pub fn prediction_text(prediction: &Prediction, style: Style) -> String {
    let mut text = ReportText::new(style);
    text.wrapped_as(TextRole::Head, 0, 2, prediction_verdict(prediction).trim_end());
    let best = prediction.changes.first().filter(|change| is_effective(change));
    if let Some(best) = best {
        writeln!(text);
        text.painted(TextRole::Head, "Next:");
        for command in combined(best.change.commands.iter().map(String::as_str)) {
            writeln!(text, "  {}", safe(&command));
        }
    }
    evidence(&mut text, prediction);
    table(&mut text, prediction);
    if let Some(best) = best {
        delays(&mut text, prediction, best);
    }
    remaining(&mut text, prediction);
    text.into_string()
}

/// How much was seen, and what limits the prediction.
fn evidence(text: &mut ReportText, prediction: &Prediction) {
    writeln!(text);
    let gaps = counted(usize::try_from(prediction.gaps).unwrap_or(usize::MAX), "gap");
    let others = prediction.others.map_or_else(String::new, |others| {
        format!(
            " The other CPUs were busy {:.0}% of the time.",
            others.busy_share * 100.0
        )
    });
    let lower = prediction
        .untraced
        .filter(|shares| shares.stolen.min(shares.gaps_10us) < 0.995);
    let trace = lower.map_or_else(String::new, |shares| {
        format!(
            " A second without the trace had {:.0}% of the time in gaps below 100 us, and {:.0}% of the gaps from 10 us; \
             the ranges include that.",
            shares.stolen * 100.0,
            shares.gaps_10us * 100.0
        )
    });
    let watched = format!(
        "Watched for {}: {gaps}.{others} {RANGE_NOTE}{trace}",
        time(prediction.watched_ns)
    );
    text.wrapped_as(TextRole::Quiet, 0, 2, &watched);
    for limit in limits(prediction) {
        text.wrapped_as(TextRole::Warning, 0, 2, limit);
    }
}

/// What limits the prediction, as sentences.
fn limits(prediction: &Prediction) -> Vec<&'static str> {
    let mut limits = Vec::new();
    if prediction.lost_events > 0 {
        limits.push(
            "The kernel lost events: causes may be missing, and then their time counts as unexplained. Record with \
             `blame --gaps FILE` and a larger --buffer, and use --from FILE.",
        );
    }
    if prediction.unlisted_gaps > 0 {
        limits.push(
            "Memory did not hold all gaps: the prediction uses those before it was full. Record with `blame --gaps \
             FILE` and a larger --memory, and use --from FILE.",
        );
    }
    let explained = prediction.now.stolen_ns_per_s.value - prediction.unexplained_ns_per_s;
    if prediction.gaps > 0 && explained < 1.0 {
        limits.push("No gap has a known cause, so no change can be judged.");
    }
    limits
}

/// What a recent watch predicts for a plan.
pub(crate) fn plan_effect(text: &mut ReportText, effect: &PlanEffect) {
    text.heading("Predicted effect");
    let watched = format!(
        "Watched for {}, until {}. {RANGE_NOTE}",
        time(effect.watched_ns),
        effect.watched_at
    );
    text.wrapped_as(TextRole::Quiet, 2, 2, &watched);
    heads(text);
    numbers(text, &effect.now, "no change");
    change_effect(text, &effect.with_plan, "this plan");
    if let Some(with_boot_line) = &effect.with_boot_line {
        change_effect(text, with_boot_line, "this plan and its boot line");
    }
}

fn change_effect(text: &mut ReportText, effect: &ChangeEffect, name: &str) {
    numbers(text, &effect.gaps, name);
    if !effect.remarks.is_empty() {
        text.wrapped_as(TextRole::Quiet, 12, 12, &safe(&effect.remarks));
    }
}

fn heads(text: &mut ReportText) {
    let head = format!(
        "{:>9} {:>19} {:>8} {:>9}  with",
        "stolen/s", "range", "gaps/s", "longest"
    );
    text.painted(TextRole::Quiet, &head);
}

fn table(text: &mut ReportText, prediction: &Prediction) {
    writeln!(text);
    heads(text);
    numbers(text, &(&prediction.now).into(), "no change");
    for change in &prediction.changes {
        numbers(text, &(&change.outcome).into(), &safe(&change.change.name));
        let remarks = change_remarks(change);
        if !remarks.is_empty() {
            text.wrapped_as(TextRole::Quiet, 12, 12, &remarks);
        }
    }
}

fn numbers(text: &mut ReportText, gaps: &GapSummary, name: &str) {
    let stolen = gaps.stolen_ns_per_s;
    writeln!(
        text,
        "{:>9} {:>19} {:>8} {:>9}  {}",
        per_second(stolen.value),
        range(stolen),
        rate(gaps.gaps_per_s.value),
        time(gaps.longest_ns),
        cut(name, NAME_COLUMNS)
    );
}

/// What to know before making the change: its price, and the limits of its prediction. Empty if there is nothing.
#[must_use]
pub fn change_remarks(change: &PredictedChange) -> String {
    let mut remarks = Vec::new();
    if !is_effective(change) {
        remarks.push("no effect seen".to_owned());
    }
    if change.change.needs_reboot {
        remarks.push("needs a reboot".to_owned());
    }
    if !change.change.costs.is_empty() {
        remarks.push(format!("costs {}", change.change.costs.join(", ")));
    }
    if !change.change.excluded.is_empty() {
        remarks.push(format!(
            "without {}, which has risks",
            safe(&change.change.excluded.join(", "))
        ));
    }
    if change.moved_ns_per_s >= 1.0 {
        let moved = per_second(change.moved_ns_per_s);
        let then = change.others_busy_share.map(|share| share * 100.0);
        let then = then.map_or_else(String::new, |percent| format!(", then busy up to {percent:.0}%"));
        remarks.push(format!("moves up to {moved} to other CPUs{then}"));
    }
    if change.inferred_ns_per_s >= 1.0 {
        remarks.push("causes partly inferred".to_owned());
    }
    if let Some(needs_ns) = change.needs_watch_ns {
        let seconds = needs_ns.div_ceil(1_000_000_000);
        remarks.push(format!("rare: watch for {seconds} s"));
    }
    remarks.join("; ")
}

fn is_effective(change: &PredictedChange) -> bool {
    change.removed_ns_per_s.value > 0.0
}

/// The delay of periodic wake-ups, without a change and with the best one.
fn delays(text: &mut ReportText, prediction: &Prediction, best: &PredictedChange) {
    let pairs = prediction.now.delays.iter().zip(&best.outcome.delays);
    let shares: Vec<String> = pairs
        .filter(|(now, _)| now.ns > 0)
        .map(|(now, with)| {
            let percent = ((1.0 - now.share) * 10_000.0).round() / 100.0;
            format!(
                "{percent}% by at least {} ({} with the first change)",
                time(now.ns),
                time(with.ns)
            )
        })
        .collect();
    if !shares.is_empty() {
        writeln!(text);
        let base = prediction.base_latency_ns.map_or_else(String::new, |base_ns| {
            format!(
                " Without gaps, half of those of a real-time thread are at most {} late.",
                time(base_ns)
            )
        });
        let line = format!("Periodic wake-ups that gaps delay: {}.{base}", shares.join(", "));
        text.wrapped(0, 2, &line);
    }
}

fn remaining(text: &mut ReportText, prediction: &Prediction) {
    if prediction.remaining.is_empty() && prediction.unexplained_ns_per_s < 1.0 {
        return;
    }
    text.heading("No change removes:");
    for cause in &prediction.remaining {
        let words = format!("{}: {}", safe(&cause.name), safe(&cause.why));
        let share = format!("{:>9}", per_second(cause.stolen_ns_per_s));
        text.marked((&share, TextRole::Quiet), 0, 11, &words);
    }
    if prediction.unexplained_ns_per_s >= 1.0 {
        let share = format!("{:>9}", per_second(prediction.unexplained_ns_per_s));
        text.marked((&share, TextRole::Quiet), 0, 11, "without a known cause");
    }
}

/// What is left, in one line.
pub(crate) fn left_text(left: &GapSummary) -> String {
    format!(
        "{} of each second stolen ({})",
        per_second(left.stolen_ns_per_s.value),
        range(left.stolen_ns_per_s)
    )
}

fn per_second(ns: f64) -> String {
    time(ns.max(0.0).round() as u64)
}

fn range(estimate: Estimate) -> String {
    format!("{} - {}", per_second(estimate.low), per_second(estimate.high))
}
