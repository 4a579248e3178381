//! Runs a computing thread of this program on the measured CPU during the acts: unmapping, barriers and signals reach
//! only a CPU that runs the target program.

use super::counted::wait_until;
use super::{InjectionSite, me, place_thread};
use lab::clock;
use lab::truth::Injection;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Name of the computing thread.
const NAME: &str = "beside";
/// Above every usual priority on that CPU, and below the injector, to whose CPU the thread may be moved.
const POLICY: &str = "fifo:40";
/// Longer than any act. After this time the thread releases the CPU without being stopped.
const LONGEST_NS: u64 = 2_000_000_000;

/// Runs `act` this many times, each after a pause and while the thread computes on the measured CPU. `act` gets the
/// thread ID.
///
/// # Errors
/// The thread cannot run on the CPU or does not get it, or `act` fails.
pub(super) fn perform_beside(
    place: &mut InjectionSite,
    count: usize,
    mut act: impl FnMut(&InjectionSite, i32) -> Result<Injection, String>,
) -> Result<Vec<Injection>, String> {
    let measured = place.measured;
    let computes = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (stand_there, placed) = mpsc::channel();
        let (start, starts) = mpsc::channel::<()>();
        scope.spawn(move || {
            let result = place_thread(NAME, measured, POLICY).map(|()| me().pid);
            let failed = result.is_err();
            if stand_there.send(result).is_err() || failed {
                return;
            }
            for () in starts {
                computes.store(true, Ordering::Relaxed);
                let until = clock::now_ns() + LONGEST_NS;
                while computes.load(Ordering::Relaxed) && clock::now_ns() < until {
                    std::hint::spin_loop();
                }
                computes.store(false, Ordering::Relaxed);
            }
        });
        let ended = || "the thread on the measured CPU has ended".to_owned();
        let thread = placed.recv().map_err(|_| ended())??;
        let mut done = Vec::with_capacity(count);
        for _ in 0..count {
            place.pause();
            start.send(()).map_err(|_| ended())?;
            wait_until("a thread beside computes", || Ok(computes.load(Ordering::Relaxed)))?;
            let acted = act(place, thread);
            if !computes.swap(false, Ordering::Relaxed) {
                return Err("the thread on the measured CPU had let go of it".to_owned());
            }
            done.push(acted?);
        }
        Ok(done)
    })
}
