//! What is to be said of one thread below the table: the rest of its statistics, its schedule, its period, its spikes.

use super::{maybe_mean, maybe_time, time};
use crate::style::grouped;
use machine::Nanos;
use measure::{Distribution, Jitter, Spike, ThreadResult};

/// One line each, without indent.
pub(super) fn lines(thread: &ThreadResult) -> Vec<String> {
    let mut lines = Vec::new();
    if thread.recorded > 0 {
        lines.push(rest(thread));
    }
    // Where nothing was missed, the schedule saw what the thread saw.
    if thread.missed > 0
        && let Some(schedule) = &thread.schedule
    {
        lines.push(on_schedule(schedule));
    }
    if let Some(jitter) = &thread.jitter
        && jitter.distance.count > 0
    {
        lines.push(period(jitter));
    }
    if let Some(early) = &thread.early {
        lines.push(format!(
            "before its time: {} wake-ups, {} at most",
            grouped(early.count),
            time(early.max_ns)
        ));
    }
    lines.extend(spikes(thread));
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
        "all {} that were due, the missed ones as late as they would have been: p50 {}, p99 {}, p99.9 {}, max {}",
        grouped(schedule.count),
        maybe_time(schedule.p50_ns),
        maybe_time(schedule.p99_ns),
        maybe_time(schedule.p999_ns),
        maybe_time(schedule.max_ns)
    )
}

fn period(jitter: &Jitter) -> String {
    format!(
        "period: off by {} at p50, {} at p99; at most {} too long, {} too short",
        maybe_time(jitter.distance.p50_ns),
        maybe_time(jitter.distance.p99_ns),
        time(jitter.longer_ns),
        time(jitter.shorter_ns)
    )
}

/// How many, and the worst of them: all are in the result.
fn spikes(thread: &ThreadResult) -> Option<String> {
    const SHOWN: usize = 5;
    let (from, total) = (thread.spike_ns?, thread.spikes_total?);
    let mut worst: Vec<&Spike> = thread.spikes.iter().flatten().collect();
    worst.sort_unstable_by_key(|spike| std::cmp::Reverse(spike.late_ns));
    worst.truncate(SHOWN);
    worst.sort_unstable_by_key(|spike| spike.at_ns);
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
    Some(format!(
        "{} came {} late or more{list}",
        grouped(total),
        time(from)
    ))
}
