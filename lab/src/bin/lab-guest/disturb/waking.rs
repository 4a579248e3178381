//! Wakes threads on the measured CPU from another CPU: one by a reschedule interrupt, and many at a time.

use super::counted::{INTERRUPTS, count as counted, wait_until};
use super::{Disturbance, InjectionSite, ProbePolicy, always, place_thread};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

/// Wake-up of one thread, by a reschedule interrupt.
pub(super) const RESCHEDULE: Disturbance = Disturbance {
    name: "resched",
    about: "a thread wakes a FIFO thread that sleeps there: a rescheduling interrupt",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        // A CPU that shares no cache gets a function call instead.
        classes: &["reschedule", "function_call"],
        name: &[],
        culprit: ExpectedCulprit::Injector,
        callsite: &[
            "resched",
            "wakeup_preempt",
            "ttwu",
            "wake_up",
            "check_preempt",
            "smp_call",
        ],
        reporting_events: &["ipi/ipi_send_cpu"],
    },
    inject: |place, count| {
        let measured = place.measured;
        let sent = || Ok::<u64, String>(counted(INTERRUPTS, "RES", measured)? + counted(INTERRUPTS, "CAL", measured)?);
        let before = sent()?;
        let done = waking(place, count, 1)?;
        match sent()?.saturating_sub(before) {
            sent if sent < done.len() as u64 => Err(format!("{} wake-ups sent {sent} interrupts", done.len())),
            _ => Ok(done),
        }
    },
};

/// Wake-up of many threads.
pub(super) const STORM: Disturbance = Disturbance {
    name: "wake-storm",
    about: "a thread wakes eight threads that sleep there, one after the other",
    expected: ExpectedBlame {
        classes: &["preemption"],
        name: &[SLEEPER],
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["sched/sched_waking"],
    },
    inject: |place, count| waking(place, count, 8),
    ..RESCHEDULE
};

/// Name of the woken threads.
const SLEEPER: &str = "sleeper";

fn waking(place: &mut InjectionSite, count: usize, sleepers: u64) -> Result<Vec<Injection>, String> {
    let cpu = place.measured;
    let woken = &AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let wakes: Vec<mpsc::Sender<()>> = (0..sleepers)
            .map(|_| {
                let (wake, wakes) = mpsc::channel::<()>();
                let sender = sender.clone();
                scope.spawn(move || {
                    if sender.send(place_thread(SLEEPER, cpu, "fifo:70")).is_err() {
                        return;
                    }
                    for () in wakes {
                        woken.fetch_add(1, Ordering::Relaxed);
                    }
                });
                wake
            })
            .collect();
        for _ in &wakes {
            receiver
                .recv()
                .map_err(|_| "a thread on the measured CPU has ended".to_owned())??;
        }
        place.perform_repeatedly(count, || {
            let before = woken.load(Ordering::Relaxed);
            for wake in &wakes {
                wake.send(())
                    .map_err(|_| "a thread on the measured CPU has ended".to_owned())?;
            }
            wait_until("threads that were woken", || {
                Ok(woken.load(Ordering::Relaxed) >= before + sleepers)
            })
        })
    })
}
