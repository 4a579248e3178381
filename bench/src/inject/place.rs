//! Sets the CPU and real-time priority of a thread, and locks memory.

use super::failed;
use std::io::Error;
use xtask::error::TaskResult;

/// Restricts the calling thread (and what it starts) to these CPUs.
///
/// # Errors
/// The kernel refuses, for example because a CPU is offline.
pub(crate) fn pin(cpus: &[usize]) -> TaskResult {
    // SAFETY: the set is plain data of the given size. Numbers beyond it are refused before.
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

/// Sets a SCHED_FIFO priority for the calling thread.
///
/// # Errors
/// The kernel refuses: the user is not root, or the cgroup has no real-time budget.
pub(crate) fn fifo(priority: i32) -> TaskResult {
    // SAFETY: the parameter is plain data; zero means the calling thread.
    let refused = unsafe {
        let mut parameter: libc::sched_param = std::mem::zeroed();
        parameter.sched_priority = priority;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) != 0
    };
    answer(refused, &format!("no FIFO priority {priority} (run it as root)"))
}

/// Locks all present and future memory of this process.
///
/// # Errors
/// The kernel refuses.
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
