//! Timers: many short high-resolution timers, so that their interrupt fires continuously.

use rustix::io::read;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;

/// Number of concurrent timers; each restarts when it is read.
const TIMERS: u16 = 16;

/// The shortest period, and the increment from one timer to the next, so that they spread.
const PERIOD_NS: i64 = 200_000;
const APART_NS: i64 = 7_000;

/// Never returns, unless the kernel has no such timers.
pub(super) fn run() {
    let timers: Vec<OwnedFd> = (0..TIMERS).filter_map(|place| started(i64::from(place)).ok()).collect();
    let mut count = [0_u8; 8];
    while !timers.is_empty() && timers.iter().all(|timer| read(timer, &mut count).is_ok()) {}
}

fn started(place: i64) -> rustix::io::Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let period = Timespec {
        tv_sec: 0,
        tv_nsec: PERIOD_NS + place * APART_NS,
    };
    let timer_spec = Itimerspec {
        it_interval: period,
        it_value: period,
    };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &timer_spec)?;
    Ok(timer)
}
