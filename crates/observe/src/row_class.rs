//! Determines the class of a row of `/proc/interrupts` or `/proc/softirqs`.

use crate::classes::Class;
use crate::counters::{COUNTERS, CounterFile};

/// Class of a row of `/proc/interrupts`, from its name and the text after the counts.
///
/// x86 names its rows (`arch/x86/kernel/irq.c`). arm and RISC-V number their IPIs (`IPI0`) in an order that
/// changed over the years, so the text decides there; their timer is a numbered interrupt.
#[must_use]
pub fn of_interrupt(name: &str, what: &str) -> Class {
    let named = COUNTERS
        .iter()
        .find(|row| row.name == name && row.place != CounterFile::Softirqs);
    if let Some(row) = named {
        return row.class;
    }
    if name.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() {
        return of_numbered(what);
    }
    const BY_TEXT: &[(&str, Class)] = &[
        ("rescheduling", Class::Reschedule),
        ("function call", Class::FunctionCall),
        ("irq work", Class::IrqWork),
        ("timer broadcast", Class::TimerBroadcast),
        ("local timer", Class::Tick),
        ("cpu stop", Class::CpuControl),
        ("cpu wake", Class::CpuControl),
        ("cpu backtrace", Class::CpuControl),
        ("kgdb", Class::CpuControl),
        ("completion", Class::FunctionCall),
        ("performance monitoring", Class::Performance),
        ("machine check", Class::MachineCheck),
        ("thermal", Class::Thermal),
        ("hypervisor", Class::Hypervisor),
        ("spurious", Class::Spurious),
    ];
    let text = what.to_ascii_lowercase();
    BY_TEXT
        .iter()
        .find(|(part, _)| text.contains(part))
        .map_or(Class::Other, |(_, class)| *class)
}

/// arm: `GICv2  30 Level  arch_timer`, `GICv3  23 Level  arm-pmu`, `kvm guest vtimer` (for guests).
fn of_numbered(what: &str) -> Class {
    let action = what.split_whitespace().next_back().unwrap_or("");
    match action {
        "vtimer" | "ptimer" if what.contains("kvm guest") => Class::Guest,
        "arch_timer" | "twd" | "riscv-timer" => Class::Tick,
        "arm-pmu" | "arm_pmuv3" | "riscv-pmu" => Class::Performance,
        "IPI" => Class::CpuControl,
        _ => Class::Device,
    }
}

/// Class of a row of `/proc/softirqs`.
#[must_use]
pub fn of_softirq(name: &str) -> Class {
    let row = COUNTERS
        .iter()
        .find(|row| row.name == name && row.place == CounterFile::Softirqs);
    row.map_or(Class::Other, |row| row.class)
}
