//! Where and how a thread runs: its CPU, its real-time priority, its memory in place.

use super::failed;
use std::io::Error;
use xtask::error::TaskResult;

/// Lets the calling thread (and what it starts) run on these CPUs only.
///
/// # Errors
/// When the kernel refuses, for example because a CPU is not online.
pub(crate) fn pin(cpus: &[usize]) -> TaskResult {
    // SAFETY: the set is plain data of the size that is passed; numbers beyond it are refused before.
    let refused = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus {
            if cpu >= libc::CPU_SETSIZE as usize {
                return Err(failed(format!("CPU {cpu} is beyond {}", libc::CPU_SETSIZE)));
            }
            libc::CPU_SET(cpu, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) != 0
    };
    answer(refused, &format!("cannot run on CPUs {cpus:?}"))
}

/// Gives the calling thread a SCHED_FIFO priority.
///
/// # Errors
/// When the kernel refuses: not root, or no real-time time in this cgroup.
pub(crate) fn fifo(priority: i32) -> TaskResult {
    // SAFETY: the parameter is plain data; zero is the calling thread.
    let refused = unsafe {
        let mut parameter: libc::sched_param = std::mem::zeroed();
        parameter.sched_priority = priority;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) != 0
    };
    answer(refused, &format!("no FIFO priority {priority} (run it as root)"))
}

/// Keeps all memory of this process in place, now and later.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn lock_memory() -> TaskResult {
    // SAFETY: a plain call.
    let refused = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } != 0;
    answer(refused, "cannot lock memory (run it as root)")
}

fn answer(refused: bool, what: &str) -> TaskResult {
    if refused {
        return Err(failed(format!("{what}: {}", Error::last_os_error())));
    }
    Ok(())
}
