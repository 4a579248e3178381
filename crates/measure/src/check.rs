//! Rejects invalid requests before anything is started, and explains why a CPU cannot be used.

use crate::error::ADVICE;
use crate::sampler::SamplerJob;
use crate::shared::state;
use crate::{Deadline, Lane, LaneLifetime, MeasureError, MeasureRequest, MeasurementKind, PolicyFallback, Sleep};
use machine::{CpuSet, Policy};
use root::Root;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The longest window: a year. No calculation overflows at this length.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

const LONGEST_NS: u64 = LONGEST.as_secs() * 1_000_000_000;

/// An invalid part of a request, and the reason.
type RequestFault = (&'static str, &'static str);

/// Checks everything that does not need a process.
pub(crate) fn request(request: &MeasureRequest<'_>, root: &Root) -> Result<(), MeasureError> {
    let limit_ns = request.break_at.map_or(1, |limit| limit.limit_ns);
    let wrong = match request.lanes.is_empty() {
        true => Some(("CPUs", "the list is empty")),
        false if !(1..i64::MAX.unsigned_abs()).contains(&limit_ns) => Some(("break", "it must be above 0")),
        false if request.whole_second.is_some_and(|ns| ns > FARTHEST_NS) => {
            Some(("secaligned", "it must be at most 10 s"))
        }
        false => request.lanes.iter().find_map(|lane| lane_of(lane).err()),
    };
    if let Some((what, why)) = wrong {
        let (why, next) = match what {
            "CPUs" => (why, "specify at least one CPU"),
            _ => (why, ADVICE),
        };
        return Err(MeasureError::Request {
            what,
            why: why.to_owned(),
            next: next.to_owned(),
        });
    }
    available(&request.cpus(), root)
}

/// Maximum delay of a window after the common start.
const FARTHEST_NS: u64 = 10_000_000_000;

/// Checks the request for one thread.
fn lane_of(lane: &Lane) -> Result<(), RequestFault> {
    let demand = |is_so: bool, what, why| if is_so { Ok(()) } else { Err((what, why)) };
    demand(
        lane.kind != MeasurementKind::All,
        "kind",
        "a thread measures latency or noise, not both",
    )?;
    match lane.window_end {
        LaneLifetime::Time(time) => demand(
            !time.is_zero() && time <= LONGEST,
            "duration",
            "it must be above 0 and at most a year",
        )?,
        LaneLifetime::Loops(loops) => demand(
            lane.kind == MeasurementKind::Latency && loops > 0 && lane.length_ns() <= LONGEST_NS,
            "loops",
            "only the number of wake-ups limits the run; it must be at least one, and take at most a year",
        )?,
    }
    demand(
        (10_000..=20_000_000_000).contains(&lane.interval_ns),
        "interval",
        "it must be 10 us to 10 s, and with a distance at most 20 s",
    )?;
    demand(
        lane.phase_ns <= FARTHEST_NS,
        "aligned",
        "a thread would start more than 10 s after the first",
    )?;
    demand(
        lane.phase_ns == 0 || (lane.kind == MeasurementKind::Latency && lane.sleep == Sleep::Until),
        "aligned",
        "without a schedule there is nothing to align",
    )?;
    demand(
        (100..=1_000_000_000).contains(&lane.threshold_ns),
        "threshold",
        "it must be 100 ns to 1 s",
    )?;
    demand(
        lane.claim
            .is_none_or(|claim| claim.at_most > 0.0 && claim.at_most.is_finite()),
        "claim",
        "the share must be above 0",
    )?;
    policy(lane)
}

fn policy(lane: &Lane) -> Result<(), RequestFault> {
    match lane.policy {
        Policy::Other | Policy::Batch | Policy::Idle => Ok(()),
        Policy::Fifo | Policy::Rr if (1..=99).contains(&lane.priority) => Ok(()),
        Policy::Fifo | Policy::Rr => Err(("priority", "it must be 1 to 99 for fifo and rr")),
        Policy::Deadline if is_deadline(lane.deadline) => Ok(()),
        Policy::Deadline => Err((
            "deadline",
            "the runtime must be 1.024 us or more, and no more than the period, which is 100 us to 4 s",
        )),
        _ => Err(("policy", "it must be other, batch, idle, fifo, rr or deadline")),
    }
}

fn available(cpus: &CpuSet, root: &Root) -> Result<(), MeasureError> {
    if let Some(online) = online(root)?
        && let Some(cpu) = cpus.minus(&online).first()
    {
        return Err(MeasureError::Offline { cpu, online });
    }
    Ok(())
}

/// The online CPUs; `None` where the kernel does not report them.
pub(crate) fn online(root: &Root) -> Result<Option<CpuSet>, MeasureError> {
    let text = root.value("/sys/devices/system/cpu/online")?;
    Ok(text.and_then(|text| CpuSet::parse_list(&text).ok()))
}

/// Whether `__checkparam_dl` in the kernel accepts it, with the limits of `kernel.sched_deadline_period_*_us`.
fn is_deadline(deadline: Deadline) -> bool {
    let Deadline { runtime_ns, period_ns } = deadline;
    (100_000..=4_000_000_000).contains(&period_ns) && (1_024..=period_ns).contains(&runtime_ns)
}

/// Checks that every thread runs on its CPU, with the policy if that is required.
pub(crate) fn pinned(job: &SamplerJob<'_>, sampler_pid: u32, root: &Root) -> Result<(), MeasureError> {
    for (place, lane) in job.lanes.iter().enumerate() {
        let cpu = lane.cpu;
        let Some((track, _)) = job.shared.track(place) else {
            continue;
        };
        if track.state.0.load(Ordering::Acquire) != state::NOT_PINNED {
            match track.policy_errno.load(Ordering::Relaxed) {
                0 => continue,
                errno if lane.policy == Policy::Deadline => {
                    return Err(MeasureError::deadline(cpu, errno, root));
                }
                errno if lane.if_refused == PolicyFallback::Fails => {
                    return Err(MeasureError::policy(lane, errno, root));
                }
                _ => continue,
            }
        }
        return Err(match track.errno.load(Ordering::Relaxed) {
            libc::EINVAL => MeasureError::NotAllowed {
                cpu,
                allowed: allowed(sampler_pid, root),
            },
            errno => MeasureError::Os {
                operation: "pin a sampler to its CPU",
                errno,
            },
        });
    }
    Ok(())
}

/// `Cpus_allowed_list` of the sampler's main thread, which is not pinned.
fn allowed(pid: u32, root: &Root) -> CpuSet {
    let text = root.readable_text(&format!("/proc/{pid}/status")).unwrap_or_default();
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(|list| CpuSet::parse_list(list).ok()).unwrap_or_default()
}
