//! Checks `irqaffinity=` by `/proc/irq/default_smp_affinity` and by counted device interrupts.

use super::CheckAnswer;
use super::case::{ParameterCase, ParameterFamily, seconds};

pub(super) const FAMILY: ParameterFamily = ParameterFamily {
    names: &["irqaffinity"],
    complaints: &[],
    defeated_by: &["irqaffinity-on-isolated"],
    acceptance: |_| None,
    works,
};

fn works(case: &ParameterCase) -> CheckAnswer {
    let Some(mut requested) = case.cpus() else {
        return CheckAnswer::unknown("its list of CPUs cannot be parsed");
    };
    // The kernel adds the CPU that it boots on (`kernel/irq/irqdesc.c`).
    requested.insert(case.evidence.facts.boot_cpu());
    let Some(seen) = &case.evidence.machine.isolation.default_smp_affinity else {
        return CheckAnswer::unknown("/proc/irq/default_smp_affinity could not be read");
    };
    if !seen.is_subset(&requested) {
        return CheckAnswer::no(format!(
            "/proc/irq/default_smp_affinity has CPU {seen}, and not {requested}: another program changed it after the \
             boot, or the kernel never accepted it"
        ));
    }
    CheckAnswer::yes(format!(
        "/proc/irq/default_smp_affinity has CPU {seen}{}",
        arrived(case)
    ))
}

/// Device interrupts that still arrived on isolated CPUs: managed ones, and ones that were explicitly placed there.
fn arrived(case: &ParameterCase) -> String {
    let isolated = case.line.isolated();
    let Ok((duration_ns, counted)) = case.counted(&isolated) else {
        return String::new();
    };
    let rows = counted
        .iter()
        .flat_map(|one| one.devices.iter().map(move |row| (one.cpu, row)));
    let rows: Vec<String> = rows
        .map(|(cpu, (name, what, count))| format!("{count} of {name} ({what}) on CPU {cpu}"))
        .collect();
    let time = seconds(duration_ns);
    match (rows.is_empty(), counted.is_empty()) {
        (_, true) => String::new(),
        (true, _) => format!("; no device interrupted CPU {isolated} in {time}"),
        (false, _) => format!("; in {time} there were {}", rows.join(", ")),
    }
}
