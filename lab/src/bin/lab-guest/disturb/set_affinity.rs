//! Moves a computing thread away by `sched_setaffinity`: the kernel's migration thread takes the CPU for that.

use super::beside::acts_beside;
use super::{Disturbance, Place, Probe, always};
use lab::truth::{Expected, Injected, Who};
use std::io::Error;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "setaffinity",
    about: "a thread that computes there is moved by sched_setaffinity: migration/N runs",
    probe: Probe::Other,
    possible: always,
    expected: Expected {
        classes: &["kernel_thread"],
        name: &["migration/"],
        culprit: Who::Injector,
        callsite: &[],
        told_by: &["sched/sched_waking"],
    },
    inject,
};

fn inject(place: &mut Place, count: usize) -> Result<Vec<Injected>, String> {
    acts_beside(place, count, |place, thread| {
        let done = place.act(|| put(thread, place.other))?;
        let now = stands_on(thread)?;
        if now != place.other {
            return Err(format!("the thread stands on CPU {now}, not {}", place.other));
        }
        put(thread, place.measured)?;
        Ok(done)
    })
}

fn put(thread: i32, cpu: u32) -> Result<(), String> {
    // SAFETY: cpu_set_t is plain data; the CPU is one that is online, so it is in the set's range.
    let status = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    match status {
        0 => Ok(()),
        _ => Err(format!(
            "thread {thread} on CPU {cpu}: {}",
            Error::last_os_error()
        )),
    }
}

/// The CPU of a thread, field 39 of its `stat`.
fn stands_on(thread: i32) -> Result<u32, String> {
    let path = format!("/proc/self/task/{thread}/stat");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let rest = text.rsplit_once(") ").map(|(_, rest)| rest);
    rest.and_then(|rest| rest.split(' ').nth(36)?.parse().ok())
        .ok_or_else(|| format!("{path} tells no CPU"))
}
