//! A thread of this program computes on the measured CPU meanwhile: memory that is unmapped, barriers and signals reach only a
//! CPU that runs the program that they are for.

use super::counted::wait_until;
use super::{Place, me, stand};
use lab::clock;
use lab::truth::Injected;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Its name.
const NAME: &str = "beside";
/// Above everything usual there, and below the injector, whose CPU it may be sent to.
const POLICY: &str = "fifo:40";
/// Longer than any act; then it lets go of the CPU by itself.
const LONGEST_NS: u64 = 2_000_000_000;

/// Does `act` so many times, each after a pause and while the thread computes there. `act` is given the thread's number.
///
/// # Errors
/// When the thread cannot stand there, does not get the CPU, or what `act` says.
pub(super) fn acts_beside(
    place: &mut Place,
    count: usize,
    mut act: impl FnMut(&Place, i32) -> Result<Injected, String>,
) -> Result<Vec<Injected>, String> {
    let measured = place.measured;
    let computes = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (stand_there, stands) = mpsc::channel();
        let (start, starts) = mpsc::channel::<()>();
        scope.spawn(move || {
            let stood = stand(NAME, measured, POLICY).map(|()| me().pid);
            let failed = stood.is_err();
            if stand_there.send(stood).is_err() || failed {
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
        let thread = stands.recv().map_err(|_| ended())??;
        let mut done = Vec::with_capacity(count);
        for _ in 0..count {
            place.pause();
            start.send(()).map_err(|_| ended())?;
            wait_until(
                "a thread beside computes",
                || Ok(computes.load(Ordering::Relaxed)),
            )?;
            let acted = act(place, thread);
            if !computes.swap(false, Ordering::Relaxed) {
                return Err("the thread on the measured CPU had let go of it".to_owned());
            }
            done.push(acted?);
        }
        Ok(done)
    })
}
