//! Converts the input and the findings of `check` into the scene of the view.

use check::{CheckCase, CheckFinding, judge};
use machine::{CpuId, CpuSet, Machine, OrderBy, Policy, Task};
use plan::Level;
use verify::examination::Examination;
use watch::{IsolatedThread, ObservedFinding, PresenceReason, WatchScene, WatchedInterrupt};

/// Maximum number of threads of a scene; `quietcore inspect --tasks` shows all.
const MOST_THREADS: usize = 1_000;

/// The scene.
pub(super) fn of(examination: &Examination) -> WatchScene {
    let machine = &examination.machine;
    let isolated = examination.intention.cpus();
    let judged = judge(
        &examination.evidence(),
        &examination.intention,
        examination.found.clone(),
        &[],
        Level::Error,
    );
    let online = machine.topology.online.clone();
    let present = machine.topology.present.clone().unwrap_or_else(|| online.clone());
    let findings = judged
        .findings
        .iter()
        .map(|one| seen(one, &examination.cases, &isolated));
    WatchScene {
        offline: present.minus(&online),
        online,
        said_by: examination.intention.source.text().to_owned(),
        verdict: format!("{:?}", judged.verdict).to_lowercase(),
        threads: threads(machine, &examination.cases, &isolated),
        interrupts: interrupts(machine),
        findings: findings.collect(),
        not_isolated: examination.intention.not_isolated(),
        isolated,
    }
}

fn seen(one: &CheckFinding, cases: &[CheckCase], isolated: &CpuSet) -> ObservedFinding {
    let finding = &one.finding;
    let of_partition = || {
        let own_cases = cases
            .iter()
            .find(|case| case.isolation.intent.name.as_str() == one.partition);
        own_cases.map_or_else(|| isolated.clone(), |case| case.isolation.intent.cpus.clone())
    };
    ObservedFinding {
        id: finding.id.to_string(),
        level: finding.level,
        subject: finding.subject.clone(),
        message: finding.message.clone(),
        fix: finding.fix.clone(),
        layer: one.layer_text().to_owned(),
        evidence: one.evidence.clone(),
        cpus: one_cpu(&finding.subject).map_or_else(of_partition, |cpu| [cpu].into_iter().collect()),
    }
}

/// The CPU that a subject names: `cpu3`, `cpu3/irq24`.
fn one_cpu(subject: &str) -> Option<CpuId> {
    let number = subject.strip_prefix("cpu")?.split('/').next()?;
    let number: u32 = number.parse().ok()?;
    (number <= CpuSet::MAX_CPU).then_some(CpuId(number))
}

fn threads(machine: &Machine, cases: &[CheckCase], isolated: &CpuSet) -> Vec<IsolatedThread> {
    let touches = |task: &&Task| {
        let allowed = task.allowed.as_ref().filter(|allowed| !allowed.is_empty());
        // The last CPU of a sleeping thread does not count, because the thread may never return to it.
        let may_be_here = allowed.is_none_or(|allowed| allowed.intersects(isolated));
        may_be_here && task.cpu.is_some_and(|cpu| isolated.contains(cpu))
            || allowed.is_some_and(|allowed| allowed.is_subset(isolated))
    };
    let thread = |task: &Task| IsolatedThread {
        pid: task.pid,
        tid: task.key.tid,
        comm: task.comm.clone(),
        cpu: task.cpu,
        allowed: task.allowed.clone(),
        policy: policy(task),
        place: place(machine, cases, task),
    };
    let mut threads: Vec<IsolatedThread> = machine.tasks.iter().flatten().filter(touches).map(thread).collect();
    threads.order_by_key(|thread| (thread.place, thread.tid));
    threads.truncate(MOST_THREADS);
    threads
}

fn policy(task: &Task) -> String {
    let name = format!("{:?}", task.policy).to_lowercase();
    match task.policy {
        Policy::Fifo | Policy::Rr => format!("{name}:{}", task.rt_priority),
        _ => name,
    }
}

fn place(machine: &Machine, cases: &[CheckCase], task: &Task) -> PresenceReason {
    if !task.is_movable() {
        return PresenceReason::Fixed;
    }
    if task.is_kernel() {
        return PresenceReason::Kernel;
    }
    match cases.iter().any(|case| case.is_inside(machine, task)) {
        true => PresenceReason::Inside,
        false => PresenceReason::Stray,
    }
}

fn interrupts(machine: &Machine) -> Vec<WatchedInterrupt> {
    let interrupts = machine.interrupts.iter().flatten();
    let of = |one: &machine::Interrupt| WatchedInterrupt {
        irq: one.irq,
        name: one.name.clone(),
        affinity: one.affinity.clone(),
        effective: one.effective.clone(),
        managed: one.managed,
        is_fixed: one.immovable().is_some_and(|reason| !reason.follows_managed_irq()),
    };
    interrupts.map(of).collect()
}
