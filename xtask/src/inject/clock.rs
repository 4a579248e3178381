//! `CLOCK_MONOTONIC`, the clock on which all times of truth are told, and sleeping to a time on it.

/// Now, in nanoseconds. 0 when the kernel has no such clock, which it always has.
pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call fills the timespec that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Returns at that time or later, however often a signal wakes the sleeper.
pub(crate) fn sleep_until(at_ns: u64) {
    let time = libc::timespec {
        tv_sec: libc::time_t::try_from(at_ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
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
