//! A thread on another CPU wakes a thread on the measured one. The woken thread has the CPU, and the waking thread is
//! the culprit.

use super::{Disturbance, InjectionSite, ProbePolicy, always, place_thread, preempt};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::sync::mpsc;

/// The thread that is woken.
const WOKEN: &str = "woken";
/// Time for which the woken thread then computes.
const BUSY_NS: u64 = 20_000;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "wake",
    about: "a thread wakes a FIFO thread that sleeps on the measured CPU and then computes for 20 us",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        classes: &["preemption"],
        name: &[WOKEN],
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["sched/sched_waking"],
    },
    inject,
};

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let cpu = place.measured;
    let (wake, woken) = mpsc::channel::<()>();
    let (ran, runs) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(move || -> Result<(), String> {
            place_thread(WOKEN, cpu, "fifo:70")?;
            while woken.recv().is_ok() {
                preempt::busy(BUSY_NS);
                ran.send(()).map_err(|error| error.to_string())?;
            }
            Ok(())
        });
        let done = place.perform_repeatedly(count, || {
            let thread_ended = |_| "the thread that is to be woken has ended".to_owned();
            wake.send(()).map_err(thread_ended)?;
            runs.recv().map_err(|error| error.to_string())
        });
        drop(wake);
        match sleeper.join() {
            Ok(ended) => ended.and(done),
            Err(_) => Err("the thread that is woken failed".to_owned()),
        }
    })
}
