//! Reads `CLOCK_MONOTONIC`, which the truth for samplers uses and on which a thread can sleep, and
//! `CLOCK_MONOTONIC_RAW`, which the gaps of `blame` use.

/// The current `CLOCK_MONOTONIC` in nanoseconds, or 0 if the kernel lacks the clock, which does not happen.
#[must_use]
pub fn now_ns() -> u64 {
    of(libc::CLOCK_MONOTONIC)
}

/// The current `CLOCK_MONOTONIC_RAW`, which is never slewed.
#[must_use]
pub fn raw_ns() -> u64 {
    of(libc::CLOCK_MONOTONIC_RAW)
}

fn of(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the given timespec.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Sleeps until a time of `CLOCK_MONOTONIC`, even if signals interrupt the sleep.
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
