//! Makes a result of what was collected, at the end and in between.

use super::running::Collection;
use super::{Closing, Moment};
use crate::{Environment, GAPS_KEPT, Measurement, SCHEMA, findings, finish, labels};
use machine::CpuId;
use root::Root;
use std::sync::atomic::Ordering;

/// Most gaps that a result in between lists, all CPUs together: it is made anew every second.
const GAPS_IN_PASSING: usize = 40_000;

/// The result as of now.
pub(super) fn assemble(collection: &Collection<'_>, moment: Moment) -> Measurement {
    let (job, request) = (collection.job, collection.request);
    let mut notes = collection.notes.clone();
    notes.extend(findings::about_end(moment, collection.stopped_after_ns));
    notes.extend(findings::about_machine(
        &request.environment,
        job.source,
        request.kind,
    ));
    notes.extend(findings::about_memory(
        job.shared.control().locked.load(Ordering::Acquire),
    ));
    notes.extend(findings::about_idle(request.idle_states, collection.idle_refused));
    notes.extend(findings::about_starvation(request));
    let activity = match moment {
        Moment::Passing => None,
        Moment::End => collection.counters.activity(&request.cpus),
    };
    let closing = Closing {
        moment,
        pair: job.source.pair(),
        activity: activity.as_ref(),
        gaps: match moment {
            Moment::Passing => GAPS_KEPT.min(GAPS_IN_PASSING / job.cpus.len().max(1)),
            Moment::End => GAPS_KEPT,
        },
    };
    let mut threads = Vec::new();
    for (place, (&cpu, accumulator)) in job.cpus.iter().zip(&collection.accumulators).enumerate() {
        let Some((lane, _)) = job.shared.lane(place) else {
            continue;
        };
        let limits = limits(collection.root, cpu, &request.environment);
        let (result, thread_notes) = finish::thread(request, job, cpu, lane, accumulator, &closing, &limits);
        notes.extend(thread_notes);
        threads.push(result);
    }
    Measurement {
        schema: SCHEMA.to_owned(),
        kind: request.kind,
        started_at: collection.started_at.clone(),
        duration_ns: threads.iter().map(|thread| thread.duration_ns).max().unwrap_or(0),
        environment: request.environment.clone(),
        activity,
        threads,
        findings: notes,
        complete: collection.complete && moment == Moment::End,
    }
}

/// What the kernel grants real-time threads on a CPU; files that are missing or refused are unknown.
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
