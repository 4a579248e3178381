//! Builds a result from the collected data, at the end and at intervals during the run.

use super::collection::Collection;
use crate::conditions::{self, Idle, Scene};
use crate::finish::{Closing, ThreadRecord};
use crate::result::Moment;
use crate::{
    Broke, Environment, GAPS_KEPT, Measurement, Note, SCHEMA, ThreadResult, findings, finish, labels,
};
use machine::CpuId;
use root::Root;
use std::sync::atomic::Ordering;

/// Maximum number of gaps in an intermediate result, for all CPUs together: it is rebuilt every second.
const GAPS_IN_PASSING: usize = 40_000;

/// The current result.
pub(super) fn assemble(collection: &Collection<'_>, moment: Moment) -> Measurement {
    let (job, request) = (collection.job, collection.request);
    let mut notes = run_notes(collection, moment);
    let activity = match moment {
        Moment::Passing => None,
        Moment::End => collection.counters.activity(&request.cpus()),
    };
    let closing = Closing {
        root: collection.root,
        moment,
        activity: activity.as_ref(),
        facts: &collection.facts,
        looks: match (moment, &collection.looks) {
            (Moment::End, [Some(before), Some(after)]) => Some([before, after]),
            _ => None,
        },
        gaps: match moment {
            Moment::Passing => GAPS_KEPT.min(GAPS_IN_PASSING / job.lanes.len().max(1)),
            Moment::End => GAPS_KEPT,
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
        complete: collection.complete && moment == Moment::End,
    }
}

/// Findings about the run as a whole.
fn run_notes(collection: &Collection<'_>, moment: Moment) -> Vec<Note> {
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
    conditions::notes(&Scene {
        lanes: collection.job.lanes,
        environment: &collection.request.environment,
        standing: &collection.standing,
        idle: match collection.idle_refused {
            None => Idle::Held,
            Some(_) => Idle::Allowed,
        },
        loads: &collection.counters.loads(),
        threads,
        waited_ns: &collection.counters.waited_ns(),
    })
}

/// The sample that ended the measurement: the longest if there were several at the same time.
fn broke(collection: &Collection<'_>, threads: &[ThreadResult]) -> Option<Broke> {
    let job = collection.job;
    let limit_ns = job.break_at?.limit_ns;
    let hits = threads.iter().enumerate().filter_map(|(place, thread)| {
        let (track, _) = job.shared.track(place)?;
        let ticks = Some(track.hit.load(Ordering::Relaxed)).filter(|&ticks| ticks != 0)?;
        let pace = finish::pace(job, job.lanes.get(place)?, track, Moment::End);
        let since = thread.started_monotonic_ns?;
        Some(Broke {
            kind: thread.kind,
            cpu: thread.cpu,
            value_ns: pace.to_ns(ticks),
            limit_ns,
            at_monotonic_ns: since.saturating_add(thread.duration_ns),
        })
    });
    hits.max_by_key(|hit| hit.value_ns)
}

/// The kernel's limits for real-time threads on a CPU; files that are missing or refused are unknown.
fn limits(root: &Root, cpu: CpuId, environment: &Environment) -> labels::Limits {
    fn number<T: std::str::FromStr>(root: &Root, path: &str) -> Option<T> {
        root.value(path).ok().flatten()?.parse().ok()
    }
    let server = format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}");
    labels::Limits {
        rt_runtime_us: number(root, "/proc/sys/kernel/sched_rt_runtime_us"),
        rt_period_us: number(root, "/proc/sys/kernel/sched_rt_period_us"),
        fair_server: number(root, &format!("{server}/runtime"))
            .zip(number(root, &format!("{server}/period"))),
        kernel: environment.kernel_version(),
    }
}
