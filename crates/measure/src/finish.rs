//! Converts a track and its collected samples to a result.

mod counter;

use crate::Lane;
use crate::accumulate::{Accumulator, Cause};
use crate::counter::{CounterReading, CounterSource, TickPeriod};
use crate::counter_facts::CounterFacts;
use crate::counts::{self, CountSnapshot};
use crate::labels::{self, RealtimeLimits};
use crate::proof::{TrialCounts, proof};
use crate::result::ResultMoment;
use crate::sampler::{SamplerJob, policy_from};
use crate::shared::{Track, state};
use crate::{
    Distribution, EarlyWakeUps, GapLabel, Jitter, LateWakeUp, MeasuredGap, MeasurementKind, Note, NoteLevel,
    OwnDisturbances, Proof, Sleep, ThreadResult, findings,
};
use machine::{CpuId, Policy};
use observe::Activity;
use root::Root;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Data about the window that does not come from the samplers.
pub(crate) struct WindowData<'a> {
    /// The machine's files.
    pub root: &'a Root,
    /// Whether the measurement is over.
    pub moment: ResultMoment,
    /// The kernel's counters for the window.
    pub activity: Option<&'a Activity>,
    /// What is known about the counter.
    pub facts: &'a CounterFacts,
    /// The counts before the window and after it.
    pub counts_around: Option<[&'a CountSnapshot; 2]>,
    /// Maximum number of listed gaps per CPU.
    pub gaps: usize,
}

/// A thread of a job after its window, or at a moment within it.
pub(crate) struct ThreadRecord<'a> {
    /// The job.
    pub job: &'a SamplerJob<'a>,
    /// Its number in the job.
    pub place: usize,
    /// What it measured.
    pub lane: &'a Lane,
    /// What it reported.
    pub track: &'a Track,
    /// Its samples.
    pub samples: &'a Accumulator,
}

/// The result of one thread, and the findings about it.
pub(crate) fn thread(
    record: &ThreadRecord<'_>,
    closing: &WindowData<'_>,
    limits: &RealtimeLimits,
) -> (ThreadResult, Vec<Note>) {
    let (lane, track, samples) = (record.lane, record.track, record.samples);
    let window = SamplerWindow::of(record, closing.moment);
    let tick_period = window.tick_period;
    let mut result = ThreadResult {
        tid: Some(get32(&track.tid)).filter(|&tid| tid != 0),
        policy: policy_from(get32(&track.policy)),
        priority: get32(&track.priority),
        expected: window.expected,
        missed: window.missed,
        own: window.own,
        started_monotonic_ns: Some(get(&track.start_ns)).filter(|&at| at != 0),
        duration_ns: window.duration_ns,
        steal_ns: steal(closing, lane.cpu),
        ..plain(lane.kind, lane.cpu, samples.raw.distribution(tick_period))
    };
    let mut notes: Vec<Note> = Vec::new();
    match lane.kind {
        MeasurementKind::Latency | MeasurementKind::All => {
            add_wake_ups(&mut result, lane, samples, (tick_period, window.start), closing.gaps);
        }
        MeasurementKind::Noise => {
            result.threshold_ns = Some(lane.threshold_ns);
            add_gaps(&mut result, samples, &window, limits, closing.gaps);
            let counter = counter::counter(record, window.tick_period, closing);
            notes.extend(findings::about_counter(lane.cpu, &counter));
            result.counter = Some(counter);
        }
    }
    result.counts = counts::counts(&result, limits, closing.counts_around);
    result.proof = proved(&result, lane, samples);
    let policy_errno = track.policy_errno.load(Relaxed);
    notes.extend(findings::about_policy(lane, &result, policy_errno, closing.root));
    notes.extend(findings::about_thread(&result, get(&track.dropped)));
    let seccomp_errno = track.seccomp_errno.load(Relaxed);
    if seccomp_errno != 0 {
        let message = format!("The filter for system calls could not be installed (errno {seccomp_errno}).");
        notes.push(findings::note(
            NoteLevel::Warning,
            "system_calls_not_enforced",
            format!("cpu{}", lane.cpu),
            message,
            "a kernel with CONFIG_SECCOMP_FILTER",
        ));
    }
    (result, notes)
}

/// A thread of which only the samples are known.
pub(crate) fn plain(kind: MeasurementKind, cpu: CpuId, raw: Distribution) -> ThreadResult {
    ThreadResult {
        kind,
        cpu,
        policy: Policy::Unknown,
        expected: raw.count,
        recorded: raw.count,
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
        ..ThreadResult::default()
    }
}

