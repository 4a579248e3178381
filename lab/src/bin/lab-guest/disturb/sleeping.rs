//! Threads on the measured CPU sleep; the timer that wakes them expires there.

use super::counted::{INTERRUPTS, SOFTIRQS, each_counted};
use super::{Disturbance, InjectionSite, ProbePolicy, always, me, place_thread};
use lab::clock;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::{Error, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// Sleep on a high-resolution timer.
pub(super) const NANOSLEEP: Disturbance = Disturbance {
    name: "nanosleep",
    about: "a FIFO thread there sleeps by clock_nanosleep: its hrtimer wakes it",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        classes: &["tick", "soft_hrtimer"],
        name: &["hrtimer_wakeup"],
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["timer/hrtimer_start"],
    },
    inject: nanosleep,
};

/// Sleep on a timer of the kernel's timer wheel.
pub(super) const SOCKET: Disturbance = Disturbance {
    name: "socket-timeout",
    about: "a FIFO thread there waits at a socket until its timeout: a timer of the wheel wakes it",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        classes: &["soft_timer"],
        name: &["process_timeout"],
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["timer/timer_start"],
    },
    inject: socket,
};

const POLICY: &str = "fifo:60";

fn nanosleep(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    place_thread(NANOSLEEP.name, place.measured, POLICY)?;
    let cpu = place.measured;
    each_counted((INTERRUPTS, "LOC"), cpu, || {
        let mut done = Vec::with_capacity(count);
        for _ in 0..count {
            let ahead_ns = place.distance_ns();
            let (at_ns, begin_raw_ns) = (clock::now_ns() + ahead_ns, clock::raw_ns() + ahead_ns);
            clock::sleep_until(at_ns);
            done.push(Injection {
                begin_raw_ns,
                end_raw_ns: clock::raw_ns(),
                culprit: me(),
            });
        }
        Ok(done)
    })
}

fn socket(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    place_thread(SOCKET.name, place.measured, POLICY)?;
    let failed = |error: Error| format!("a socket: {error}");
    let (socket, _other_end) = UnixDatagram::pair().map_err(failed)?;
    let cpu = place.measured;
    each_counted((SOFTIRQS, "TIMER"), cpu, || {
        let mut done = Vec::with_capacity(count);
        for _ in 0..count {
            let ahead_ns = place.distance_ns();
            socket
                .set_read_timeout(Some(Duration::from_nanos(ahead_ns)))
                .map_err(failed)?;
            // The wheel advances in ticks: the timer may expire late, never early, and the thread may continue much
            // later.
            let begin_raw_ns = clock::raw_ns() + ahead_ns;
            match socket.recv(&mut [0; 8]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(failed(error)),
                Ok(_) => return Err("nobody has sent anything".to_owned()),
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
