//! Defines the table of per-CPU kernel counters: the named rows of `/proc/interrupts` (those without a number),
//! and the rows of `/proc/softirqs`.
//!
//! Names and texts are from `arch/x86/kernel/irq.c`, `arch/arm64/kernel/smp.c`, `arch/arm/kernel/smp.c`
//! and `kernel/softirq.c`.

use crate::classes::Class;

/// The file of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
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
pub struct Counter {
    /// Its printed name; on arm the text after the counts.
    pub name: &'static str,
    /// Its file.
    pub place: Place,
    /// What it counts.
    pub what: &'static str,
    /// Its class.
    pub class: Class,
}

const fn row(name: &'static str, place: Place, class: Class, what: &'static str) -> Counter {
    Counter {
        name,
        place,
        what,
        class,
    }
}

use Place::{Arm, Interrupts, Softirqs, X86};

/// All rows of the two files that have a name instead of a number.
pub const COUNTERS: &[Counter] = &[
    row("NMI", X86, Class::Nmi, "non-maskable interrupts"),
    row("LOC", X86, Class::Tick, "interrupts of the CPU's own timer"),
    row("SPU", X86, Class::Spurious, "interrupts without a source"),
    row(
        "PMI",
        X86,
        Class::Performance,
        "performance counters that overflowed",
    ),
    row(
        "VPMI",
        X86,
        Class::Performance,
        "performance counters of a guest that overflowed",
    ),
    row("IWI", X86, Class::IrqWork, "IRQ work"),
    row(
        "RTR",
        X86,
        Class::Spurious,
        "reads of the interrupt controller that had to be repeated",
    ),
    row(
        "PLT",
        X86,
        Class::CpuControl,
        "requests of the platform (SGI UV machines)",
    ),
    row("RES", X86, Class::Reschedule, "rescheduling IPIs"),
    row(
        "CAL",
        X86,
        Class::FunctionCall,
        "function-call IPIs, shootdowns not counted",
    ),
    row("TLB", X86, Class::TlbShootdown, "TLB shootdowns"),
    row("TRM", X86, Class::Thermal, "thermal events"),
    row(
        "THR",
        X86,
        Class::MachineCheck,
        "machine checks for a number of corrected errors",
    ),
    row(
        "DFR",
        X86,
        Class::MachineCheck,
        "machine checks that could wait (AMD)",
    ),
    row("MCE", X86, Class::MachineCheck, "machine check exceptions"),
    row("MCP", X86, Class::MachineCheck, "polls for machine checks"),
    row("HYP", X86, Class::Hypervisor, "callbacks of the hypervisor"),
    row("HRE", X86, Class::Hypervisor, "Hyper-V reenlightenment"),
    row("HVS", X86, Class::Hypervisor, "timers of Hyper-V"),
    row("PIN", X86, Class::Guest, "interrupts posted to a guest"),
    row("NPI", X86, Class::Guest, "interrupts posted to a nested guest"),
    row(
        "PIW",
        X86,
        Class::Guest,
        "wake-ups for interrupts posted to a guest",
    ),
    row(
        "PMN",
        X86,
        Class::Device,
        "interrupts of devices that were posted to this CPU together",
    ),
    row(
        "ERR",
        Interrupts,
        Class::Spurious,
        "interrupts that nobody took or that failed; one number for all CPUs",
    ),
    row(
        "Err",
        Arm,
        Class::Spurious,
        "interrupts that nobody took; one number for all CPUs",
    ),
    row(
        "MIS",
        X86,
        Class::Spurious,
        "interrupts whose trigger went wrong; one number for all CPUs",
    ),
    row("FIQ", Arm, Class::Device, "fast interrupts"),
    row(
        "Rescheduling interrupts",
        Arm,
        Class::Reschedule,
        "rescheduling IPIs",
    ),
    row(
        "Function call interrupts",
        Arm,
        Class::FunctionCall,
        "function-call IPIs",
    ),
    row(
        "Single function call interrupts",
        Arm,
        Class::FunctionCall,
        "function-call IPIs to one CPU (old kernels)",
    ),
    row("CPU stop interrupts", Arm, Class::CpuControl, "requests to stop"),
    row(
        "CPU stop (for crash dump) interrupts",
        Arm,
        Class::CpuControl,
        "requests to stop for a crash dump",
    ),
    row(
        "CPU stop NMIs",
        Arm,
        Class::CpuControl,
        "requests to stop that cannot be held off",
    ),
    row(
        "Timer broadcast interrupts",
        Arm,
        Class::TimerBroadcast,
        "timers of CPUs whose own timer sleeps",
    ),
    row("IRQ work interrupts", Arm, Class::IrqWork, "IRQ work"),
    row(
        "CPU wakeup interrupts",
        Arm,
        Class::CpuControl,
        "requests to wake",
    ),
    row(
        "CPU wake-up interrupts",
        Arm,
        Class::CpuControl,
        "requests to wake",
    ),
    row(
        "CPU backtrace interrupts",
        Arm,
        Class::CpuControl,
        "requests for a backtrace",
    ),
    row(
        "KGDB roundup interrupts",
        Arm,
        Class::CpuControl,
        "requests of the kernel debugger",
    ),
    row(
        "completion interrupts",
        Arm,
        Class::FunctionCall,
        "signs that another CPU has done something",
    ),
    row("HI", Softirqs, Class::SoftTasklet, "urgent tasklets"),
    row("TIMER", Softirqs, Class::SoftTimer, "timers of the kernel"),
    row("NET_TX", Softirqs, Class::SoftNet, "packets that were sent"),
    row("NET_RX", Softirqs, Class::SoftNet, "packets that were received"),
    row(
        "BLOCK",
        Softirqs,
        Class::SoftBlock,
        "disk requests that were completed",
    ),
    row(
        "IRQ_POLL",
        Softirqs,
        Class::SoftBlock,
        "disk adapters that were polled",
    ),
    row(
        "BLOCK_IOPOLL",
        Softirqs,
        Class::SoftBlock,
        "disk adapters that were polled (old kernels)",
    ),
    row("TASKLET", Softirqs, Class::SoftTasklet, "tasklets of drivers"),
    row(
        "SCHED",
        Softirqs,
        Class::SoftSched,
        "load balancing of the scheduler",
    ),
    row(
        "HRTIMER",
        Softirqs,
        Class::SoftHrtimer,
        "high-resolution timers that run in softirqs",
    ),
    row("RCU", Softirqs, Class::SoftRcu, "RCU callbacks"),
];

/// The row with a name, ignoring case unless two rows differ only in case.
#[must_use]
pub fn counter(name: &str) -> Option<&'static Counter> {
    let same_case = COUNTERS.iter().find(|row| row.name == name);
    same_case.or_else(|| COUNTERS.iter().find(|row| row.name.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_class::{of_interrupt, of_softirq};

    #[test]
    fn the_texts_of_arm_lead_to_the_same_classes() {
        for row in COUNTERS.iter().filter(|row| row.name.contains(' ')) {
            assert_eq!(of_interrupt("IPI0", row.name), row.class, "{}", row.name);
        }
        assert_eq!(of_softirq("SCHED"), Class::SoftSched);
        assert_eq!(of_softirq("LOC"), Class::Other);
        assert_eq!(of_interrupt("TIMER", ""), Class::Other);
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(counter("loc").map(|row| row.name), Some("LOC"));
        assert_eq!(counter("Err").map(|row| row.place), Some(Place::Arm));
        assert_eq!(counter("ERR").map(|row| row.place), Some(Place::Interrupts));
        assert!(counter("nothing").is_none());
    }
}
