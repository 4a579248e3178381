//! Defines the table of per-CPU kernel counters: the named rows of `/proc/interrupts` (those without a number),
//! and the rows of `/proc/softirqs`.
//!
//! Names and texts are from `arch/x86/kernel/irq.c`, `arch/arm64/kernel/smp.c`, `arch/arm/kernel/smp.c`
//! and `kernel/softirq.c`.

use crate::classes::Class::{
    self, CpuControl, Device, FunctionCall, Guest, Hypervisor, IrqWork, MachineCheck, Nmi, Performance, Reschedule,
    SoftBlock, SoftHrtimer, SoftNet, SoftRcu, SoftSched, SoftTasklet, SoftTimer, Spurious, Thermal, Tick,
    TimerBroadcast, TlbShootdown,
};

/// The file of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterFile {
    /// `/proc/interrupts` of every architecture.
    Interrupts,
    /// `/proc/interrupts` of x86.
    X86,
    /// `/proc/interrupts` of arm and arm64, where IPIs are numbered and only the text identifies them.
    Arm,
    /// `/proc/softirqs`.
    Softirqs,
}

/// One row of the table: a line of `/proc/interrupts` or `/proc/softirqs` and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterDefinition {
    /// Its printed name; on arm the text after the counts.
    pub name: &'static str,
    /// Its file.
    pub place: CounterFile,
    /// What it counts.
    pub what: &'static str,
    /// Its class.
    pub class: Class,
}

const fn row(place: CounterFile, name: &'static str, class: Class, what: &'static str) -> CounterDefinition {
    CounterDefinition {
        name,
        place,
        what,
        class,
    }
}

const fn x86(name: &'static str, class: Class, what: &'static str) -> CounterDefinition {
    row(CounterFile::X86, name, class, what)
}

const fn arm(name: &'static str, class: Class, what: &'static str) -> CounterDefinition {
    row(CounterFile::Arm, name, class, what)
}

const fn softirq(name: &'static str, class: Class, what: &'static str) -> CounterDefinition {
    row(CounterFile::Softirqs, name, class, what)
}

/// All rows of the two files that have a name instead of a number.
pub const COUNTERS: &[CounterDefinition] = &[
    x86("NMI", Nmi, "non-maskable interrupts"),
    x86("LOC", Tick, "interrupts of the CPU's local timer"),
    x86("SPU", Spurious, "interrupts without a source"),
    x86("PMI", Performance, "performance counter overflows"),
    x86("VPMI", Performance, "performance counter overflows of a guest"),
    x86("IWI", IrqWork, "IRQ work"),
    x86(
        "RTR",
        Spurious,
        "reads of the interrupt controller that had to be repeated",
    ),
    x86("PLT", CpuControl, "platform requests (SGI UV machines)"),
    x86("RES", Reschedule, "rescheduling IPIs"),
    x86("CAL", FunctionCall, "function-call IPIs, shootdowns not counted"),
    x86("TLB", TlbShootdown, "TLB shootdowns"),
    x86("TRM", Thermal, "thermal events"),
    x86(
        "THR",
        MachineCheck,
        "machine checks for a threshold of corrected errors",
    ),
    x86("DFR", MachineCheck, "deferred machine checks (AMD)"),
    x86("MCE", MachineCheck, "machine check exceptions"),
    x86("MCP", MachineCheck, "polls for machine checks"),
    x86("HYP", Hypervisor, "hypervisor callbacks"),
    x86("HRE", Hypervisor, "Hyper-V reenlightenment"),
    x86("HVS", Hypervisor, "Hyper-V timers"),
    x86("PIN", Guest, "interrupts posted to a guest"),
    x86("NPI", Guest, "interrupts posted to a nested guest"),
    x86("PIW", Guest, "wake-ups for interrupts posted to a guest"),
    x86("PMN", Device, "device interrupts that were posted to this CPU together"),
    row(
        CounterFile::Interrupts,
        "ERR",
        Spurious,
        "interrupts that no handler accepted or that failed; one number for all CPUs",
    ),
    arm(
        "Err",
        Spurious,
        "interrupts that no handler accepted; one number for all CPUs",
    ),
    x86(
        "MIS",
        Spurious,
        "interrupts with a wrong trigger; one number for all CPUs",
    ),
    arm("FIQ", Device, "fast interrupts"),
    arm("Rescheduling interrupts", Reschedule, "rescheduling IPIs"),
    arm("Function call interrupts", FunctionCall, "function-call IPIs"),
    arm(
        "Single function call interrupts",
        FunctionCall,
        "function-call IPIs to one CPU (old kernels)",
    ),
    arm("CPU stop interrupts", CpuControl, "requests to stop"),
    arm(
        "CPU stop (for crash dump) interrupts",
        CpuControl,
        "requests to stop for a crash dump",
    ),
    arm("CPU stop NMIs", CpuControl, "stop requests that cannot be masked"),
    arm(
        "Timer broadcast interrupts",
        TimerBroadcast,
        "timers of CPUs whose own timer is stopped",
    ),
    arm("IRQ work interrupts", IrqWork, "IRQ work"),
    arm("CPU wakeup interrupts", CpuControl, "requests to wake"),
    arm("CPU wake-up interrupts", CpuControl, "requests to wake"),
    arm("CPU backtrace interrupts", CpuControl, "requests for a backtrace"),
    arm("KGDB roundup interrupts", CpuControl, "requests of the kernel debugger"),
    arm(
        "completion interrupts",
        FunctionCall,
        "notifications that another CPU has completed something",
    ),
    softirq("HI", SoftTasklet, "urgent tasklets"),
    softirq("TIMER", SoftTimer, "kernel timers"),
    softirq("NET_TX", SoftNet, "packets sent"),
    softirq("NET_RX", SoftNet, "packets received"),
    softirq("BLOCK", SoftBlock, "completed disk requests"),
    softirq("IRQ_POLL", SoftBlock, "polled disk adapters"),
    softirq("BLOCK_IOPOLL", SoftBlock, "polled disk adapters (old kernels)"),
    softirq("TASKLET", SoftTasklet, "driver tasklets"),
    softirq("SCHED", SoftSched, "scheduler load balancing"),
    softirq("HRTIMER", SoftHrtimer, "high-resolution timers in softirqs"),
    softirq("RCU", SoftRcu, "RCU callbacks"),
];

/// The row with a name, ignoring case unless two rows differ only in case.
#[must_use]
pub fn counter(name: &str) -> Option<&'static CounterDefinition> {
    let same_case = COUNTERS.iter().find(|row| row.name == name);
    same_case.or_else(|| COUNTERS.iter().find(|row| row.name.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_class::{of_interrupt, of_softirq};

    #[test]
    fn counter_names_of_arm_have_the_same_classes() {
        for row in COUNTERS.iter().filter(|row| row.name.contains(' ')) {
            assert_eq!(of_interrupt("IPI0", row.name), row.class, "{}", row.name);
        }
        assert_eq!(of_softirq("SCHED"), Class::SoftSched);
        assert_eq!(of_softirq("LOC"), Class::Other);
        assert_eq!(of_interrupt("TIMER", ""), Class::Other);
    }

    #[test]
    fn counter_names_are_found_in_any_letter_case() {
        assert_eq!(counter("loc").map(|row| row.name), Some("LOC"));
        assert_eq!(counter("Err").map(|row| row.place), Some(CounterFile::Arm));
        assert_eq!(counter("ERR").map(|row| row.place), Some(CounterFile::Interrupts));
        assert!(counter("nothing").is_none());
    }
}
