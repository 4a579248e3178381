//! Timers expire on the measured CPU because a thread set them there: a single timer, and a storm.

use super::counted::{INTERRUPTS, each_counted, wait_until};
use super::{Disturbance, InjectionSite, ProbePolicy, always, me};
use lab::clock;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd};

/// A single timer.
pub(super) const TIMERFD: Disturbance = Disturbance {
    name: "timerfd",
    about: "a timerfd that a thread set while it ran there expires",
    inject: |place, count| expiring(place, count, 1),
    ..TIMER
};

/// A storm of timers.
pub(super) const STORM: Disturbance = Disturbance {
    name: "timer-storm",
    about: "20 timerfds that a thread set while it ran there expire 100 us apart",
    inject: |place, count| expiring(place, count, 20),
    ..TIMER
};

const TIMER: Disturbance = Disturbance {
    name: "",
    about: "",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        // With PREEMPT_RT timers expire in a softirq.
        classes: &["tick", "soft_hrtimer"],
        name: &["timerfd_tmrproc"],
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["timer/hrtimer_start"],
    },
    inject: |_, _| Ok(Vec::new()),
};

/// Time from setting the first timer to its expiry, long enough for the injector to leave the CPU. It is increased if
/// it was too short.
const AHEAD_NS: u64 = 3_000_000;
/// Longer than any migration takes.
const LONGEST_NS: u64 = 2_000_000_000;
/// Time between two timers of a storm.
const STORM_NS: u64 = 100_000;

/// Injects timers that expire. The injector runs on the measured CPU only while it sets them, and observes their expiry
/// from another CPU.
fn expiring(place: &mut InjectionSite, count: usize, each: u64) -> Result<Vec<Injection>, String> {
    let mut timers = (0..each).map(|_| timer()).collect::<Result<Vec<File>, String>>()?;
    let (measured, other) = (place.measured, place.other);
    each_counted((INTERRUPTS, "LOC"), measured, || {
        let mut done = Vec::with_capacity(count);
        let mut ahead_ns = AHEAD_NS;
        while done.len() < count {
            place.pause();
            crate::population::pin(&[measured])?;
            let culprit = me();
            let first_ns = clock::now_ns() + ahead_ns;
            let begin_raw_ns = clock::raw_ns() + ahead_ns;
            for (timer, at) in timers.iter().zip(0..) {
                set(timer, first_ns + at * STORM_NS)?;
            }
            crate::population::pin(&[other])?;
            let is_past = clock::raw_ns() < begin_raw_ns;
            for timer in &mut timers {
                wait_until("a timer", || expired(timer))?;
            }
            if is_past {
                done.push(Injection {
                    begin_raw_ns,
                    end_raw_ns: clock::raw_ns(),
                    culprit,
                });
            } else if ahead_ns < LONGEST_NS {
                ahead_ns *= 2;
            } else {
                return Err("the way back takes longer than any timer".to_owned());
            }
        }
        Ok(done)
    })
}

fn timer() -> Result<File, String> {
    // SAFETY: the file owns the new descriptor.
    unsafe {
        match libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) {
            -1 => Err(format!("timerfd_create: {}", Error::last_os_error())),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}

fn set(timer: &File, at_ns: u64) -> Result<(), String> {
    let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let at = libc::itimerspec {
        it_interval: never,
        it_value: libc::timespec {
            tv_sec: (at_ns / 1_000_000_000) as _,
            tv_nsec: (at_ns % 1_000_000_000) as _,
        },
    };
    // SAFETY: the structure outlives the call, and nothing is written back.
    match unsafe {
        libc::timerfd_settime(
            timer.as_raw_fd(),
            libc::TFD_TIMER_ABSTIME,
            &raw const at,
            std::ptr::null_mut(),
        )
    } {
        0 => Ok(()),
        _ => Err(format!("timerfd_settime: {}", Error::last_os_error())),
    }
}

fn expired(timer: &mut File) -> Result<bool, String> {
    let mut times = [0_u8; 8];
    match timer.read_exact(&mut times) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(format!("timerfd: {error}")),
    }
}
