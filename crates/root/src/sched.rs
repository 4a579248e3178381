//! Affinity and policy of threads: what the kernel takes by system call and not by file.
//!
//! Raw calls, because the fixed-size sets of the libraries end at 1,024 CPUs, and because `sched_setscheduler` of
//! musl is a stub that always fails. Thread 0 is the calling one.

/// `sched_setaffinity`. CPU `n` is bit `n % 64` of word `n / 64`.
///
/// # Errors
/// The errno: ESRCH for a thread that is gone, EINVAL for one that cannot be moved or a set without a CPU that it
/// may use.
pub fn set_affinity(tid: u32, words: &[u64]) -> Result<(), i32> {
    // On 32 bits the kernel's words are half as long; written little-endian the two layouts are the same.
    let bytes: Vec<u8> = words.iter().flat_map(|word| kernel_bytes(*word)).collect();
    // SAFETY: the kernel reads `bytes.len()` bytes from a buffer that lives across the call.
    let done = unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, bytes.len(), bytes.as_ptr()) };
    if done == -1 { Err(errno()) } else { Ok(()) }
}

/// `sched_setscheduler` with one of the policies that take a plain priority (0 for those that have none).
///
/// # Errors
/// The errno: EPERM without the privilege, or in a cgroup without real-time runtime (RT_GROUP_SCHED).
pub fn set_scheduler(tid: u32, policy: i32, priority: i32) -> Result<(), i32> {
    // SAFETY: the kernel's struct sched_param is one int, which lives across the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            tid,
            policy,
            std::ptr::from_ref(&priority),
        )
    };
    if done == -1 { Err(errno()) } else { Ok(()) }
}

fn kernel_bytes(word: u64) -> [u8; 8] {
    if cfg!(target_pointer_width = "64") {
        word.to_ne_bytes()
    } else {
        word.to_le_bytes()
    }
}

fn errno() -> i32 {
    std::io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}
