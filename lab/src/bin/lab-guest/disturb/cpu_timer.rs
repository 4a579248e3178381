//! A timer on the CPU time of a thread: only the tick of the thread's CPU can detect its expiry.

use super::counted::{INTERRUPTS, each_counted};
use super::{Disturbance, InjectionSite, ProbePolicy, always, me, place_thread};
use lab::clock;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "cpu-timer",
    about: "a POSIX timer on the CPU time of a thread that computes there expires: in the tick",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        classes: &["tick"],
        name: &["tick_", "local_timer"],
        // The tick occurs anyway, and checks all such timers.
        culprit: ExpectedCulprit::Unknown,
        callsite: &[],
        reporting_events: &[],
    },
    inject,
};

/// CPU time after which the timer expires. The tick detects it up to one tick later.
const AFTER_NS: u64 = 3_000_000;
/// Time limit for an expiry, longer than any tick.
const LONGEST_NS: u64 = 1_000_000_000;

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    place_thread(DISTURBANCE.name, place.measured, "fifo:40")?;
    let timer = Timer::new()?;
    let measured = place.measured;
    each_counted((INTERRUPTS, "LOC"), measured, || {
        let mut done = Vec::with_capacity(count);
        for _ in 0..count {
            place.pause();
            let begin_raw_ns = clock::raw_ns() + AFTER_NS;
            timer.set()?;
            while timer.runs()? {
                if clock::raw_ns() > begin_raw_ns + LONGEST_NS {
                    return Err("a timer on CPU time does not expire".to_owned());
                }
            }
            done.push(Injection {
                begin_raw_ns,
                end_raw_ns: clock::raw_ns(),
                culprit: me(),
            });
        }
        Ok(done)
    })
}

/// A timer on the calling thread's CPU time. Its signal is ignored.
struct Timer(libc::timer_t);

impl Timer {
    fn new() -> Result<Timer, String> {
        // SAFETY: plain data; the kernel writes the timer's number.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = libc::SIGURG;
            let mut timer: libc::timer_t = std::mem::zeroed();
            match libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut event, &raw mut timer) {
                0 => Ok(Timer(timer)),
                _ => Err(format!("timer_create: {}", Error::last_os_error())),
            }
        }
    }

    fn set(&self) -> Result<(), String> {
        // SAFETY: plain data, which outlives the call.
        let status = unsafe {
            let mut time: libc::itimerspec = std::mem::zeroed();
            time.it_value.tv_nsec = AFTER_NS as _;
            libc::timer_settime(self.0, 0, &raw const time, std::ptr::null_mut())
        };
        match status {
            0 => Ok(()),
            _ => Err(format!("timer_settime: {}", Error::last_os_error())),
        }
    }

    /// Whether the expiry has not been detected yet.
    fn runs(&self) -> Result<bool, String> {
        // SAFETY: plain data, which the kernel writes.
        unsafe {
            let mut left: libc::itimerspec = std::mem::zeroed();
            match libc::timer_gettime(self.0, &raw mut left) {
                0 => Ok(left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0),
                _ => Err(format!("timer_gettime: {}", Error::last_os_error())),
            }
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: this value owns the timer, which is no longer used.
        unsafe { libc::timer_delete(self.0) };
    }
}
