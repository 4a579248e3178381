//! Refuses requests that make no sense, before anything is started; explains CPUs that are out of reach.

use crate::sampler::Job;
use crate::shared::state;
use crate::{MeasureError, Request};
use machine::{CpuSet, Policy};
use root::Root;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The longest window: a year. Far from every overflow.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

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
    if !(100..=1_000_000_000).contains(&request.threshold_ns) {
        return wrong("threshold", "it must be 100 ns to 1 s");
    }
    match request.policy {
        Policy::Other => {}
        Policy::Fifo | Policy::Rr if (1..=99).contains(&request.priority) => {}
        Policy::Fifo | Policy::Rr => return wrong("priority", "it must be 1 to 99 for fifo and rr"),
        _ => return wrong("policy", "it must be other, fifo or rr"),
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

/// Whether every thread got onto its CPU.
pub(crate) fn pinned(job: &Job<'_>, sampler_pid: u32, root: &Root) -> Result<(), MeasureError> {
    for (place, &cpu) in job.cpus.iter().enumerate() {
        let Some((lane, _)) = job.shared.lane(place) else {
            continue;
        };
        if lane.state.0.load(Ordering::Acquire) != state::NOT_PINNED {
            continue;
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
