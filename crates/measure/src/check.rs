//! Refuses requests that make no sense, before anything is started; explains CPUs that are out of reach.

use crate::sampler::Job;
use crate::shared::state;
use crate::{Deadline, Kind, MeasureError, Request, Sleep, Start};
use machine::{CpuSet, Policy};
use root::Root;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The longest window: a year. Far from every overflow.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

const LONGEST_NS: u64 = 366 * 86_400 * 1_000_000_000;

/// Checks what does not need a process.
pub(crate) fn request(request: &Request<'_>, root: &Root) -> Result<(), MeasureError> {
    let wrong = |what, why: &str| {
        Err(MeasureError::Request {
            what,
            why: why.to_owned(),
        })
    };
    if request.cpus.is_empty() {
        return wrong("CPUs", "the list is empty; name at least one CPU");
    }
    if request.duration.is_zero() || request.duration > LONGEST {
        return wrong("duration", "it must be above 0 and at most a year");
    }
    if !(10_000..=10_000_000_000).contains(&request.interval_ns) {
        return wrong("interval", "it must be 10 us to 10 s");
    }
    let longest_ns = i64::MAX.unsigned_abs();
    let last = u64::try_from(request.cpus.len()).unwrap_or(u64::MAX);
    if request.distance_ns.saturating_mul(last) > 10_000_000_000 {
        return wrong(
            "distance",
            "the last CPU's period would be more than 10 s longer than the first's",
        );
    }
    let offset_ns = match request.start {
        Start::Together => 0,
        Start::Aligned { offset_ns } => offset_ns.saturating_mul(last),
        Start::WholeSecond { offset_ns } => offset_ns,
    };
    if offset_ns > 10_000_000_000 {
        return wrong("aligned", "a thread would begin more than 10 s after the first");
    }
    if let Some(loops) = request.loops
        && (loops == 0 || loops.saturating_mul(request.interval_ns) > LONGEST_NS)
    {
        return wrong("loops", "it must be above 0, and take at most a year");
    }
    if request.kind == Kind::Latency && request.sleep == Sleep::For && request.start != Start::Together {
        return wrong("relative", "without a schedule there is nothing to align");
    }
    if request
        .break_at
        .is_some_and(|limit| !(1..longest_ns).contains(&limit.limit_ns))
    {
        return wrong("break", "it must be above 0");
    }
    if !(100..=1_000_000_000).contains(&request.threshold_ns) {
        return wrong("threshold", "it must be 100 ns to 1 s");
    }
    match request.policy {
        Policy::Other | Policy::Batch | Policy::Idle => {}
        Policy::Fifo | Policy::Rr if (1..=99).contains(&request.priority) => {}
        Policy::Fifo | Policy::Rr => return wrong("priority", "it must be 1 to 99 for fifo and rr"),
        Policy::Deadline if is_deadline(request.deadline) => {}
        Policy::Deadline => {
            return wrong(
                "deadline",
                "the runtime must be 1.024 us or more, and no more than the period, which is 100 us to 4 s",
            );
        }
        _ => return wrong("policy", "it must be other, batch, idle, fifo, rr or deadline"),
    }
    let online = root.value("/sys/devices/system/cpu/online")?;
    let online = online.and_then(|text| CpuSet::parse_list(&text).ok());
    if let Some(online) = online
        && let Some(cpu) = request.cpus.minus(&online).first()
    {
        return Err(MeasureError::Offline { cpu, online });
    }
    Ok(())
}

/// What `__checkparam_dl` of the kernel takes, with the limits of `kernel.sched_deadline_period_*_us`.
fn is_deadline(deadline: Deadline) -> bool {
    let Deadline {
        runtime_ns,
        period_ns,
    } = deadline;
    (100_000..=4_000_000_000).contains(&period_ns) && (1_024..=period_ns).contains(&runtime_ns)
}

/// Whether every thread got onto its CPU, and a deadline where one was asked for: as an ordinary task it would answer
/// another question.
pub(crate) fn pinned(job: &Job<'_>, sampler_pid: u32, root: &Root) -> Result<(), MeasureError> {
    for (place, seat) in job.seats.iter().enumerate() {
        let cpu = seat.cpu;
        let Some((lane, _)) = job.shared.lane(place) else {
            continue;
        };
        if lane.state.0.load(Ordering::Acquire) != state::NOT_PINNED {
            match lane.policy_errno.load(Ordering::Relaxed) {
                errno if errno != 0 && seat.policy == Policy::Deadline => {
                    return Err(MeasureError::deadline(cpu, errno, root));
                }
                _ => continue,
            }
        }
        return Err(match lane.errno.load(Ordering::Relaxed) {
            libc::EINVAL => MeasureError::NotAllowed {
                cpu,
                allowed: allowed(sampler_pid, root),
            },
            errno => MeasureError::Os {
                doing: "pin a sampler to its CPU",
                errno,
            },
        });
    }
    Ok(())
}

/// `Cpus_allowed_list` of the sampler's main thread, which nobody has pinned.
fn allowed(pid: u32, root: &Root) -> CpuSet {
    let text = root
        .text(&format!("/proc/{pid}/status"))
        .ok()
        .flatten()
        .unwrap_or_default();
    let list = text
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(|list| CpuSet::parse_list(list).ok())
        .unwrap_or_default()
}
