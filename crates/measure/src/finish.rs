//! Turns a lane and what was collected from it into a result.

use crate::accumulate::Accumulator;
use crate::collect::{Closing, Moment};
use crate::counter::{Pace, Pair, Source};
use crate::labels::{self, Limits};
use crate::sampler::{Job, policy_from};
use crate::seat::Seat;
use crate::shared::{Lane, state};
use crate::{
    Counter, Early, Gap, Jitter, Kind, Level, Note, Own, Request, Sleep, Spike, ThreadResult, findings,
};
use machine::CpuId;
use std::sync::atomic::{AtomicU64, Ordering};

/// The result of one thread, and what is to be said about it.
pub(crate) fn thread(
    request: &Request<'_>,
    job: &Job<'_>,
    seat: &Seat,
    lane: &Lane,
    samples: &Accumulator,
    closing: &Closing<'_>,
    limits: &Limits,
) -> (ThreadResult, Vec<Note>) {
    let window = Window::of(job, seat, lane, samples, closing);
    let pace = window.pace;
    let raw = samples.raw().distribution(pace);
    let mut result = ThreadResult {
        kind: seat.kind,
        cpu: seat.cpu,
        policy: policy_from(get32(&lane.policy)),
        priority: get32(&lane.priority),
        expected: window.expected,
        recorded: raw.count,
        missed: window.missed,
        min_ns: raw.min_ns,
        mean_ns: raw.mean_ns,
        stddev_ns: raw.stddev_ns,
        mode_ns: raw.mode_ns,
        p50_ns: raw.p50_ns,
        p90_ns: raw.p90_ns,
        p99_ns: raw.p99_ns,
        p999_ns: raw.p999_ns,
        p9999_ns: raw.p9999_ns,
        p99999_ns: raw.p99999_ns,
        max_ns: raw.max_ns,
        histogram: raw.histogram,
        own: window.own,
        started_monotonic_ns: Some(get(&lane.start_ns)).filter(|&at| at != 0),
        duration_ns: window.duration_ns,
        interval_ns: None,
        clock: None,
        schedule: None,
        jitter: None,
        early: None,
        spike_ns: None,
        spikes: None,
        spikes_total: None,
        threshold_ns: None,
        gaps: None,
        gaps_total: None,
        gaps_kept: None,
        stolen_ns: None,
        stolen_max_ns: None,
        own_ns: None,
        steal_ns: steal(closing, seat.cpu),
        turns: None,
        turn_ns_min: None,
        counter: None,
    };
    match seat.kind {
        Kind::Latency => add_wake_ups(&mut result, request, seat, samples, &window, closing.gaps),
        Kind::Noise => add_gaps(&mut result, job, seat, samples, &window, limits, closing.gaps),
    }
    let mut notes: Vec<Note> =
        findings::about_policy(request, &result, lane.policy_errno.load(Ordering::Relaxed))
            .into_iter()
            .collect();
    notes.extend(findings::about_thread(&result, get(&lane.dropped)));
    let seccomp_errno = lane.seccomp_errno.load(Ordering::Relaxed);
    if seccomp_errno != 0 {
        let message = format!("The filter for system calls could not be installed (errno {seccomp_errno}).");
        notes.push(findings::note(
            Level::Warning,
            "system_calls_not_enforced",
            format!("cpu{}", seat.cpu),
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
    fn of(job: &Job<'_>, seat: &Seat, lane: &Lane, samples: &Accumulator, closing: &Closing<'_>) -> Window {
        let state = lane.state.0.load(Ordering::Acquire);
        // In passing, a sampler may finish between the emptying of its ring and here.
        let is_done = state == state::DONE && closing.moment == Moment::End;
        let last = samples.last();
        let pace = pace(seat, lane, closing.moment);
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
        let (start, covered, expected) = match seat.kind {
            Kind::Latency => {
                let start = job.shared.control().start_ns.load(Ordering::Acquire);
                let grid = seat.grid(start);
                let covered = match (is_done, last) {
                    (true, _) => get(&lane.covered),
                    (false, Some(last)) => last.at.saturating_add(last.lateness().max(0).cast_unsigned()),
                    (false, None) => start,
                };
                let expected = match (seat.sleep, is_done) {
                    _ if start == 0 => 0,
                    (Sleep::Until, _) => grid.due_until(covered),
                    (Sleep::For, true) => get(&lane.seen),
                    (Sleep::For, false) => samples.raw().count() + missed,
                };
                (start.saturating_add(seat.phase_ns), covered, expected)
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
                    samples.raw().count() + missed
                };
                (get(&lane.start_ticks), covered, expected)
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

/// The slope of a thread's ticks over its window. One that did not live to take its last reading gets one now.
pub(crate) fn pace(seat: &Seat, lane: &Lane, moment: Moment) -> Pace {
    if seat.source == Source::Monotonic {
        return Pace::NANOSECONDS;
    }
    let start = Pair {
        ticks: get(&lane.start_ticks),
        raw_ns: get(&lane.start_raw_ns),
    };
    let is_done = lane.state.0.load(Ordering::Acquire) == state::DONE && moment == Moment::End;
    let end = match is_done {
        true => Pair {
            ticks: get(&lane.end_ticks),
            raw_ns: get(&lane.end_raw_ns),
        },
        false => seat.source.pair(),
    };
    Pace::between(start, end).unwrap_or(Pace::NANOSECONDS)
}

fn add_wake_ups(
    result: &mut ThreadResult,
    request: &Request<'_>,
    seat: &Seat,
    samples: &Accumulator,
    window: &Window,
    most: usize,
) {
    let pace = window.pace;
    result.interval_ns = Some(seat.interval_ns);
    result.clock = Some(request.clock);
    if let Some(wake_ups) = samples.wake_ups() {
        result.schedule = wake_ups
            .has_schedule()
            .then(|| wake_ups.schedule.distribution(pace));
        result.jitter = Some(Jitter {
            distance: wake_ups.jitter.distribution(pace),
            longer_ns: wake_ups.longer,
            shorter_ns: wake_ups.shorter,
        });
        result.early = wake_ups.early.max().map(|max_ns| Early {
            count: wake_ups.early.count(),
            max_ns,
            histogram: wake_ups.early.buckets(pace),
        });
    }
    if request.spike_ns.is_some() {
        let spikes = samples.longest(most).into_iter().map(|(due, late_ns)| Spike {
            at_ns: due.saturating_sub(window.start),
            late_ns,
        });
        result.spike_ns = request.spike_ns;
        result.spikes = Some(spikes.collect());
        result.spikes_total = Some(samples.reached());
    }
}

fn add_gaps(
    result: &mut ThreadResult,
    job: &Job<'_>,
    seat: &Seat,
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
    result.gaps_total = Some(samples.raw().count());
    result.gaps_kept = Some(gaps.len() as u64);
    result.stolen_ns = Some(pace.to_ns(samples.raw().sum()).saturating_sub(own_ns));
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
        name: seat.source.name().to_owned(),
        khz: (seat.source != Source::Monotonic && pace != Pace::NANOSECONDS).then(|| pace.khz()),
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
