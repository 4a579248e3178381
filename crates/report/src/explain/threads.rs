//! Explains a kernel thread: what it does, which kernels have it, where it runs on this machine.

use super::surroundings::Surroundings;
use super::{Explanation, sentence};
use crate::kernel_threads::{KernelThread, Movability};
use machine::CpuId;

/// The row of a kernel thread, with the facts of the current machine.
pub(super) fn of_thread(word: &str, row: &KernelThread, here: &dyn Surroundings) -> Explanation {
    let (moved, why) = match row.moving {
        Movability::Bound => (
            "no: the kernel binds it to its CPU (PF_NO_SETAFFINITY), so only its work can be avoided",
            "each CPU has one, isolated or not",
        ),
        Movability::Free => (
            "yes, like any task: sched_setaffinity, or a cpuset (knob task_placement)",
            "it starts where its parent kthreadd may run; isolcpus= alone does not limit that before 7.0",
        ),
        Movability::Follows => (
            "not by itself: it follows the object it works for",
            "move that object elsewhere",
        ),
    };
    let knob = match row.pattern {
        "irq/#-*" => "irq_affinity",
        "kworker/u*" | "kworker/*" => "workqueue_cpumask",
        _ if row.moving == Movability::Free => "task_placement",
        _ => "",
    };
    let cpu = if row.moving == Movability::Bound {
        cpu_of(word, row.pattern)
    } else {
        None
    };
    let only = match (row.only, row.moving) {
        ("", _) => String::new(),
        (only, Movability::Bound) => format!("only with {only}; then {why}"),
        (only, _) => format!("only with {only}"),
    };
    Explanation::new("kernel thread", word, sentence(&format!("It {}", row.what)))
        .part("bound to", cpu.map(|cpu| bound_to(cpu, here)).unwrap_or_default())
        .part("exists", &*only)
        .part("why there", if only.is_empty() { why } else { "" })
        .part("now", now(word, row, cpu, here))
        .part("can be moved", moved)
        .part("kept quiet by", row.cure)
        .part("knob", knob)
}

/// Its CPU, and whether it exists on this machine.
fn bound_to(cpu: u32, here: &dyn Surroundings) -> String {
    match here.cpus() {
        Some((possible, _)) if !possible.contains(CpuId(cpu)) => {
            format!("CPU {cpu}, which this machine does not have: its CPUs are {possible}")
        }
        Some((_, online)) if !online.contains(CpuId(cpu)) => format!("CPU {cpu}, which is offline here"),
        _ => format!("CPU {cpu}"),
    }
}

/// Whether a thread of exactly this name runs, if the word is a name and not a pattern.
fn now(word: &str, row: &KernelThread, cpu: Option<u32>, here: &dyn Surroundings) -> &'static str {
    let absent = |cpu: u32| here.cpus().is_some_and(|(possible, _)| !possible.contains(CpuId(cpu)));
    if word == row.pattern || cpu.is_some_and(absent) {
        return "";
    }
    match here.has_thread(word) {
        Some(true) => "a thread of this name runs here",
        Some(false) => "no thread of this name runs here",
        None => "",
    }
}

/// The CPU in a bound thread's name: the first number after the `/`.
fn cpu_of(word: &str, pattern: &str) -> Option<u32> {
    let place = pattern.find("/#")?;
    let digits: String = word
        .get(place + 1..)?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::surroundings::ExampleMachine;
    use super::super::{explain, explain_text};
    use crate::style::Style;
    use machine::CpuSet;

    fn text(word: &str, here: &ExampleMachine) -> String {
        let text = explain_text(&explain(word, here).unwrap(), Style::Plain);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn two_cpus() -> ExampleMachine {
        let list = |text: &str| CpuSet::parse_list(text).unwrap();
        ExampleMachine {
            cpus: Some((list("0-1"), list("0"))),
            threads: Some(vec!["migration/0", "kthreadd"]),
            ..ExampleMachine::default()
        }
    }

    #[test]
    fn a_thread_of_some_kernels_is_explained_as_conditional() {
        let rcuc = text("rcuc/1", &ExampleMachine::default());
        assert!(
            rcuc.contains("exists only with threaded RCU callbacks: PREEMPT_RT, rcutree.use_softirq=0"),
            "{rcuc}"
        );
        let migration = text("migration/1", &ExampleMachine::default());
        assert!(migration.contains("why there each CPU has one"), "{migration}");
        assert!(text("rcub/1", &ExampleMachine::default()).contains("can be moved yes"));
    }

    #[test]
    fn a_cpu_that_the_machine_lacks_is_reported() {
        let here = two_cpus();
        let absent = text("rcuc/2", &here);
        assert!(
            absent.contains("CPU 2, which this machine does not have: its CPUs are 0-1"),
            "{absent}"
        );
        assert!(!absent.contains("of this name runs"), "{absent}");
        assert!(text("migration/1", &here).contains("CPU 1, which is offline here"));
    }

    #[test]
    fn presence_is_reported_only_for_concrete_thread_names() {
        let here = two_cpus();
        assert!(text("migration/0", &here).contains("now a thread of this name runs here"));
        assert!(text("rcuc/0", &here).contains("now no thread of this name runs here"));
        assert!(!text("rcuc/#", &here).contains("of this name runs"));
        assert!(!text("rcuc/0", &ExampleMachine::default()).contains("of this name runs"));
    }
}
