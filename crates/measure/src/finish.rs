//! Turns a lane and what was collected from it into a result.

use crate::collect::{Closing, Moment};
use crate::counter::{Pace, Pair, Source};
use crate::labels::{self, Limits};
use crate::sampler::{Job, policy_from};
use crate::shared::{Lane, state};
use crate::stats::Accumulator;
use crate::timer::Grid;
use crate::{Counter, Gap, Kind, Level, Note, Own, Request, ThreadResult, findings};
use machine::CpuId;
use std::sync::atomic::{AtomicU64, Ordering};

/// The result of one thread, and what is to be said about it.
pub(crate) fn thread(
    request: &Request<'_>,
    job: &Job<'_>,
    cpu: CpuId,
    lane: &Lane,
    samples: &Accumulator,
    closing: &Closing<'_>,
    limits: &Limits,
) -> (ThreadResult, Vec<Note>) {
    let window = Window::of(job, lane, samples, closing);
    let pace = window.pace;
    let mut result = ThreadResult {
        kind: job.kind,
        cpu,
        policy: policy_from(get32(&lane.policy)),
        priority: get32(&lane.priority),
        expected: window.expected,
        recorded: samples.count(),
        missed: window.missed,
        min_ns: samples.min().map(|ticks| pace.to_ns(ticks)),
        mean_ns: samples.mean_ns(pace),
        stddev_ns: samples.stddev_ns(pace),
        p50_ns: samples.quantile_ns(0.5, pace),
        p99_ns: samples.quantile_ns(0.99, pace),
        p999_ns: samples.quantile_ns(0.999, pace),
        max_ns: samples.max().map(|ticks| pace.to_ns(ticks)),
        histogram: samples.buckets(pace),
        own: window.own,
        started_monotonic_ns: Some(get(&lane.start_ns)).filter(|&at| at != 0),
        duration_ns: window.duration_ns,
        interval_ns: None,
        threshold_ns: None,
        gaps: None,
        gaps_total: None,
        gaps_kept: None,
        stolen_ns: None,
        stolen_max_ns: None,
        own_ns: None,
        steal_ns: steal(closing, cpu),
        turns: None,
        turn_ns_min: None,
        counter: None,
    };
    match job.kind {
        Kind::Latency => result.interval_ns = Some(job.interval_ns),
        Kind::Noise => add_gaps(&mut result, job, samples, &window, limits, closing.gaps),
    }
    let mut notes: Vec<Note> =
        findings::about_policy(request, &result, lane.policy_errno.load(Ordering::Relaxed))
            .into_iter()
            .collect();
    notes.extend(findings::about_thread(
        &result,
        get(&lane.dropped),
        get(&lane.early),
    ));
    let seccomp_errno = lane.seccomp_errno.load(Ordering::Relaxed);
    if seccomp_errno != 0 {
        let message = format!("The filter for system calls could not be installed (errno {seccomp_errno}).");
        notes.push(findings::note(
            Level::Warning,
            "system_calls_not_enforced",
            format!("cpu{cpu}"),
            message,
            "a kernel with CONFIG_SECCOMP_FILTER",
        ));
    }
    (result, notes)
}

/// What the window was, whether or not its sampler lived to its end.
struct Window {
    pace: Pace,
    start: u64,
    duration_ns: u64,
    expected: u64,
    missed: u64,
    own: Option<Own>,
    turns: Option<u64>,
    turn_min: Option<u64>,
}

