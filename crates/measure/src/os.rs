//! Wraps system calls that no crate wraps, or that musl implements as stubs. Unsafe operating-system calls
//! belong here.

use crate::{Deadline, OwnDisturbances};
use libc::{c_int, c_long, c_ulong};
use machine::{CpuId, CpuSet, Policy};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// An errno.
pub(crate) type Errno = i32;

const WORD_BITS: u32 = c_ulong::BITS;

fn errno() -> Errno {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// The side of a fork.
pub(crate) enum ForkSide {
    /// The caller, with the child's PID.
    Parent(u32),
    /// The child.
    Child,
}

/// Forks. The C library makes its allocator usable in the child, so the child may start threads; it must not
/// print, must not return into the caller's code, and must end with [`exit_now`].
pub(crate) fn fork() -> Result<ForkSide, Errno> {
    // SAFETY: fork has no memory preconditions. The callers keep to the rules above: their children use only
    // the allocator and threads, both of which glibc and musl (1.2.2 and later) restore after a fork.
    match unsafe { libc::fork() } {
        -1 => Err(errno()),
        0 => Ok(ForkSide::Child),
        pid => Ok(ForkSide::Parent(pid.unsigned_abs())),
    }
}

/// Ends the process at once, without running exit handlers.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: _exit takes no pointers and does not return.
    unsafe { libc::_exit(status) }
}

/// Pins the calling thread.
pub(crate) fn pin(cpus: &CpuSet) -> Result<(), Errno> {
    root::sched::set_affinity(0, &cpus.words())
}

/// The CPUs that the calling thread may use.
pub(crate) fn allowed() -> Result<CpuSet, Errno> {
    let mut words = 128;
    loop {
        let mut mask = vec![0 as c_ulong; words];
        // SAFETY: the kernel writes at most `size_of_val(mask)` bytes into a live buffer of that size.
        let done = unsafe {
            libc::syscall(
                libc::SYS_sched_getaffinity,
                0,
                size_of_val(mask.as_slice()),
                mask.as_mut_ptr(),
            )
        };
        if done != -1 {
            let bit = |word: c_ulong, place: usize, bit: u32| {
                (word & (1 << bit) != 0).then(|| u32::try_from(place).ok().map(|place| place * WORD_BITS + bit))
            };
            return Ok(mask
                .iter()
                .enumerate()
                .flat_map(|(place, &word)| (0..WORD_BITS).filter_map(move |n| bit(word, place, n).flatten()))
                .filter(|&cpu| cpu <= CpuSet::MAX_CPU)
                .map(CpuId)
                .collect());
        }
        // EINVAL: the kernel has more CPUs than the buffer.
        match errno() {
            libc::EINVAL if words < 1 << 14 => words *= 4,
            errno => return Err(errno),
        }
    }
}

/// Restores the calling thread's affinity when dropped.
pub(crate) struct AffinityGuard {
    former: Option<CpuSet>,
}

/// Moves the calling thread off `measured` if it may run anywhere else. A thread that is not on these CPUs
/// is not changed.
pub(crate) fn leave_measured(measured: &CpuSet) -> AffinityGuard {
    let Ok(allowed) = allowed() else {
        return AffinityGuard { former: None };
    };
    let rest = allowed.minus(measured);
    if rest.is_empty() || rest == allowed || pin(&rest).is_err() {
        return AffinityGuard { former: None };
    }
    AffinityGuard { former: Some(allowed) }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        if let Some(former) = &self.former {
            // The CPUs may have been removed from our cpuset since then; in that case the kernel has chosen others.
            let _ = pin(former);
        }
    }
}

/// Pins the calling thread to `cpus` until the value is dropped.
pub(crate) fn step_onto(cpus: &CpuSet) -> Result<AffinityGuard, Errno> {
    let former = allowed()?;
    pin(cpus)?;
    Ok(AffinityGuard { former: Some(former) })
}

/// Sets policy and priority of the calling thread.
pub(crate) fn set_policy(policy: Policy, priority: u32, deadline: Deadline) -> Result<(), Errno> {
    match policy {
        Policy::Deadline => {
            let Deadline { runtime_ns, period_ns } = deadline;
            root::sched::set_deadline(0, runtime_ns, period_ns, period_ns)
        }
        _ => set_policy_of(0, policy, priority),
    }
}

/// As [`set_policy`], for another process (0: this one), but without deadline policies.
pub(crate) fn set_policy_of(pid: u32, policy: Policy, priority: u32) -> Result<(), Errno> {
    let number = match policy {
        Policy::Fifo => libc::SCHED_FIFO,
        Policy::Rr => libc::SCHED_RR,
        Policy::Batch => libc::SCHED_BATCH,
        Policy::Idle => libc::SCHED_IDLE,
        _ => libc::SCHED_OTHER,
    };
    let priority = match policy {
        Policy::Fifo | Policy::Rr => i32::try_from(priority).unwrap_or(1),
        _ => 0,
    };
    root::sched::set_scheduler(pid, number, priority)
}

