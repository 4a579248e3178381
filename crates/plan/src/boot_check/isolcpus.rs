//! Checks `isolcpus=` by `/sys/devices/system/cpu/isolated` and by the tasks that run there nevertheless.

use super::CheckAnswer;
use super::case::{ParameterCase, ParameterFamily};
use crate::lint::Isolcpus;
use machine::{CpuSet, Interrupt, Task};

pub(super) const FAMILY: ParameterFamily = ParameterFamily {
    names: &["isolcpus"],
    complaints: &["isolcpus:", "all isolcpus= values"],
    defeated_by: &["isolcpus-sched-ext"],
    acceptance,
    works,
};

fn own<'a>(case: &'a ParameterCase) -> Option<(&'a Isolcpus, &'a CpuSet)> {
    let mut all = case.line.isolcpus.iter();
    let own = all.find(|one| case.line.words.get(one.word).is_some_and(|word| word.raw == case.raw))?;
    Some((own, own.cpus.as_ref()?))
}

fn acceptance(case: &ParameterCase) -> Option<CheckAnswer> {
    let (own, cpus) = own(case)?;
    let isolation = &case.evidence.machine.isolation;
    let (file, seen) = match (own.has("domain"), own.has("nohz")) {
        (true, _) => ("isolated", isolation.boot_isolated.as_ref()?),
        (false, true) => ("nohz_full", isolation.nohz_full.as_ref()?),
        (false, false) => return None,
    };
    let missing = cpus.minus(seen);
    let path = format!("/sys/devices/system/cpu/{file} has `{seen}`");
    Some(match missing.is_empty() {
        true => CheckAnswer::yes(path),
        false => CheckAnswer::no(format!("{path}, without CPU {missing}{}", case.why_missing(&missing))),
    })
}

fn works(case: &ParameterCase) -> CheckAnswer {
    let Some((own, cpus)) = own(case) else {
        return CheckAnswer::unknown("its list of CPUs cannot be parsed");
    };
    let mut wrong = Vec::new();
    let mut right = Vec::new();
    if own.has("domain") {
        let machine = case.evidence.machine;
        let (Some(tasks), Some(total)) = (machine.tasks_that_may_run_on(cpus), machine.task_count()) else {
            return CheckAnswer::unknown("the tasks of this machine could not be read");
        };
        let there: Vec<&Task> = tasks.into_iter().filter(|task| strays(task, cpus)).collect();
        match there.first() {
            Some(first) => wrong.push(format!(
                "{} unpinned tasks run on CPU {cpus}, such as {} ({})",
                there.len(),
                first.comm,
                first.key.tid
            )),
            None => right.push(format!(
                "none of {total} tasks runs on CPU {cpus} without being pinned there"
            )),
        }
    }
    if own.has("managed_irq") {
        match &case.evidence.machine.interrupts {
            None => return CheckAnswer::unknown("the interrupts of this machine could not be read"),
            Some(all) => {
                let there: Vec<String> = all
                    .iter()
                    .filter(|one| disobeys(one, cpus))
                    .map(|one| one.irq.to_string())
                    .collect();
                match there.is_empty() {
                    false => wrong.push(format!(
                        "managed interrupts that could fire elsewhere fire on CPU {cpus}: {}",
                        there.join(", ")
                    )),
                    true => right.push(format!(
                        "no managed interrupt that could fire elsewhere fires on CPU {cpus}"
                    )),
                }
            }
        }
    }
    match (wrong.is_empty(), right.is_empty()) {
        (false, _) => CheckAnswer::no(wrong.join("; ")),
        (true, false) => CheckAnswer::yes(right.join("; ")),
        (true, true) => super::nohz_full::stopped(case, cpus),
    }
}

/// Whether a program last ran there although it may run elsewhere too, so was not placed there deliberately. Per-CPU
/// kernel threads belong there; `nohz_full=` and `apply` handle the others.
fn strays(task: &Task, cpus: &CpuSet) -> bool {
    let is_there = task.cpu.is_some_and(|cpu| cpus.contains(cpu));
    let elsewhere = task.allowed.as_ref().is_some_and(|allowed| !allowed.is_subset(cpus));
    is_there && elsewhere && !task.is_kernel()
}

fn disobeys(interrupt: &Interrupt, cpus: &CpuSet) -> bool {
    let fires = interrupt
        .effective
        .as_ref()
        .is_some_and(|effective| effective.intersects(cpus));
    let elsewhere = interrupt
        .affinity
        .as_ref()
        .is_some_and(|affinity| !affinity.is_subset(cpus));
    interrupt.managed == Some(true) && fires && elsewhere
}
