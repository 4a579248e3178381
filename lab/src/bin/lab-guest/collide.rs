//! `lab-guest collide`: makes kprobes hit each other. While the handler of a kprobe runs on a CPU, an interrupt there
//! may hit another probe. The kernel skips that probe and counts it as missed (`kprobe_ftrace_handler` and
//! `kprobe_running`, `arch/x86/kernel/kprobes/ftrace.c`).

use crate::disturb::membarrier;
use crate::population::{pin, set_policy};
use std::fs::File;
use std::io::{Error, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::{Duration, Instant};

/// `membarrier(2)`, private and expedited: the command and its registration.
const BARRIER: libc::c_int = 1 << 3;
const REGISTER: libc::c_int = 1 << 4;
/// Maximum delay of the timer. The delay grows with each round and wraps around. At some delays the timer expires while
/// the barrier is in its probe.
const LATEST_NS: i64 = 400_000;
/// Step between two of these delays.
const STEP_NS: i64 = 2_000;

/// Runs a barrier on `cpu`, which sends a function call to `busy`, where a sibling thread computes. The interrupt of a
/// timer that was set just before wakes a thread on `idle` and therefore sends an interrupt to that CPU as well.
pub fn run(cpu: u32, busy: u32, idle: u32, seconds: u64) -> Result<(), String> {
    let until = Instant::now() + Duration::from_secs(seconds);
    membarrier(REGISTER)?;
    std::thread::spawn(move || {
        pin(&[busy])?;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        Ok::<(), String>(())
    });
    let timer = timer()?;
    let mut woken = timer.try_clone().map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        pin(&[idle])?;
        set_policy("fifo:10")?;
        while woken.read(&mut [0; 8]).is_ok() {}
        Ok::<(), String>(())
    });
    pin(&[cpu])?;
    let mut rounds = 0_u64;
    let mut ahead_ns = STEP_NS;
    while Instant::now() < until {
        set(&timer, ahead_ns)?;
        membarrier(BARRIER)?;
        ahead_ns = ahead_ns % LATEST_NS + STEP_NS;
        rounds += 1;
    }
    println!("{rounds}");
    Ok(())
}

fn timer() -> Result<File, String> {
    // SAFETY: a plain call; the returned descriptor belongs to this process.
    match unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) } {
        -1 => Err(format!("timerfd: {}", Error::last_os_error())),
        // SAFETY: this descriptor has no other owner.
        number => Ok(unsafe { File::from_raw_fd(number) }),
    }
}

fn set(timer: &File, ahead_ns: i64) -> Result<(), String> {
    let time = |tv_nsec| libc::timespec {
        tv_sec: 0,
        tv_nsec: tv_nsec as _,
    };
    let when = libc::itimerspec {
        it_interval: time(0),
        it_value: time(ahead_ns),
    };
    // SAFETY: the new value outlives the call, and the former value is not requested.
    match unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const when, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(format!("timerfd: {}", Error::last_os_error())),
    }
}
