//! Sets affinity and policy of threads by system call.
//!
//! Raw calls, because the fixed-size sets of the libraries end at 1,024 CPUs, and because `sched_setscheduler` of musl
//! is a stub that always fails. Thread 0 is the calling one.

/// `sched_setaffinity`. CPU `n` is bit `n % 64` of word `n / 64`.
///
/// # Errors
/// The errno: ESRCH for a thread that has ended, EINVAL for one that cannot be moved or a set without a CPU that it may use.
pub fn set_affinity(tid: u32, words: &[u64]) -> Result<(), i32> {
    let bytes = kernel_words(words);
    // SAFETY: the kernel reads `bytes.len()` bytes from a buffer that lives across the call.
    let done = unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, bytes.len(), bytes.as_ptr()) };
    outcome(done)
}

/// `sched_getaffinity`: the active CPUs of the mask, in the format of [`set_affinity`]. The buffer grows until the
/// kernel's set fits, and keeps its capacity for the next call.
///
/// # Errors
/// The errno: ESRCH for a thread that has ended.
pub fn affinity(tid: u32, words: &mut Vec<u64>) -> Result<(), i32> {
    /// No kernel supports CPUs above this number.
    const MOST: usize = 1024;
    loop {
        words.resize(words.capacity().max(16), 0);
        let bytes = words.len() * 8;
        // SAFETY: the kernel writes at most `bytes` bytes into a buffer that lives across the call.
        let done = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, bytes, words.as_mut_ptr()) };
        match done {
            -1 if errno() == libc::EINVAL && words.len() < MOST => words.resize(words.len() * 2, 0),
            -1 => return Err(errno()),
            written => {
                words.truncate(usize::try_from(written).unwrap_or(0) / 8);
                return Ok(());
            }
        }
    }
}

/// `sched_setscheduler` with one of the policies that take a plain priority (0 for those without).
///
/// # Errors
/// The errno: EPERM without the privilege, or in a cgroup without real-time runtime (RT_GROUP_SCHED).
pub fn set_scheduler(tid: u32, policy: i32, priority: i32) -> Result<(), i32> {
    // SAFETY: the kernel's struct sched_param is one int, which lives across the call.
    let done = unsafe { libc::syscall(libc::SYS_sched_setscheduler, tid, policy, std::ptr::from_ref(&priority)) };
    outcome(done)
}

/// `SCHED_DEADLINE` (`sched_setattr`): in every period the kernel gives the thread its runtime before the deadline.
/// Children start as `SCHED_OTHER` (`SCHED_FLAG_RESET_ON_FORK`), because without this flag the thread may not fork.
///
/// # Errors
/// The errno: EBUSY if the CPUs do not have this share left, EPERM without the privilege or if the thread may not run
/// on every CPU of its root domain, EINVAL for times that the kernel does not accept.
pub fn set_deadline(tid: u32, runtime_ns: u64, deadline_ns: u64, period_ns: u64) -> Result<(), i32> {
    const RESET_ON_FORK: u64 = 1;
    /// `struct sched_attr` in its first published size of 48 bytes.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    }
    let attributes = Attributes {
        size: 48,
        policy: 6,
        flags: RESET_ON_FORK,
        nice: 0,
        priority: 0,
        runtime_ns,
        deadline_ns,
        period_ns,
    };
    // SAFETY: the kernel reads `size` bytes of a structure that lives across the call.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, std::ptr::from_ref(&attributes), 0) };
    outcome(done)
}

/// `setpriority` of a thread: -20 is the highest priority, 19 the lowest.
///
/// # Errors
/// The errno: EACCES without the privilege for a higher priority, ESRCH for a thread that has ended.
pub fn set_nice(tid: u32, nice: i32) -> Result<(), i32> {
    // SAFETY: plain numbers.
    let done = unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, tid, nice) };
    outcome(done)
}

/// A set of bits in the kernel's layout: on 32 bits its words are half as long, and in little-endian the two layouts
/// are the same.
pub(crate) fn kernel_words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| kernel_bytes(*word)).collect()
}

fn kernel_bytes(word: u64) -> [u8; 8] {
    if cfg!(target_pointer_width = "64") {
        word.to_ne_bytes()
    } else {
        word.to_le_bytes()
    }
}

/// The outcome of a system call that returned this.
pub(crate) fn outcome(done: impl Into<i64>) -> Result<(), i32> {
    match done.into() {
        -1 => Err(errno()),
        _ => Ok(()),
    }
}

pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
