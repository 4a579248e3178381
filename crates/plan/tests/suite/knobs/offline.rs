//! Knobs that take CPUs offline: siblings, isolated CPUs that are cycled, and the interrupts that arrive on them.

use super::naming::interrupt;
use super::scene::{KnobMachine, plan_of};
use machine::{CpuSet, Interrupt};
use plan::{Level, Profile};

#[test]
fn a_sibling_goes_offline_only_if_it_may() {
    let online = [("/sys/devices/system/cpu/cpu1/online".to_owned(), "1")];
    let with = ["cpu_offline".to_owned()];
    let mut made = KnobMachine::new(&online);
    made.interrupts = vec![interrupt(40, "eth0", "1", false), interrupt(41, "eth1", "0-1", false)];
    let plan = plan_of(&made, Profile::Minimal, &with).unwrap();
    assert_eq!(plan.housekeeping.to_string(), "0,2");
    let ids: Vec<&str> = plan.changes.iter().map(|change| change.id.as_str()).collect();
    assert_eq!(ids, ["cpu_offline/irq40", "cpu_offline/cpu1"]);
    // The sibling of CPU 2 is the lowest CPU.
    let mut intent = plan::Intent::new(
        plan::PartitionName::default(),
        CpuSet::parse_list("2").unwrap(),
        Profile::Minimal,
    );
    intent.take("cpu_offline").unwrap();
    let plan = made.plan(&intent).unwrap();
    let message = plan
        .findings
        .iter()
        .find(|finding| finding.id.as_str() == "offline-lowest")
        .unwrap();
    assert_eq!(message.level, Level::Error);
    assert!(plan.changes.iter().all(|change| !change.id.starts_with("cpu_offline")));
}

#[test]
fn isolated_cpus_are_cycled_first_and_only_if_hotplug_allows_it() {
    let with = ["cpu_cycle".to_owned()];
    let online = |cpu: u32| (format!("/sys/devices/system/cpu/cpu{cpu}/online"), "1");
    let mut made = KnobMachine::new(&[online(2), online(3)]);
    made.interrupts = vec![interrupt(40, "eth0", "3", false)];
    let mut intent = plan::Intent::new(
        plan::PartitionName::default(),
        CpuSet::parse_list("2-3").unwrap(),
        Profile::Minimal,
    );
    intent.take("timers").unwrap();
    let plan = made.plan(&intent).unwrap();
    let first = plan.changes.first().unwrap();
    assert_eq!(first.id, "cpu_cycle/cpu2-3");
    let cpus = CpuSet::parse_list("2-3").unwrap();
    assert_eq!(first.action, plan::Action::CycleCpus { cpus });
    // One of them cannot be taken offline.
    let plan = KnobMachine::new(&[online(3)]).plan(&intent).unwrap();
    let message = plan
        .findings
        .iter()
        .find(|finding| finding.id.as_str() == "cycle-stays");
    assert_eq!(message.map(|finding| finding.subject.as_str()), Some("2"));
    assert_eq!(
        plan.changes.first().map(|change| change.id.as_str()),
        Some("cpu_cycle/cpu3")
    );
    // No CPU can be taken offline.
    let plan = plan_of(&KnobMachine::new(&[]), Profile::Minimal, &with).unwrap();
    assert!(plan.changes.iter().all(|change| !change.id.starts_with("cpu_cycle")));
}

#[test]
fn only_movable_interrupts_of_an_offlined_cpu_are_moved() {
    let mut made = KnobMachine::new(&[("/sys/devices/system/cpu/cpu1/online".to_owned(), "1")]);
    let own = Interrupt {
        chip: "GICv3  27 Level".to_owned(),
        ..interrupt(11, "arch_timer", "1", false)
    };
    made.interrupts = vec![
        own,
        interrupt(18, "virtio3", "1", false),
        interrupt(20, "nvme0q1", "1", true),
    ];
    let plan = plan_of(&made, Profile::Minimal, &["cpu_offline".to_owned()]).unwrap();
    let written = plan
        .changes
        .iter()
        .filter(|change| change.id.starts_with("cpu_offline/irq"));
    let written: Vec<&str> = written.map(|change| change.id.as_str()).collect();
    assert_eq!(written, ["cpu_offline/irq18"]);
}
