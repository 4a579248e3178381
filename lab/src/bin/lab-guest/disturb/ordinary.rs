//! Ordinary threads compete for the CPU.

use super::counted::{INTERRUPTS, each_counted};
use super::preempt::busy;
use super::{Disturbance, Place, Probe, always, stand};
use lab::truth::{Expected, Injected, Who};

/// For a moment.
pub(super) const CFS: Disturbance = Disturbance {
    name: "cfs",
    about: "a SCHED_OTHER thread wakes there by its own timer and computes for 50 us",
    probe: Probe::Other,
    possible: always,
    expected: Expected {
        classes: &["preemption"],
        name: &[],
        culprit: Who::Itself,
        callsite: &[],
        told_by: &[],
    },
    inject: |place, count| ordinary(place, count, CFS.name, 50_000),
};

/// Long enough that the tick must share the CPU.
pub(super) const SECOND: Disturbance = Disturbance {
    name: "second-task",
    about: "a second SCHED_OTHER thread computes there for 24 ms: the tick shares the CPU out",
    expected: Expected {
        classes: &["tick"],
        name: &["tick_", "local_timer"],
        culprit: Who::Nobody,
        callsite: &[],
        told_by: &[],
    },
    inject: |place, count| {
        each_counted((INTERRUPTS, "LOC"), place.measured, || {
            ordinary(place, count, SECOND.name, 24_000_000)
        })
    },
    ..CFS
};

fn ordinary(place: &mut Place, count: usize, name: &str, ns: u64) -> Result<Vec<Injected>, String> {
    stand(name, place.measured, "other:0")?;
    let mut done = Vec::with_capacity(count);
    for _ in 0..count {
        place.pause();
        done.push(busy(ns));
    }
    Ok(done)
}
