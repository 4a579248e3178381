//! Softirqs by their number. The numbers have been the same since 2.6.39 (`include/linux/interrupt.h`).

const NAMES: &[&str] = &[
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

/// Its name as `/proc/softirqs` writes it.
pub(crate) fn name(vec: u32) -> &'static str {
    NAMES.get(vec as usize).copied().unwrap_or("softirq")
}
