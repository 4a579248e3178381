//! A thread with a higher priority takes the CPU for some time.

use super::{Disturbance, InjectionSite, ProbePolicy, always, me, place_thread};
use lab::clock;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};

/// Time for which the thread takes the CPU.
const BUSY_NS: u64 = 50_000;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "fifo",
    about: "a FIFO thread of a higher priority wakes by its own timer and computes for 50 us",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        classes: &["preemption"],
        name: &[],
        culprit: ExpectedCulprit::Itself,
        callsite: &[],
        reporting_events: &[],
    },
    inject,
};

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    place_thread("fifo", place.measured, "fifo:95")?;
    let mut done = Vec::with_capacity(count);
    for _ in 0..count {
        place.pause();
        done.push(busy(BUSY_NS));
    }
    Ok(done)
}

/// Computes for this time.
pub(super) fn busy(ns: u64) -> Injection {
    let begin_raw_ns = clock::raw_ns();
    let mut end_raw_ns = begin_raw_ns;
    while end_raw_ns < begin_raw_ns + ns {
        end_raw_ns = clock::raw_ns();
    }
    Injection {
        begin_raw_ns,
        end_raw_ns,
        culprit: me(),
    }
}
