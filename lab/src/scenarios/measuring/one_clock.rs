//! `measure all` uses one clock for both kinds: the time at which one thread reports that it ran lies in a gap that the
//! other thread saw on the same CPU and marked as its own. The check recalculates this from the times in the result
//! alone.

use super::{accounts, measured, threads};
use crate::records::GuestRecords;
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Lists every wake-up, because each is later than a nanosecond. The caller may not run on CPU 3.
pub const SCRIPT: &str = "rec both taskset -c 0 quietcore measure all --interval 50ms --spike 1ns --for 2s --json\n";

/// If a thread loses its CPU between two clock readings at its start, it reports all its gaps late by that time. On an
/// emulated CPU that is a fraction of a millisecond. Wake-ups are fifty milliseconds apart, and only gaps marked as own
/// count.
const SLACK_NS: u64 = 1_000_000;

/// Checks the records of [`SCRIPT`].
pub fn check(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let result = verdict.status(seen, "both", 0).json();
    accounts("both", &result, verdict);
    verdict.equal("both: measured CPUs", measured(&result), vec![3, 3]);
    let of = |kind: &str| threads(&result).iter().find(|thread| thread["kind"] == kind);
    let (Some(latency), Some(noise)) = (of("latency"), of("noise")) else {
        return verdict.that(false, "both: there are no two kinds");
    };
    let gap = |gap: &Value| Some([gap["at_ns"].as_u64()?, gap["duration_ns"].as_u64()?]);
    let gaps = spans(noise, "gaps", gap);
    let own_gaps = spans(noise, "gaps", |it| gap(it).filter(|_| it["label"] == "own_wake_up"));
    let ran: Vec<[u64; 2]> = spans(latency, "spikes", |spike| {
        Some([spike["at_ns"].as_u64()? + spike["late_ns"].as_u64()?, 0])
    });
    // The two windows do not start and end together, and a thread that got no CPU at its start has not seen any gap
    // yet. An emulated CPU has a gap with every tick, so the first one is soon.
    let begin = gaps.iter().map(|[begin, _]| *begin).min().unwrap_or(u64::MAX);
    let end = noise["started_monotonic_ns"]
        .as_u64()
        .zip(noise["duration_ns"].as_u64())
        .map_or(0, |(start, length)| start + length);
    let common: Vec<u64> = ran
        .iter()
        .map(|[at, _]| *at)
        .filter(|at| (begin..end).contains(at))
        .collect();
    let inside = common.iter().filter(|at| {
        own_gaps
            .iter()
            .any(|[begin, length]| (begin.saturating_sub(SLACK_NS)..=begin + length + SLACK_NS).contains(at))
    });
    let inside = inside.count();
    verdict.that(
        common.len() >= 5,
        format!("both: only {} wake-ups in both windows", common.len()),
    );
    verdict.equal(
        "both: wake-ups that lie in a gap of the other thread",
        inside,
        common.len(),
    );
    let own = noise["own_wake_ups"].as_u64().unwrap_or(0);
    verdict.that(
        own > 0 && own <= common.len() as u64 + 1,
        format!("both: {own} gaps are said to be our own, of {} wake-ups", common.len()),
    );
    verdict.note(format!(
        "{inside} of {} wake-ups lie in gaps, {own} known as own",
        common.len()
    ));
}

/// Times of a list on the clock of the machine, with their lengths.
fn spans(thread: &Value, list: &str, read: impl Fn(&Value) -> Option<[u64; 2]>) -> Vec<[u64; 2]> {
    let start = thread["started_monotonic_ns"].as_u64().unwrap_or(0);
    let entries = thread[list].as_array().into_iter().flatten();
    entries
        .filter_map(read)
        .map(|[at, length]| [start + at, length])
        .collect()
}
