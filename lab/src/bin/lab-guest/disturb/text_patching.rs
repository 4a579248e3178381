//! The kernel patches its own code: it interrupts all CPUs, so that none executes the old code.

use super::counted::{INTERRUPTS, each_counted};
use super::instance::TracefsInstance;
use super::setting::ChangedFile;
use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};

/// Patching by changing a setting.
pub(super) const STATIC_KEY: Disturbance = Disturbance {
    name: "static-key",
    about: "a setting that is a static key is switched (kernel.bpf_stats_enabled or kernel.sched_schedstats)",
    possible: |_| key().map(drop),
    inject: switched,
    ..PATCHING
};

/// Patching by enabling a trace event.
pub(super) const TRACEPOINT: Disturbance = Disturbance {
    name: "tracepoint",
    about: "an event of the kernel's trace is switched on and off in an instance of its own",
    possible: |_| TracefsInstance::reachable(),
    inject: traced,
    ..PATCHING
};

const PATCHING: Disturbance = Disturbance {
    name: "",
    about: "",
    probe: ProbePolicy::Other,
    possible: super::always,
    expected: ExpectedBlame {
        classes: &["function_call"],
        name: &[],
        culprit: ExpectedCulprit::Injector,
        callsite: &["text_poke", "on_each_cpu", "smp_call_function", "smp_text_poke"],
        reporting_events: &["ipi/ipi_send_cpumask"],
    },
    inject: |_, _| Ok(Vec::new()),
};

/// Settings that change only the kernel's statistics.
const KEYS: &[&str] = &[
    "/proc/sys/kernel/bpf_stats_enabled",
    "/proc/sys/kernel/sched_schedstats",
];

fn key() -> Result<ChangedFile, String> {
    let there = KEYS.iter().find(|path| std::path::Path::new(path).exists());
    let path = there.ok_or_else(|| format!("this kernel has none of {}", KEYS.join(", ")))?;
    ChangedFile::save(path)
}

fn switched(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let key = key()?;
    let values = if key.before() == "0" { ["1", "0"] } else { ["0", "1"] };
    let mut values = values.iter().cycle();
    let measured = place.measured;
    each_counted((INTERRUPTS, "CAL"), measured, || {
        place.perform_repeatedly(count, || key.write(values.next().copied().unwrap_or("0")))
    })
}

/// A trace event that rarely occurs.
const EVENT: &str = "events/task/task_rename/enable";

fn traced(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let instance = TracefsInstance::make()?;
    let mut values = ["1", "0"].iter().cycle();
    let measured = place.measured;
    each_counted((INTERRUPTS, "CAL"), measured, || {
        place.perform_repeatedly(count, || instance.write(EVENT, values.next().copied().unwrap_or("0")))
    })
}
