//! Checks every numbered interrupt: where it may fire, where it fires, and what the kernel reports about moving it.

use super::{IsolationLayer, LayerName};
use crate::{CheckCase, CheckEvidence, CheckFinding, IsolationMeans};
use machine::{CpuId, CpuSet, Interrupt};
use plan::{Change, FindingId, Level};

pub(super) const LAYER: IsolationLayer = IsolationLayer {
    name: LayerName::Interrupts,
    what: "every interrupt by requested and effective affinity",
    judge,
};

fn judge(evidence: &CheckEvidence, case: &CheckCase, found: &mut Vec<CheckFinding>) {
    let interrupts = evidence.machine.interrupts.as_deref().unwrap_or_default();
    let planned: Vec<&Change> = case
        .changes()
        .filter(|change| change.knob() == "irq_affinity")
        .collect();
    let mut others: Vec<&Interrupt> = Vec::new();
    for interrupt in interrupts {
        let id = format!("irq_affinity/{}", interrupt.irq);
        match planned.iter().find(|change| change.id == id) {
            Some(change) => found.push(misplaced(evidence, case, interrupt, change)),
            None => others.push(interrupt),
        }
    }
    found.extend(linger(case, &others));
    // The plan's findings about masks that nothing changes at run time.
    let findings = case.plan.iter().flat_map(|plan| &plan.findings);
    let managed = findings
        .filter(|finding| [FindingId::IRQ_MANAGED, FindingId::IRQ_FIXED].contains(&finding.id))
        .cloned()
        .map(CheckFinding::of);
    found.extend(managed.map(|found| {
        let number = found
            .finding
            .subject
            .strip_prefix("irq/")
            .and_then(|number| number.parse().ok());
        match interrupts.iter().find(|interrupt| Some(interrupt.irq) == number) {
            Some(interrupt) => seen(found, interrupt, case),
            None => found,
        }
    }));
}

fn misplaced(evidence: &CheckEvidence, case: &CheckCase, interrupt: &Interrupt, change: &Change) -> CheckFinding {
    let path = change.target.as_str();
    let now = change.before.as_deref().unwrap_or("unknown");
    let name = name(interrupt);
    if let Some(why) = case.isolation.refused.get(&change.id) {
        let message = format!(
            "interrupt {} ({name}) may fire on CPU {now}: the kernel refused to move it when the partition was applied ({why})",
            interrupt.irq
        );
        let managed = match evidence.machine.kernel.lacks_managed_irq() {
            true => "the kernel cannot move managed interrupts before 5.6",
            false => "managed interrupts follow isolcpus=managed_irq,... at boot",
        };
        let found = CheckFinding::new(Level::Info, FindingId::IRQ_REFUSED, path, message).fix(format!(
            "{managed}, per-CPU interrupts cannot be moved; `quietcore explain irq_affinity` lists the other reasons",
        ));
        return seen(found, interrupt, case);
    }
    let is_requested_here = CpuSet::parse_list(&change.after).is_ok_and(|cpus| cpus == case.cpus);
    // Without a journal no move was attempted, and kernels before 6.12 do not report otherwise.
    let is_untried = interrupt.managed.is_none() && case.isolation.applied.is_empty();
    let level = match interrupt.name.is_empty() {
        // No driver has requested it, so it does not fire; its mask applies once a driver does.
        true => Level::Info,
        false if is_untried => Level::Warning,
        // Also if it has not moved yet: it moves when it fires next.
        false => Level::Error,
    };
    let message = match is_requested_here {
        true => format!(
            "interrupt {} ({name}) should fire on CPU {} but may fire on CPU {now}",
            interrupt.irq, case.cpus
        ),
        false if case.isolation.means.isolates() => format!(
            "interrupt {} ({name}) may fire on CPU {now}, which includes isolated CPUs",
            interrupt.irq
        ),
        false => format!(
            "interrupt {} ({name}) may fire on CPU {now}, and nothing blocks it from CPU {}",
            interrupt.irq, case.cpus
        ),
    };
    let message = match is_untried && !interrupt.name.is_empty() {
        true if fired_everywhere(interrupt, &evidence.machine.topology.online) => format!(
            "{message}; it has fired on every CPU, so it may be a per-CPU interrupt, which cannot be moved; the kernel \
             does not say"
        ),
        true => format!("{message}; it is unknown whether the kernel allows moving it"),
        false => message,
    };
    let message = message + &case.failed_repair_note(change);
    let found = CheckFinding::new(level, FindingId::IRQ_HERE, path, message).fix(fix(case, change));
    seen(found, interrupt, case).repaired_by(change.clone())
}

/// A weak sign of a per-CPU interrupt: one that a daemon spreads looks the same.
fn fired_everywhere(interrupt: &Interrupt, online: &CpuSet) -> bool {
    let fired: CpuSet = interrupt.counts.iter().map(|(cpu, _)| CpuId(*cpu)).collect();
    online.len() > 1 && online.is_subset(&fired)
}

fn fix(case: &CheckCase, change: &Change) -> String {
    match case.isolation.means {
        IsolationMeans::Partition => case.remedy(),
        _ => format!("echo {} >{}, or {}", change.after, change.target, case.remedy()),
    }
}

/// Interrupts that were moved but have not left: they move when they fire next.
fn linger(case: &CheckCase, interrupts: &[&Interrupt]) -> Option<CheckFinding> {
    let is_here = |set: &Option<CpuSet>| set.as_ref().is_some_and(|set| set.intersects(&case.cpus));
    let lingers = |one: &&&Interrupt| is_here(&one.effective) && !is_here(&one.affinity) && !one.name.is_empty();
    let all: Vec<&Interrupt> = interrupts.iter().filter(lingers).copied().collect();
    let names: Vec<String> = all.iter().map(|one| format!("{} ({})", one.irq, name(one))).collect();
    (!all.is_empty()).then(|| {
        let message = format!(
            "moved away; each of them leaves when it fires next: {}",
            names.join(", ")
        );
        let found = CheckFinding::new(Level::Info, FindingId::IRQ_LINGERS, case.cpus.to_string(), message);
        all.iter().fold(found, |found, one| seen(found, one, case))
    })
}

fn seen(found: CheckFinding, interrupt: &Interrupt, case: &CheckCase) -> CheckFinding {
    let list = |set: &Option<CpuSet>| set.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let here: u64 = interrupt
        .counts
        .iter()
        .filter(|(cpu, _)| case.cpus.contains(CpuId(*cpu)))
        .map(|(_, count)| *count)
        .fold(0, u64::saturating_add);
    found.seen(format!(
        "{}: requested {}, effective {}, {here} on CPU {} since boot, {}",
        interrupt.irq,
        list(&interrupt.affinity),
        list(&interrupt.effective),
        case.cpus,
        interrupt.chip
    ))
}

fn name(interrupt: &Interrupt) -> &str {
    match interrupt.name.as_str() {
        "" => "not requested",
        name => name,
    }
}
