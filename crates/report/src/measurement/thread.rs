//! Formats facts about one thread below the table: the rest of its statistics, its schedule, its period, its spikes.

use crate::bound::{BoundSide, at_least, at_most, number_bound};
use crate::style::grouped;
use crate::units::{maybe_mean, maybe_time};
use machine::Nanos;
use machine::OrderBy;
use measure::{ClaimVerdict, Distribution, Jitter, LateWakeUp, Proof, ThreadResult};

/// One line each, without indent.
pub(super) fn lines(thread: &ThreadResult) -> Vec<String> {
    let mut lines = Vec::new();
    if thread.recorded > 0 {
        lines.push(rest(thread));
    }
    // Without missed wake-ups, the schedule equals the samples.
    if thread.missed > 0
        && let Some(schedule) = &thread.schedule
    {
        lines.push(on_schedule(schedule));
    }
    if let Some(irq) = &thread.irq {
        lines.push(until_interrupt(irq));
    }
    if let Some(jitter) = &thread.jitter
        && jitter.distance.count > 0
    {
        lines.push(period(jitter));
    }
    if let Some(early) = &thread.early {
        lines.push(format!(
            "early: {} wake-ups, by at most {}",
            grouped(early.count),
            at_most(early.max_ns)
        ));
    }
    lines.extend(spikes(thread));
    lines.extend(thread.proof.as_ref().map(proof));
    lines
}

fn rest(thread: &ThreadResult) -> String {
    let mut parts = vec![format!("deviation {}", maybe_mean(thread.stddev_ns))];
    for (name, value) in [
        ("mode", thread.mode_ns),
        ("p90", thread.p90_ns),
        ("p99.99", thread.p9999_ns),
        ("p99.999", thread.p99999_ns),
    ] {
        if let Some(value) = value {
            parts.push(format!("{name} {}", Nanos(value)));
        }
    }
    parts.join(", ")
}

fn on_schedule(schedule: &Distribution) -> String {
    format!(
        "all {} expected, missed ones with their estimated latency: p50 {}, p99 {}, p99.9 {}, max {}",
        grouped(schedule.count),
        maybe_time(schedule.p50_ns),
        maybe_time(schedule.p99_ns),
        maybe_time(schedule.p999_ns),
        maybe_time(schedule.max_ns)
    )
}

fn until_interrupt(irq: &Distribution) -> String {
    format!(
        "until the timer's interrupt: p50 {}, p99 {}, p99.9 {}, max {} of {}",
        maybe_time(irq.p50_ns),
        maybe_time(irq.p99_ns),
        maybe_time(irq.p999_ns),
        maybe_time(irq.max_ns),
        grouped(irq.count)
    )
}

fn period(jitter: &Jitter) -> String {
    format!(
        "period deviation: {} at p50, {} at p99; at most {} too long, {} too short",
        maybe_time(jitter.distance.p50_ns),
        maybe_time(jitter.distance.p99_ns),
        at_most(jitter.longer_ns),
        at_most(jitter.shorter_ns)
    )
}

/// What the run proves, and what a full proof would need.
fn proof(proof: &Proof) -> String {
    let limit = at_most(proof.limit_ns);
    let seen = match (proof.trials, proof.above) {
        (Some(trials), above) => format!("{} of {} were later than {limit}", grouped(above), grouped(trials)),
        (None, above) => format!("{} gaps were longer than {limit}", grouped(above)),
    };
    let upper = |bound| number_bound(bound, 2, BoundSide::Upper);
    let what = match proof.trials {
        Some(_) => format!("at most {} of all wake-ups are", upper(proof.bound)),
        None => format!("there are at most {} of them per second", upper(proof.bound)),
    };
    let how = match proof.method.as_str() {
        "zero_events" => "rule of three, exact",
        "clopper_pearson" => "Clopper-Pearson",
        _ => "Poisson",
    };
    let mut text = format!(
        "proves: {seen}; with {} % confidence {what} ({how})",
        proof.confidence_percent
    );
    if let Some(claim) = proof.claim {
        let verdict = match claim.verdict {
            ClaimVerdict::Shown => "shown",
            ClaimVerdict::NotShown => "not shown yet",
            ClaimVerdict::Refuted => "REFUTED",
        };
        text.push_str(&format!("; the claim of {} is {verdict}", as_given(claim.at_most)));
        if let Some(needed) = claim.needed_ns.filter(|_| claim.verdict == ClaimVerdict::NotShown) {
            text.push_str(&format!(
                "; this needs {} in total, without a further one",
                long_time(needed)
            ));
        }
    }
    text
}

/// A number from the user, with all its digits.
fn as_given(value: f64) -> String {
    if value == 0.0 || (0.001..1_000.0).contains(&value) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// A lower bound of a possibly long time, for people: rounded up.
fn long_time(ns: u64) -> String {
    let minutes = ns.div_ceil(60_000_000_000);
    match minutes {
        0..=2 => at_most(ns),
        3..=119 => format!("{minutes} min"),
        120..=2_879 => format!("{} h", minutes.div_ceil(60)),
        _ => format!("{} days", grouped(minutes.div_ceil(1_440))),
    }
}

/// The number of spikes, and the worst ones; the result contains all.
fn spikes(thread: &ThreadResult) -> Option<String> {
    const MAX_LISTED: usize = 5;
    let (from, total) = (thread.spike_ns?, thread.spikes_total?);
    let mut worst: Vec<&LateWakeUp> = thread.spikes.iter().flatten().collect();
    worst.order_by_key(|spike| std::cmp::Reverse(spike.late_ns));
    worst.truncate(MAX_LISTED);
    worst.order_by_key(|spike| spike.at_ns);
    let shown: Vec<String> = worst
        .iter()
        .map(|spike| format!("{} at {}", Nanos(spike.late_ns), Nanos(spike.at_ns)))
        .collect();
    let which = match total > shown.len() as u64 {
        true => "the latest: ",
        false => "",
    };
    let list = match shown.is_empty() {
        true => String::new(),
        false => format!(": {which}{}", shown.join(", ")),
    };
    Some(format!("{} late by {} or more{list}", grouped(total), at_least(from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_printed_as_given() {
        for (value, text) in [
            (0.0012, "0.0012"),
            (0.002, "0.002"),
            (12.5, "12.5"),
            (1e-7, "1e-7"),
            (0.0, "0"),
        ] {
            assert_eq!(as_given(value), text);
        }
    }
}
