//! `CLOCK_MONOTONIC`, on which the truth for samplers is told and which can be slept on, and `CLOCK_MONOTONIC_RAW`, on which
//! `blame` tells its gaps.

/// Now on `CLOCK_MONOTONIC`, in nanoseconds. 0 when the kernel has no such clock, which it always has.
#[must_use]
pub fn now_ns() -> u64 {
    of(libc::CLOCK_MONOTONIC)
}

/// Now on `CLOCK_MONOTONIC_RAW`, which nobody slews.
#[must_use]
pub fn raw_ns() -> u64 {
    of(libc::CLOCK_MONOTONIC_RAW)
}

fn of(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call fills the timespec that it is given.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Returns at that time of `CLOCK_MONOTONIC` or later, however often a signal wakes the sleeper.
pub fn sleep_until(at_ns: u64) {
    let time = libc::timespec {
        tv_sec: (at_ns / 1_000_000_000) as _,
        tv_nsec: (at_ns % 1_000_000_000) as _,
    };
    // SAFETY: the timespec outlives the call; an absolute sleep writes nothing back.
    while unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        )
    } == libc::EINTR
    {}
}
