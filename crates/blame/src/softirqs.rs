//! Softirqs by their number. The numbers have been the same since 2.6.39 (`include/linux/interrupt.h`).

const NAMES: &[&str] = &[
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

/// Its name as `/proc/softirqs` writes it.
pub(crate) fn name(vec: u32) -> &'static str {
    NAMES.get(vec as usize).copied().unwrap_or("softirq")
}

/// The one that completes disk requests.
pub(crate) const BLOCK: u32 = 4;

/// The first of those that do what somebody asked for: packets and disk requests. The others serve the CPU itself.
const NET_TX: u32 = 2;

/// Whether it does what somebody asked for.
pub(crate) const fn serves(vec: u32) -> bool {
    matches!(vec, NET_TX..=BLOCK)
}

/// A filter of `irq/softirq_raise` that lets only these through: whoever asked for them may be why they interrupt another CPU.
#[must_use]
pub fn serving_softirqs() -> String {
    format!("(vec >= {NET_TX} && vec <= {BLOCK})")
}
