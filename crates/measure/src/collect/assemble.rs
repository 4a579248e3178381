//! Builds a result from the collected data, at the end and at intervals during the run.

use super::collection::Collection;
use crate::conditions::{self, ConditionInput, DeepIdle};
use crate::finish::{ThreadRecord, WindowData};
use crate::result::ResultMoment;
use crate::{BreakSample, Environment, MAX_GAPS, Measurement, Note, SCHEMA, ThreadResult, findings, finish, labels};
use machine::CpuId;
use root::Root;
use std::sync::atomic::Ordering;

/// Maximum number of gaps in an intermediate result, for all CPUs together: it is rebuilt every second.
const GAPS_IN_PASSING: usize = 40_000;

/// The current result.
pub(super) fn assemble(collection: &Collection<'_>, moment: ResultMoment) -> Measurement {
    let (job, request) = (collection.job, collection.request);
    let mut notes = run_notes(collection, moment);
    let activity = match moment {
        ResultMoment::Passing => None,
        ResultMoment::End => collection.counters.activity(&request.cpus()),
    };
    let closing = WindowData {
        root: collection.root,
        moment,
        activity: activity.as_ref(),
        facts: &collection.facts,
        counts_around: match (moment, &collection.counts_around) {
            (ResultMoment::End, [Some(before), Some(after)]) => Some([before, after]),
            _ => None,
        },
        gaps: match moment {
            ResultMoment::Passing => MAX_GAPS.min(GAPS_IN_PASSING / job.lanes.len().max(1)),
            ResultMoment::End => MAX_GAPS,
        },
    };
    let mut threads = Vec::new();
    for (place, (lane, accumulator)) in job.lanes.iter().zip(&collection.accumulators).enumerate() {
        let Some((track, _)) = job.shared.track(place) else {
            continue;
        };
        let limits = limits(collection.root, lane.cpu, &request.environment);
        let record = ThreadRecord {
            job,
            place,
            lane,
            track,
            samples: accumulator,
        };
        let (result, thread_notes) = finish::thread(&record, &closing, &limits);
        notes.extend(thread_notes);
        threads.push(result);
    }
    let conditions = conditions(collection, &threads);
    let not_representative = conditions.iter().map(|note| note.id.clone()).collect();
    notes.extend(conditions);
    let broke = broke(collection, &threads);
    notes.extend(findings::about_break(broke));
    Measurement {
        schema: SCHEMA.to_owned(),
        kind: request.kind(),
        method: None,
        started_at: collection.started_at.clone(),
        duration_ns: threads.iter().map(|thread| thread.duration_ns).max().unwrap_or(0),
        environment: request.environment.clone(),
        activity,
        broke,
        threads,
        gap_file: collection.gaps_written.clone(),
        not_representative,
        findings: notes,
        programs: Vec::new(),
        complete: collection.complete && moment == ResultMoment::End,
    }
}

/// Findings about the run as a whole.
fn run_notes(collection: &Collection<'_>, moment: ResultMoment) -> Vec<Note> {
    let (job, request) = (collection.job, collection.request);
    let environment = &request.environment;
    let locked = job.shared.control().locked.load(Ordering::Acquire);
    let mut notes = collection.notes.clone();
    notes.extend(findings::about_end(moment, collection.stopped_after_ns));
    notes.extend(findings::about_machine(environment, request.kind(), job.counter));
    notes.extend(findings::about_memory(locked));
    notes.extend(findings::about_idle(request.idle_states, collection.idle_refused));
    notes.extend(findings::about_starvation(request));
    notes.extend(collection.clocks.notes(job.lanes));
    notes.extend(collection.facts.notes(environment, job.counter));
    notes
}

/// Conditions under which this result does not represent the machine's normal operation.
fn conditions(collection: &Collection<'_>, threads: &[ThreadResult]) -> Vec<Note> {
    conditions::notes(&ConditionInput {
        lanes: collection.job.lanes,
        environment: &collection.request.environment,
        fixed_settings: &collection.fixed_settings,
        idle: match collection.idle_refused {
            None => DeepIdle::PreventedByUs,
            Some(_) => DeepIdle::Allowed,
        },
        loads: &collection.counters.loads(),
        threads,
        waited_ns: &collection.counters.waited_ns(),
    })
}

/// The sample that ended the measurement: the longest if there were several at the same time.
fn broke(collection: &Collection<'_>, threads: &[ThreadResult]) -> Option<BreakSample> {
    let job = collection.job;
    let limit_ns = job.break_at?.limit_ns;
    let hits = threads.iter().enumerate().filter_map(|(place, thread)| {
        let (track, _) = job.shared.track(place)?;
        let ticks = Some(track.hit.load(Ordering::Relaxed)).filter(|&ticks| ticks != 0)?;
        let tick_period = finish::tick_period(job, job.lanes.get(place)?, track, ResultMoment::End);
        let since = thread.started_monotonic_ns?;
        Some(BreakSample {
            kind: thread.kind,
            cpu: thread.cpu,
            value_ns: tick_period.to_ns(ticks),
            limit_ns,
            at_monotonic_ns: since.saturating_add(thread.duration_ns),
        })
    });
    hits.max_by_key(|hit| hit.value_ns)
}

/// The kernel's limits for real-time threads on a CPU; files that are missing or refused are unknown.
fn limits(root: &Root, cpu: CpuId, environment: &Environment) -> labels::RealtimeLimits {
    fn number<T: std::str::FromStr>(root: &Root, path: &str) -> Option<T> {
        root.readable_value(path)?.parse().ok()
    }
    let server = format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}");
    labels::RealtimeLimits {
        rt_runtime_us: number(root, "/proc/sys/kernel/sched_rt_runtime_us"),
        rt_period_us: number(root, "/proc/sys/kernel/sched_rt_period_us"),
        fair_server: number(root, &format!("{server}/runtime")).zip(number(root, &format!("{server}/period"))),
        kernel: environment.kernel_version(),
    }
}