/// The TID of the calling thread.
pub(crate) fn thread_number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Policy and priority of the calling thread, as reported by the kernel.
pub(crate) fn policy() -> (Policy, u32) {
    let mut parameter: c_int = 0;
    // SAFETY: the first call takes no pointers; for the second the kernel writes one int into a live variable.
    let number = unsafe {
        libc::syscall(libc::SYS_sched_getparam, 0, &raw mut parameter);
        libc::syscall(libc::SYS_sched_getscheduler, 0)
    };
    (policy_of(number), u32::try_from(parameter).unwrap_or(0))
}

fn policy_of(number: c_long) -> Policy {
    // Bit 30 is SCHED_RESET_ON_FORK.
    match c_int::try_from(number & !(1 << 30)) {
        Ok(libc::SCHED_OTHER) => Policy::Other,
        Ok(libc::SCHED_FIFO) => Policy::Fifo,
        Ok(libc::SCHED_RR) => Policy::Rr,
        Ok(libc::SCHED_BATCH) => Policy::Batch,
        Ok(libc::SCHED_IDLE) => Policy::Idle,
        Ok(6) => Policy::Deadline,
        Ok(7) => Policy::Ext,
        _ => Policy::Unknown,
    }
}

/// `clock_nanosleep` on any clock. Does not return the remaining time.
pub(crate) fn sleep(clock: c_int, flags: c_int, ns: u64) {
    // The call with 64-bit times; on 32 bits it is a newer call, with the same number on every architecture.
    #[cfg(target_pointer_width = "64")]
    const CALL: c_long = libc::SYS_clock_nanosleep;
    #[cfg(target_pointer_width = "32")]
    const CALL: c_long = 407;
    let time = [(ns / 1_000_000_000).cast_signed(), (ns % 1_000_000_000).cast_signed()];
    // SAFETY: the kernel reads two 64-bit numbers that live across the call.
    unsafe { libc::syscall(CALL, clock, flags, time.as_ptr(), std::ptr::null_mut::<i64>()) };
}

/// Page faults and context switches of the calling thread since it was started. Uses the raw call: the kernel's struct is
/// 18 longs (two times of two longs, then 14 counters) on every architecture, unlike the libraries' structs.
pub(crate) fn thread_usage() -> OwnDisturbances {
    let mut usage = [0 as c_long; 18];
    // SAFETY: the kernel writes struct rusage, which is exactly these 18 longs.
    unsafe { libc::syscall(libc::SYS_getrusage, libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    let at = |place: usize| {
        usage
            .get(place)
            .and_then(|&count| u64::try_from(count).ok())
            .unwrap_or(0)
    };
    OwnDisturbances {
        page_faults: at(8) + at(9),
        voluntary_switches: at(16),
        involuntary_switches: at(17),
    }
}

/// Blocks every signal in the calling thread, so that a Ctrl-C on the terminal, which signals the whole
/// process group, reaches only the caller. SIGKILL and SIGSTOP cannot be blocked.
pub(crate) fn block_signals() {
    // SAFETY: sigfillset initialises the set before pthread_sigmask reads it; the old set is not requested.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut set);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Makes the calling process die with its parent. `false` if the parent has already exited.
pub(crate) fn kill_with_parent(parent: u32) -> bool {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    rustix::process::getppid().is_some_and(|pid| pid.as_raw_nonzero().get().unsigned_abs() == parent)
}

/// Settings that apply to a program before its first instruction.
pub(crate) struct ProgramStart {
    /// The thread that starts it: the program dies with that thread.
    pub parent: u32,
    /// The file that moves it into its cgroup.
    pub door: Option<OwnedFd>,
    /// The CPUs that it may use.
    pub cpus: Option<CpuSet>,
    /// Its policy.
    pub policy: Policy,
    /// Real-time priority.
    pub priority: u32,
}

/// Makes a command start with these settings: the cgroup first, because joining one can change the others.
pub(crate) fn on_start(command: &mut Command, start: ProgramStart) {
    let prepare = move || {
        let failed = |errno| Err(std::io::Error::from_raw_os_error(errno));
        if !kill_with_parent(start.parent) {
            return failed(libc::ESRCH);
        }
        if let Some(door) = &start.door {
            // 0 is the writing process.
            rustix::io::write(door, b"0")?;
        }
        if let Some(cpus) = &start.cpus {
            pin(cpus).or_else(failed)?;
        }
        set_policy_of(0, start.policy, start.priority).or_else(failed)
    };
    // SAFETY: between fork and exec it makes system calls on existing objects only. Its one allocation (the mask) is
    // allowed after a fork: see [`fork`].
    unsafe { command.pre_exec(prepare) };
}

/// Sets nice 19 for the calling process.
pub(crate) fn be_nice() {
    // SAFETY: setpriority takes no pointers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}