impl Window {
    fn of(job: &Job<'_>, lane: &Lane, samples: &Accumulator, closing: &Closing<'_>) -> Window {
        let state = lane.state.0.load(Ordering::Acquire);
        // In passing, a sampler may finish between the emptying of its ring and here.
        let is_done = state == state::DONE && closing.moment == Moment::End;
        let last = samples.last();
        let start = Pair {
            ticks: get(&lane.start_ticks),
            raw_ns: get(&lane.start_raw_ns),
        };
        let end = match is_done {
            true => Pair {
                ticks: get(&lane.end_ticks),
                raw_ns: get(&lane.end_raw_ns),
            },
            false => closing.pair,
        };
        let pace = match job.source {
            Source::Monotonic => Pace::NANOSECONDS,
            _ => Pace::between(start, end).unwrap_or(Pace::NANOSECONDS),
        };
        // A thread that is gone published its losses with its last sample.
        let missed = if is_done {
            get(&lane.missed)
        } else {
            last.map_or(0, |sample| sample.missed)
        };
        let own = is_done.then(|| Own {
            page_faults: get(&lane.page_faults),
            voluntary_switches: get(&lane.voluntary),
            involuntary_switches: get(&lane.involuntary),
        });
        let (start, covered, expected) = match job.kind {
            Kind::Latency => {
                let start = get(&lane.start_ns);
                let grid = Grid::new(start, job.duration_ns, job.interval_ns);
                let covered = match (is_done, last) {
                    (true, _) => get(&lane.covered),
                    (false, Some(last)) => last.at.saturating_add(last.value),
                    (false, None) => start,
                };
                (
                    start,
                    covered,
                    if start == 0 { 0 } else { grid.due_until(covered) },
                )
            }
            Kind::Noise => {
                let covered = if is_done {
                    get(&lane.covered)
                } else {
                    get(&lane.alive.0)
                };
                let expected = if is_done {
                    get(&lane.seen)
                } else {
                    samples.count() + missed
                };
                (start.ticks, covered, expected)
            }
        };
        let turn_min = get(&lane.turn_min);
        Window {
            pace,
            start,
            duration_ns: if state == state::IDLE {
                0
            } else {
                pace.to_ns(covered.saturating_sub(start))
            },
            expected,
            missed,
            own,
            turns: is_done.then(|| get(&lane.turns)),
            turn_min: (is_done && turn_min != u64::MAX).then_some(turn_min),
        }
    }
}

fn add_gaps(
    result: &mut ThreadResult,
    job: &Job<'_>,
    samples: &Accumulator,
    window: &Window,
    limits: &Limits,
    most: usize,
) {
    let pace = window.pace;
    let mut gaps: Vec<Gap> = samples
        .longest(most)
        .into_iter()
        .map(|(at, ticks)| Gap {
            at_ns: pace.to_ns(at.saturating_sub(window.start)),
            duration_ns: pace.to_ns(ticks),
            label: None,
        })
        .collect();
    labels::label(&mut gaps, result.policy, limits);
    let own_ns: u64 = gaps
        .iter()
        .filter(|gap| gap.label.is_some())
        .map(|gap| gap.duration_ns)
        .sum();
    result.threshold_ns = Some(job.threshold_ns);
    result.gaps_total = Some(samples.count());
    result.gaps_kept = Some(gaps.len() as u64);
    result.stolen_ns = Some(pace.to_ns(samples.sum()).saturating_sub(own_ns));
    result.stolen_max_ns = gaps
        .iter()
        .filter(|gap| gap.label.is_none())
        .map(|gap| gap.duration_ns)
        .max();
    result.own_ns = Some(own_ns);
    result.gaps = Some(gaps);
    result.turns = window.turns;
    result.turn_ns_min = window.turn_min.map(|ticks| pace.to_ns(ticks));
    result.counter = Some(Counter {
        name: job.source.name().to_owned(),
        khz: (job.source != Source::Monotonic && pace != Pace::NANOSECONDS).then(|| pace.khz()),
        invariant: true,
    });
}

fn steal(closing: &Closing<'_>, cpu: CpuId) -> Option<u64> {
    closing
        .activity?
        .cpus
        .iter()
        .find(|activity| activity.cpu == cpu)?
        .steal_ns
}

fn get(value: &AtomicU64) -> u64 {
    value.load(Ordering::Acquire)
}

fn get32(value: &std::sync::atomic::AtomicU32) -> u32 {
    value.load(Ordering::Acquire)
}