/// The window, whether or not its sampler finished.
struct SamplerWindow {
    tick_period: TickPeriod,
    start: u64,
    duration_ns: u64,
    expected: u64,
    missed: u64,
    own: Option<OwnDisturbances>,
    iterations: Option<u64>,
    iteration_min: Option<u64>,
}

impl SamplerWindow {
    fn of(record: &ThreadRecord<'_>, moment: ResultMoment) -> SamplerWindow {
        let (lane, track, samples) = (record.lane, record.track, record.samples);
        let state = track.state.0.load(Acquire);
        // In an intermediate result, a sampler may finish between the drain of its ring and here.
        let is_done = state == state::DONE && moment == ResultMoment::End;
        let last = samples.last;
        let tick_period = tick_period(record.job, lane, track, moment);
        // A thread that died published its losses with its last sample.
        let missed = if is_done {
            get(&track.missed)
        } else {
            last.map_or(0, |sample| sample.missed)
        };
        let own = is_done.then(|| OwnDisturbances {
            page_faults: get(&track.page_faults),
            voluntary_switches: get(&track.voluntary),
            involuntary_switches: get(&track.involuntary),
        });
        let (start, covered, expected) = match lane.kind {
            MeasurementKind::Latency | MeasurementKind::All => {
                let start = get(&track.start_clock_ns);
                let grid = lane.grid(start);
                let covered = match (is_done, last) {
                    (true, _) => get(&track.covered),
                    (false, Some(last)) => last.at.saturating_add(last.lateness().max(0).cast_unsigned()),
                    (false, None) => start.saturating_add(lane.phase_ns),
                };
                let expected = match (lane.sleep, is_done) {
                    _ if get(&track.start_ns) == 0 => 0,
                    (Sleep::Until, _) => grid.expected_until(covered),
                    (Sleep::For, true) => get(&track.seen),
                    (Sleep::For, false) => samples.raw.count() + missed,
                };
                (start.saturating_add(lane.phase_ns), covered, expected)
            }
            MeasurementKind::Noise => {
                let (covered, expected) = match is_done {
                    true => (get(&track.covered), get(&track.seen)),
                    false => (get(&track.last_seen.0), samples.raw.count() + missed),
                };
                (get(&track.start_ticks), covered, expected)
            }
        };
        let turn_min = get(&track.iteration_min);
        SamplerWindow {
            tick_period,
            start,
            duration_ns: if state == state::IDLE {
                0
            } else {
                tick_period.to_ns(covered.saturating_sub(start))
            },
            expected,
            missed,
            own,
            iterations: is_done.then(|| get(&track.iterations)),
            iteration_min: (is_done && turn_min != u64::MAX).then_some(turn_min),
        }
    }
}

/// Whether a thread's own report is used. Intermediate results do not use it, even if a thread has just finished.
fn is_done(track: &Track, moment: ResultMoment) -> bool {
    track.state.0.load(Acquire) == state::DONE && moment == ResultMoment::End
}

/// The tick period of a thread over its window. If the thread died before its last reading, the counter is read now.
pub(crate) fn tick_period(job: &SamplerJob<'_>, lane: &Lane, track: &Track, moment: ResultMoment) -> TickPeriod {
    if job.source(lane) == CounterSource::Monotonic {
        return TickPeriod::NANOSECONDS;
    }
    let start = CounterReading {
        ticks: get(&track.start_ticks),
        raw_ns: get(&track.start_raw_ns),
        width_ns: get(&track.start_width_ns),
    };
    let end = match is_done(track, moment) {
        true => CounterReading {
            ticks: get(&track.end_ticks),
            raw_ns: get(&track.end_raw_ns),
            width_ns: get(&track.end_width_ns),
        },
        false => job.source(lane).pair(),
    };
    TickPeriod::between(start, end).unwrap_or(TickPeriod::NANOSECONDS)
}

/// What the run proves about the claim, or about its largest sample. Lost samples count as above the limit.
pub(crate) fn proved(result: &ThreadResult, lane: &Lane, samples: &Accumulator) -> Option<Proof> {
    let (trials, unseen) = match (lane.kind, &result.schedule) {
        (MeasurementKind::Noise, _) => (None, result.missed),
        (_, Some(schedule)) => (Some(result.expected), result.expected.saturating_sub(schedule.count)),
        (_, None) => (Some(result.expected), result.missed),
    };
    let (limit_ns, above) = match lane.claim {
        Some(claim) => (claim.limit_ns, samples.above()),
        None => (result.max_ns.unwrap_or(lane.threshold_ns), 0),
    };
    let seen = TrialCounts {
        trials,
        above: above.saturating_add(unseen),
        duration_ns: result.duration_ns,
    };
    proof(limit_ns, seen, lane.claim)
}

