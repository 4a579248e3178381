//! Maps numbers of system calls and softirqs to names, and builds filters for the events of those that interrupt other CPUs:
//! system calls that change mappings or masks, and `membarrier`. The numbers of the supported architectures are from
//! `arch/x86/entry/syscalls`, `include/uapi/asm-generic/unistd.h` and `arch/arm/tools`.

#[cfg(target_arch = "x86_64")]
const CALLS: &[(i64, &str)] = &[
    (9, "mmap"),
    (10, "mprotect"),
    (11, "munmap"),
    (12, "brk"),
    (25, "mremap"),
    (28, "madvise"),
    (203, "sched_setaffinity"),
    (324, "membarrier"),
];

#[cfg(target_arch = "aarch64")]
const CALLS: &[(i64, &str)] = &[
    (222, "mmap"),
    (226, "mprotect"),
    (215, "munmap"),
    (214, "brk"),
    (216, "mremap"),
    (233, "madvise"),
    (122, "sched_setaffinity"),
    (283, "membarrier"),
];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: &[(i64, &str)] = &[
    (192, "mmap2"),
    (125, "mprotect"),
    (91, "munmap"),
    (45, "brk"),
    (163, "mremap"),
    (220, "madvise"),
    (241, "sched_setaffinity"),
    (389, "membarrier"),
];

/// The name of a system call in the answer. The kernel's event has only the number, and does not show whether a 32-bit program
/// with another table made the call, so the answer contains both.
pub(crate) fn call_label(nr: i64) -> String {
    match usize::try_from(nr).ok().and_then(syscalls::Sysno::new) {
        Some(call) => format!("system call {} ({nr})", call.name()),
        None => format!("system call {nr}"),
    }
}

/// The name of such a call; `None` for any other call.
pub(crate) fn call_name(nr: i64) -> Option<&'static str> {
    CALLS.iter().find(|(number, _)| *number == nr).map(|(_, name)| *name)
}

/// A filter of `raw_syscalls` that passes only these calls, on all CPUs.
#[must_use]
pub fn interrupting_calls() -> String {
    let each: Vec<String> = CALLS.iter().map(|(number, _)| format!("id == {number}")).collect();
    each.join(" || ")
}

/// Names of softirqs by number, unchanged since 2.6.39 (`include/linux/interrupt.h`).
const SOFTIRQS: &[&str] = &[
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

/// The name of a softirq as in `/proc/softirqs`.
pub(crate) fn softirq_name(vec: u32) -> &'static str {
    SOFTIRQS.get(vec as usize).copied().unwrap_or("softirq")
}

/// The softirq that completes disk requests.
pub(crate) const SOFTIRQ_BLOCK: u32 = 4;

/// The first softirq that works for a thread: packets and disk requests. The others serve the CPU itself.
const NET_TX: u32 = 2;

/// Whether a softirq works for a thread.
pub(crate) const fn serves_thread(vec: u32) -> bool {
    matches!(vec, NET_TX..=SOFTIRQ_BLOCK)
}

/// A filter of `irq/softirq_raise` that passes only these: the thread that raised them may be why they interrupt another CPU.
#[must_use]
pub fn serving_softirqs() -> String {
    format!("(vec >= {NET_TX} && vec <= {SOFTIRQ_BLOCK})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_call_is_labelled_by_name_and_number_or_number_alone() {
        let (munmap, _) = CALLS
            .iter()
            .find(|(_, name)| *name == "munmap")
            .copied()
            .unwrap_or_default();
        assert_eq!(call_label(munmap), format!("system call munmap ({munmap})"));
        assert_eq!(call_label(9_000), "system call 9000");
        // The number that the kernel reports for something that is not a call.
        assert_eq!(call_label(-1), "system call -1");
    }

    #[test]
    fn system_call_numbers_are_those_of_this_architecture() {
        for (number, name) in CALLS {
            assert_eq!(call_label(*number), format!("system call {name} ({number})"));
        }
    }
}
