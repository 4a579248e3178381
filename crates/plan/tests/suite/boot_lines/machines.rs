//! Rules that need facts of a machine, or the messages and behavior of its kernel.

use super::{KernelBuild, facts};
use machine::CpuSet;
use plan::Level;
use plan::lint::{KernelFacts, ObservedBoot, lint};

fn list(text: &str) -> CpuSet {
    CpuSet::parse_list(text).unwrap()
}

fn level(line: &str, facts: &KernelFacts, id: &str) -> Option<Level> {
    lint(line, facts)
        .findings
        .into_iter()
        .filter(|finding| finding.id.as_str() == id)
        .map(|finding| finding.level)
        .max()
}

const LINE: &str = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 irqaffinity=0-1";

fn booted(kernel: &str, messages: Option<&[&str]>, isolated: &str, nohz_full: &str) -> KernelFacts {
    let mut facts = facts(kernel, KernelBuild::Full, "0-3");
    facts.outcome = Some(ObservedBoot {
        messages: messages.map(|all| all.iter().map(|text| (*text).to_owned()).collect()),
        isolated: Some(list(isolated)),
        nohz_full: Some(list(nohz_full)),
    });
    facts
}

#[test]
fn a_line_that_the_kernel_obeyed_has_no_warnings() {
    let facts = booted(
        "6.12",
        Some(&[
            "Linux version 6.12",
            "Unknown kernel command line parameters \"BOOT_IMAGE=/vmlinuz\", will be passed to user space.",
        ]),
        "2-3",
        "2-3",
    );
    let line = format!("BOOT_IMAGE=/vmlinuz {LINE}");
    let loud: Vec<_> = lint(&line, &facts)
        .findings
        .into_iter()
        .filter(|one| one.level > Level::Info)
        .collect();
    assert!(loud.is_empty(), "{loud:?}");
    assert_eq!(level(&line, &facts, "kernel-log-unreadable"), None);
}

#[test]
fn parameters_unknown_to_the_kernel_or_without_effect_are_errors() {
    let unknown = "Unknown kernel command line parameters \"nohz_full=2-3 splash\", will be passed to user space.";
    let facts = booted(
        "6.1",
        Some(&["Housekeeping: nohz unsupported. Build with CONFIG_NO_HZ_FULL", unknown]),
        "",
        "",
    );
    for id in ["kernel-did-not-know", "kernel-complained", "not-in-force"] {
        assert_eq!(level(LINE, &facts, id), Some(Level::Error), "{id}");
    }
    // Findings about the past boot do not affect the suggested line.
    let again = KernelFacts {
        outcome: None,
        ..facts.clone()
    };
    assert!(
        lint(&lint(LINE, &facts).suggested, &again)
            .findings
            .iter()
            .all(|one| one.level < Level::Error)
    );
}

#[test]
fn a_false_alarm_of_kernel_7_is_only_a_warning() {
    let line = "isolcpus=nohz,domain,3 nohz_full=3 irqaffinity=0-2";
    let messages = [
        "Housekeeping: nohz_full= must match isolcpus=",
        "Unknown kernel command line parameters \"nohz_full=3\", will be passed to user space.",
    ];
    let facts = booted("7.2", Some(&messages), "3", "3");
    assert_eq!(level(line, &facts, "kernel-did-not-know"), Some(Level::Warning));
    assert_eq!(level(line, &facts, "kernel-complained"), Some(Level::Warning));
    // If the parameter really has no effect, the same messages are an error.
    let facts = booted("7.2", Some(&messages), "3", "");
    assert_eq!(level(line, &facts, "kernel-did-not-know"), Some(Level::Error));
}

#[test]
fn an_unreadable_kernel_log_is_reported() {
    assert_eq!(
        level(LINE, &booted("6.12", None, "2-3", "2-3"), "kernel-log-unreadable"),
        Some(Level::Info)
    );
    assert_eq!(
        level(LINE, &facts("6.12", KernelBuild::Full, "0-3"), "kernel-log-unreadable"),
        None
    );
}

#[test]
fn a_shared_core_is_reported_unless_smt_is_off() {
    let mut facts = facts("6.12", KernelBuild::Full, "0-3");
    facts.cores = vec![list("0,2"), list("1,3")];
    assert_eq!(level("isolcpus=3", &facts, "smt-sibling-shared"), Some(Level::Warning));
    assert_eq!(level("isolcpus=1,3", &facts, "smt-sibling-shared"), None);
    assert_eq!(level("isolcpus=3 nosmt", &facts, "smt-sibling-shared"), None);
}

#[test]
fn facts_about_the_machine_raise_and_lower_levels() {
    let mut facts = facts("6.12", KernelBuild::Full, "0-3");
    assert_eq!(level("isolcpus=3", &facts, "managed-irq-missing"), Some(Level::Info));
    facts.managed_interrupts = Some(true);
    assert_eq!(level("isolcpus=3", &facts, "managed-irq-missing"), Some(Level::Warning));
    assert_eq!(level("tsc=reliable", &facts, "tsc-reliable"), Some(Level::Info));
    facts.clocksource = Some("hpet".to_owned());
    assert_eq!(level("tsc=reliable", &facts, "tsc-reliable"), Some(Level::Warning));
    assert_eq!(level("isolcpus=3", &facts, "isolcpus-sched-ext"), None);
    facts.sched_ext = Some(true);
    assert_eq!(level("isolcpus=3", &facts, "isolcpus-sched-ext"), Some(Level::Error));
    facts.config = Some(std::sync::Arc::new([("CONFIG_SMP".to_owned(), "y".to_owned())].into()));
    assert_eq!(level("isolcpus=3", &facts, "isolcpus-unsupported"), Some(Level::Error));
}