/// Adds the data that only wake-ups have; `start` is the start of the window on their clock.
pub(crate) fn add_wake_ups(
    result: &mut ThreadResult,
    lane: &Lane,
    samples: &Accumulator,
    (tick_period, start): (TickPeriod, u64),
    most: usize,
) {
    result.over_time = samples.course.over_time(tick_period, start);
    result.interval_ns = Some(lane.interval_ns);
    result.clock = Some(lane.clock);
    if let Some(wake_ups) = samples.wake_ups.as_ref() {
        result.schedule = wake_ups
            .has_schedule()
            .then(|| wake_ups.schedule.distribution(tick_period));
        result.jitter = Some(Jitter {
            distance: wake_ups.jitter.distribution(tick_period),
            longer_ns: wake_ups.longer,
            shorter_ns: wake_ups.shorter,
        });
        result.early = wake_ups.early.max().map(|max_ns| EarlyWakeUps {
            count: wake_ups.early.count(),
            max_ns,
            histogram: wake_ups.early.buckets(tick_period),
        });
    }
    if lane.spike_ns.is_some() {
        let spikes = samples
            .longest(most)
            .into_iter()
            .map(|(expected_at, late_ns, _)| LateWakeUp {
                at_ns: expected_at.saturating_sub(start),
                late_ns,
            });
        result.spike_ns = lane.spike_ns;
        result.spikes = Some(spikes.collect());
        result.spikes_total = Some(samples.reached);
    }
}

fn add_gaps(
    result: &mut ThreadResult,
    samples: &Accumulator,
    window: &SamplerWindow,
    limits: &RealtimeLimits,
    most: usize,
) {
    let tick_period = window.tick_period;
    let longest = samples.longest(most);
    let mut gaps: Vec<MeasuredGap> = longest
        .iter()
        .map(|&(at, ticks, cause)| MeasuredGap {
            at_ns: tick_period.to_ns(at.saturating_sub(window.start)),
            duration_ns: tick_period.to_ns(ticks),
            label: (cause == Cause::OwnWakeUp).then_some(GapLabel::OwnWakeUp),
        })
        .collect();
    labels::label(&mut gaps, result.policy, limits);
    let of_kernel = |gap: &&MeasuredGap| gap.label.is_some_and(|label| label != GapLabel::OwnWakeUp);
    let kernel_ns: u64 = gaps.iter().filter(of_kernel).map(|gap| gap.duration_ns).sum();
    let mut course = samples.course.clone();
    for (gap, (at, ticks, _)) in gaps.iter().zip(&longest) {
        if of_kernel(&gap) {
            course.remove(*at, *ticks);
        }
    }
    result.over_time = course.over_time(tick_period, window.start);
    let own = samples.own;
    let own_ns = kernel_ns.saturating_add(tick_period.to_ns(own.sum));
    result.own_wake_ups = (own.count > 0).then_some(own.count);
    result.gaps_total = Some(samples.raw.count());
    result.gaps_kept = Some(gaps.len() as u64);
    result.stolen_ns = Some(tick_period.to_ns(samples.raw.sum()).saturating_sub(own_ns));
    let listed_max = gaps
        .iter()
        .filter(|gap| gap.label.is_none())
        .map(|gap| gap.duration_ns)
        .max();
    // Our own wake-ups may fill the list; gaps that the kernel causes in a real-time thread are longer.
    result.stolen_max_ns = match listed_max {
        None if kernel_ns == 0 => own.others_max.map(|ticks| tick_period.to_ns(ticks)),
        listed => listed,
    };
    result.own_ns = Some(own_ns);
    result.gaps = Some(gaps);
    result.turns = window.iterations;
    result.turn_ns_min = window.iteration_min.map(|ticks| tick_period.to_ns(ticks));
}

fn steal(closing: &WindowData<'_>, cpu: CpuId) -> Option<u64> {
    closing
        .activity?
        .cpus
        .iter()
        .find(|activity| activity.cpu == cpu)?
        .steal_ns
}

fn get(value: &AtomicU64) -> u64 {
    value.load(Acquire)
}

fn get32(value: &std::sync::atomic::AtomicU32) -> u32 {
    value.load(Acquire)
}
