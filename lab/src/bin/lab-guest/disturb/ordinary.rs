//! Ordinary threads compete for the CPU.

use super::counted::{INTERRUPTS, each_counted};
use super::preempt::busy;
use super::{Disturbance, InjectionSite, ProbePolicy, always, place_thread};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};

/// A thread that needs the CPU for a moment.
pub(super) const CFS: Disturbance = Disturbance {
    name: "cfs",
    about: "a SCHED_OTHER thread wakes there by its own timer and computes for 50 us",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        classes: &["preemption"],
        name: &[],
        culprit: ExpectedCulprit::Itself,
        callsite: &[],
        reporting_events: &[],
    },
    inject: |place, count| ordinary(place, count, CFS.name, 50_000),
};

/// A thread that computes for so long that the tick must share the CPU.
pub(super) const SECOND: Disturbance = Disturbance {
    name: "second-task",
    about: "a second SCHED_OTHER thread computes there for 24 ms: the tick shares the CPU out",
    expected: ExpectedBlame {
        classes: &["tick"],
        name: &["tick_", "local_timer"],
        culprit: ExpectedCulprit::Unknown,
        callsite: &[],
        reporting_events: &[],
    },
    inject: |place, count| {
        each_counted((INTERRUPTS, "LOC"), place.measured, || {
            ordinary(place, count, SECOND.name, 24_000_000)
        })
    },
    ..CFS
};

fn ordinary(place: &mut InjectionSite, count: usize, name: &str, ns: u64) -> Result<Vec<Injection>, String> {
    place_thread(name, place.measured, "other:0")?;
    let mut done = Vec::with_capacity(count);
    for _ in 0..count {
        place.pause();
        done.push(busy(ns));
    }
    Ok(done)
}
