//! Moves a computing thread away by `sched_setaffinity`: the kernel's migration thread takes the CPU for that.

use super::beside::perform_beside;
use super::{Disturbance, InjectionSite, ProbePolicy, always};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "setaffinity",
    about: "a thread that computes there is moved by sched_setaffinity: migration/N runs",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        classes: &["kernel_thread"],
        name: &["migration/"],
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["sched/sched_waking"],
    },
    inject,
};

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    perform_beside(place, count, |place, thread| {
        let done = place.perform(|| pin(thread, place.other))?;
        let now = cpu_of(thread)?;
        if now != place.other {
            return Err(format!("the thread stands on CPU {now}, not {}", place.other));
        }
        pin(thread, place.measured)?;
        Ok(done)
    })
}

fn pin(thread: i32, cpu: u32) -> Result<(), String> {
    // SAFETY: cpu_set_t is plain data, and an online CPU is in the set's range.
    let status = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    match status {
        0 => Ok(()),
        _ => Err(format!("thread {thread} on CPU {cpu}: {}", Error::last_os_error())),
    }
}

/// The CPU of a thread, field 39 of its `stat`.
fn cpu_of(thread: i32) -> Result<u32, String> {
    let path = format!("/proc/self/task/{thread}/stat");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let rest = text.rsplit_once(") ").map(|(_, rest)| rest);
    rest.and_then(|rest| rest.split(' ').nth(36)?.parse().ok())
        .ok_or_else(|| format!("{path} tells no CPU"))
}
