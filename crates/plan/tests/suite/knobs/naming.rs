//! Explicitly requested knobs, omitted knobs, interrupts moved to the partition, and the findings about conflicting
//! programs.

use super::scene::{KnobMachine, ids, intent, plan_of};
use machine::{CpuSet, Interrupt};
use plan::PlanRefusal::{self, Knob};
use plan::{KnobReason, KnobRefusal, KnobState, Level, PartitionName, Profile};

const STAT: &str = "/proc/sys/vm/stat_interval";

#[test]
fn requested_and_omitted_knobs_are_reported() {
    let made = KnobMachine::new(&[(STAT.to_owned(), "1")]);
    let mut intent = intent(Profile::Balanced);
    intent.take("stat_interval=60").unwrap();
    intent.leave_out("timer_migration").unwrap();
    let plan = made.plan(&intent).unwrap();
    let knob = |name: &str| plan.knobs.iter().find(|knob| knob.name == name);
    let stat = knob("stat_interval").unwrap();
    assert_eq!(
        (stat.because, stat.value.as_deref(), stat.state),
        (KnobReason::Name, Some("60"), KnobState::Changes)
    );
    assert_eq!(
        knob("rq_affinity").map(|knob| (knob.because, knob.state)),
        Some((KnobReason::Profile, KnobState::Absent))
    );
    assert!(knob("timer_migration").is_none());
    assert_eq!(plan.without, ["timer_migration"]);
}

#[test]
fn unknown_knobs_and_invalid_values_are_refused() {
    let mut intent = intent(Profile::Balanced);
    for unknown in ["", "rq_afinity", "=", "=1", "rq_affinity ", "../rq_affinity"] {
        assert!(
            matches!(intent.take(unknown), Err(Knob(KnobRefusal::Unknown { .. }))),
            "{unknown:?}"
        );
        assert!(
            matches!(intent.leave_out(unknown), Err(Knob(KnobRefusal::Unknown { .. }))),
            "{unknown:?}"
        );
    }
    for wrong in [
        "rq_affinity=3",
        "rq_affinity=",
        "stat_interval=0",
        "stat_interval=1x",
        "watchdog=61",
        "fair_server=-1",
    ] {
        assert!(
            matches!(intent.take(wrong), Err(Knob(KnobRefusal::Value { .. }))),
            "{wrong}"
        );
    }
    assert_eq!(
        intent,
        super::scene::intent(Profile::Balanced),
        "what was refused left no trace"
    );
    for needed in ["cpuset_partition", "task_placement", "foreign_cpusets"] {
        assert!(
            matches!(intent.leave_out(needed), Err(Knob(KnobRefusal::Needed { .. }))),
            "{needed}"
        );
    }
    intent.take("stat_interval=60").unwrap();
    intent.take("stat_interval=60").unwrap();
    assert!(matches!(
        intent.take("stat_interval=61"),
        Err(Knob(KnobRefusal::Twice { .. }))
    ));
    assert!(matches!(
        intent.leave_out("stat_interval"),
        Err(Knob(KnobRefusal::Twice { .. }))
    ));
    intent.leave_out("rps_cpus").unwrap();
    assert!(matches!(intent.take("rps_cpus"), Err(Knob(KnobRefusal::Twice { .. }))));
}

#[test]
fn an_intent_of_an_older_journal_is_still_read() {
    let old = r#"{"name":"rt","cpus":"3","profile":"balanced"}"#;
    let read: plan::Intent = serde_json::from_str(old).unwrap();
    assert_eq!(read, intent(Profile::Balanced));
    assert_eq!(serde_json::to_string(&read).unwrap(), old);
    let mut with = read;
    with.take("stat_interval=60").unwrap();
    with.take("watchdog").unwrap();
    with.irq_here.insert("eth0*".to_owned());
    let text = serde_json::to_string(&with).unwrap();
    assert_eq!(serde_json::from_str::<plan::Intent>(&text).unwrap(), with);
}

/// The settings that irqbalance reads at its start: an invalid list, and one without the isolated CPUs.
#[test]
fn errors_in_the_settings_of_irqbalance_are_reported() {
    let irqbalance_findings = |files: &[(&str, &str)], comms: &[&'static str]| -> Vec<(String, String, String)> {
        let files: Vec<(String, &str)> = files.iter().map(|(path, text)| ((*path).to_owned(), *text)).collect();
        let mut made = KnobMachine::new(&files);
        made.comms = comms.to_vec();
        let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
        let found = plan.findings.into_iter();
        found
            .filter(|finding| {
                finding.id.as_str().starts_with("irqbalance-") && finding.id.as_str() != "irqbalance-runs"
            })
            .map(|finding| (finding.id.to_string(), finding.subject, finding.fix))
            .collect()
    };
    const DEBIAN: &str = "/etc/default/irqbalance";
    let isolated = ("/sys/devices/system/cpu/isolated", "2-3");
    for (text, id) in [
        ("IRQBALANCE_BANNED_CPULIST=4-3", Some("irqbalance-bad-list")),
        ("IRQBALANCE_BANNED_CPULIST=0-1", Some("irqbalance-not-banned")),
        ("IRQBALANCE_BANNED_CPULIST=-", Some("irqbalance-not-banned")),
        ("IRQBALANCE_BANNED_CPUS=3", Some("irqbalance-not-banned")),
        ("IRQBALANCE_BANNED_CPULIST=2-3", None),
        ("IRQBALANCE_BANNED_CPUS=8", None),
        ("#IRQBALANCE_BANNED_CPULIST=0", None),
        ("IRQBALANCE_BANNED_CPULIST=", None),
    ] {
        for comms in [&["irqbalance"][..], &[]] {
            let found = irqbalance_findings(&[(DEBIAN, text), isolated], comms);
            let ids: Vec<&str> = found.iter().map(|(id, ..)| id.as_str()).collect();
            assert_eq!(ids, id.into_iter().collect::<Vec<_>>(), "{text} {comms:?}");
            // The list replaces the one that the daemon computes.
            assert!(
                found.iter().all(|(.., fix)| fix.contains("_CPULIST=2-3 there")),
                "{found:?}"
            );
        }
    }
    let bad = "IRQBALANCE_BANNED_CPULIST=\"4-3\"";
    let both = irqbalance_findings(&[(DEBIAN, bad), ("/etc/irqbalance.env", bad)], &[]);
    assert_eq!(both.len(), 1, "one finding for both: {both:?}");
    assert_eq!(both[0].1, "/etc/default/irqbalance, /etc/irqbalance.env");
    const DROP_IN: &str = "/etc/systemd/system/irqbalance.service.d/cpus.conf";
    let replaced = irqbalance_findings(
        &[
            (DROP_IN, "[Service]\nEnvironment=IRQBALANCE_BANNED_CPULIST=0-1"),
            isolated,
        ],
        &["irqbalance"],
    );
    assert_eq!(replaced.len(), 1, "{replaced:?}");
    let (id, subject, fix) = &replaced[0];
    assert_eq!((id.as_str(), subject.as_str()), ("irqbalance-not-banned", DROP_IN));
    assert!(
        fix.contains("Environment=IRQBALANCE_BANNED_CPULIST=2-3") && fix.contains("daemon-reload"),
        "{fix}"
    );
}

/// IPIs of POWER and private interrupts of a GIC: the kernel refuses a mask for them, so none is planned.
#[test]
fn per_cpu_interrupts_are_not_moved() {
    let of_chip = |irq, name, chip: &str| Interrupt {
        chip: chip.to_owned(),
        ..interrupt(irq, name, "0-3", false)
    };
    let mut made = KnobMachine::new(&[]);
    made.interrupts = vec![
        of_chip(16, "IPI-0", "XIVE-IPI   0 Edge"),
        of_chip(18, "virtio3", "XIVE-IRQ 4609 Level"),
        of_chip(11, "arch_timer", "GICv3  27 Level"),
        of_chip(20, "eth0", "GICv3  78 Level"),
    ];
    let moved = |plan: &plan::Plan| -> Vec<String> {
        let irqs = plan
            .changes
            .iter()
            .filter_map(|change| change.id.strip_prefix("irq_affinity/"));
        irqs.map(str::to_owned).collect()
    };
    let plan = made.plan(&intent(Profile::Balanced)).unwrap();
    assert_eq!(moved(&plan), ["18", "20"]);
    let mut here = intent(Profile::Balanced);
    here.irq_here.insert("IPI*".to_owned());
    let plan = made.plan(&here).unwrap();
    assert_eq!(moved(&plan), ["18", "20"]);
    assert!(ids(&plan).contains(&"irq-per-cpu"), "{:?}", ids(&plan));
}

pub fn interrupt(irq: u32, name: &str, affinity: &str, managed: bool) -> Interrupt {
    Interrupt {
        irq,
        name: name.to_owned(),
        affinity: CpuSet::parse_list(affinity).ok(),
        effective: CpuSet::parse_list(affinity).ok(),
        managed: Some(managed),
        ..Interrupt::default()
    }
}

#[test]
fn requested_interrupts_are_moved_to_the_isolated_cpus() {
    let mut made = KnobMachine::new(&[]);
    made.interrupts = vec![
        interrupt(30, "eth0-rx-0", "0-3", false),
        interrupt(31, "eth0-rx-1", "0-2", false),
        interrupt(32, "nvme0q3", "2-3", true),
        interrupt(33, "", "0-3", false),
    ];
    let moves = |patterns: &[&str]| {
        let mut intent = intent(Profile::Minimal);
        intent.irq_here = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let plan = made.plan(&intent)?;
        let own = plan
            .changes
            .iter()
            .filter(|change| change.id.starts_with("irq_affinity/"));
        Ok::<_, PlanRefusal>(
            own.map(|change| format!("{}={}", change.id, change.after))
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(moves(&[]).unwrap(), ["irq_affinity/30=0-2", "irq_affinity/33=0-2"]);
    assert_eq!(
        moves(&["eth0-rx-1"]).unwrap(),
        ["irq_affinity/30=0-2", "irq_affinity/31=3", "irq_affinity/33=0-2"]
    );
    assert_eq!(
        moves(&["eth0*"]).unwrap(),
        ["irq_affinity/30=3", "irq_affinity/31=3", "irq_affinity/33=0-2"]
    );
    assert_eq!(moves(&["31", "30"]).unwrap(), moves(&["eth0*"]).unwrap());
    for lost in ["eth1*", "99", "", "33"] {
        assert!(
            matches!(moves(&[lost, "30"]), Err(Knob(KnobRefusal::NoInterrupt { .. }))),
            "{lost:?}"
        );
    }
    let mut intent = intent(Profile::Minimal);
    intent.irq_here.insert("nvme*".to_owned());
    let plan = made.plan(&intent).unwrap();
    let finding = plan
        .findings
        .iter()
        .find(|finding| finding.subject == "irq/32")
        .unwrap();
    assert_eq!((finding.id.as_str(), finding.level), ("irq-managed", Level::Warning));
}

/// The value 0 completes a request on the CPU of its interrupt. That is only wrong if a device interrupt stays on an
/// isolated CPU.
#[test]
fn per_cpu_interrupts_do_not_affect_rq_affinity() {
    let is_set = |one: Interrupt| {
        let mut made = KnobMachine::new(&[("/sys/block/sda/queue/rq_affinity".to_owned(), "0")]);
        made.interrupts = vec![one];
        let plan = made.plan(&intent(Profile::Balanced)).unwrap();
        plan.changes.iter().any(|change| change.knob() == "rq_affinity")
    };
    let unknown = |chip: &str| Interrupt {
        chip: chip.to_owned(),
        managed: None,
        ..interrupt(11, "arch_timer", "0-3", false)
    };
    assert!(is_set(unknown("PCI-MSI 16385-edge")), "it may be managed");
    assert!(!is_set(unknown("GICv3  27 Level")));
    assert!(!is_set(unknown("GICv3   1 Edge")));
    assert!(is_set(interrupt(25, "nvme0q3", "2-3", true)));
    assert!(!is_set(interrupt(25, "nvme0q0", "2-3", false)));
    assert!(!is_set(interrupt(0, "timer", "0-3", false)));
}

/// A timer, and a chip without `irq_set_affinity`: the command line cannot move them either.
#[test]
fn immovable_interrupts_get_no_boot_parameter() {
    let mut made = KnobMachine::new(&[]);
    made.interrupts = vec![
        interrupt(0, "timer", "0-3", false),
        Interrupt {
            settable: Some(false),
            ..interrupt(50, "button", "2-3", false)
        },
        Interrupt {
            settable: Some(false),
            ..interrupt(2, "", "0-3", false)
        },
    ];
    let mut intent = intent(Profile::Minimal);
    let plan = made.plan(&intent).unwrap();
    let findings: Vec<_> = plan
        .findings
        .iter()
        .filter(|one| one.subject.starts_with("irq/"))
        .collect();
    let subjects: Vec<_> = findings
        .iter()
        .map(|one| (one.id.as_str(), one.subject.as_str()))
        .collect();
    assert_eq!(subjects, [("irq-fixed", "irq/0"), ("irq-fixed", "irq/50")]);
    assert!(findings[0].message.contains("kernel timer"), "{}", findings[0].message);
    assert!(
        findings[1].message.contains("chip accepts no mask"),
        "{}",
        findings[1].message
    );
    assert!(findings.iter().all(|one| !one.fix.contains("isolcpus")));
    assert!(plan.changes.iter().all(|change| change.knob() != "irq_affinity"));
    intent.irq_here.insert("button".to_owned());
    let plan = made.plan(&intent).unwrap();
    let finding = plan.findings.iter().find(|one| one.subject == "irq/50").unwrap();
    assert_eq!((finding.id.as_str(), finding.level), ("irq-fixed", Level::Warning));
}

#[test]
fn the_managed_irq_flag_is_not_suggested_to_kernels_without_it() {
    let mut made = KnobMachine::new(&[]);
    made.interrupts = vec![interrupt(32, "nvme0q3", "2-3", true)];
    let fix = |release: &str| {
        made.put("/proc/sys/kernel/osrelease", release);
        let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
        let finding = plan.findings.iter().find(|finding| finding.subject == "irq/32");
        (finding.unwrap().fix.clone(), plan.boot_line.unwrap_or_default())
    };
    let (new, line) = fix("6.1.0-56-amd64");
    assert!(new.contains("boot with isolcpus=managed_irq,domain,3"), "{new}");
    assert!(line.contains("isolcpus=managed_irq,domain,3"), "{line}");
    let (old, line) = fix("5.4.0-26-generic");
    assert!(old.contains("needs kernel 5.6") && !old.contains("boot with"), "{old}");
    assert!(!line.contains("managed_irq"), "{line}");
}

#[test]
fn a_kernel_older_than_the_supported_ones_gets_a_warning() {
    let made = KnobMachine::new(&[]);
    for (release, warned) in [("3.10.0-1160.el7.x86_64", true), ("4.13.16", true), ("4.14.0", false)] {
        made.put("/proc/sys/kernel/osrelease", release);
        let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
        let finding = plan
            .findings
            .iter()
            .find(|finding| finding.id.as_str() == "kernel-unsupported");
        assert_eq!(
            finding.map(|finding| finding.level),
            warned.then_some(Level::Warning),
            "{release}"
        );
    }
}

#[test]
fn conflicting_programs_are_reported() {
    let mut made = KnobMachine::new(&[]);
    made.comms = vec!["irqbalance"];
    let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
    let finding = plan
        .findings
        .iter()
        .find(|finding| finding.id.as_str() == "irqbalance-runs")
        .unwrap();
    assert!(finding.fix.contains("IRQBALANCE_BANNED_CPULIST=3 "), "{}", finding.fix);
    made.put("/sys/devices/system/cpu/isolated", "2-3");
    let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
    assert!(
        !ids(&plan).contains(&"irqbalance-runs"),
        "it reads the boot line by itself"
    );

    let queues: Vec<(String, &str)> = (0..8)
        .map(|queue| (format!("/sys/class/net/eth0/queues/rx-{queue}/rps_cpus"), "0"))
        .collect();
    let plan = plan_of(&KnobMachine::new(&queues), Profile::Balanced, &[]).unwrap();
    let finding = plan
        .findings
        .iter()
        .find(|finding| finding.id.as_str() == "net-channels")
        .unwrap();
    assert!(finding.fix.starts_with("ethtool -L eth0 combined 3"), "{}", finding.fix);
}

#[test]
fn partrt_sets_created_by_quietcore_are_not_reported() {
    let cgroup = "/sys/fs/cgroup/cpuset";
    let made = KnobMachine::new(&[
        (
            "/proc/self/mountinfo".to_owned(),
            "38 30 0:33 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset",
        ),
        (format!("{cgroup}/cpuset.cpus"), "0-3"),
        (format!("{cgroup}/nrt/cpuset.cpus"), "0-2"),
        (format!("{cgroup}/rt/cpuset.cpus"), "3"),
    ]);
    let mut intent = intent(Profile::Minimal);
    let foreign = made.plan(&intent).unwrap();
    assert!(ids(&foreign).contains(&"owner-partrt"), "{:?}", ids(&foreign));
    intent.housekeeping = PartitionName::new("nrt").ok();
    let ours = made.plan(&intent).unwrap();
    assert!(!ids(&ours).contains(&"owner-partrt"), "{:?}", ids(&ours));
}

#[test]
fn a_partition_with_load_balancing_has_no_finding_about_it() {
    let made = KnobMachine::new(&[
        (
            "/proc/self/mountinfo".to_owned(),
            "38 30 0:33 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset",
        ),
        ("/sys/fs/cgroup/cpuset/cpuset.cpus".to_owned(), "0-3"),
    ]);
    let mut intent = intent(Profile::Minimal);
    intent.cpus = CpuSet::parse_list("2-3").unwrap();
    let balance = |plan: &plan::Plan| {
        let change = plan
            .changes
            .iter()
            .find(|change| change.target.ends_with("/rt/cpuset.sched_load_balance"));
        change.map(|change| change.after.clone())
    };
    let isolated = made.plan(&intent).unwrap();
    assert!(ids(&isolated).contains(&"no-balancing"), "{:?}", ids(&isolated));
    assert_eq!(balance(&isolated).as_deref(), Some("0"));
    intent.take("cpuset_partition=root").unwrap();
    let balanced = made.plan(&intent).unwrap();
    assert!(!ids(&balanced).contains(&"no-balancing"), "{:?}", ids(&balanced));
    assert_eq!(balance(&balanced).as_deref(), Some("1"));
}

#[test]
fn completions_of_a_disk_with_a_fixed_interrupt_go_to_the_submitter() {
    let disk = [("/sys/block/sda/queue/rq_affinity".to_owned(), "0")];
    let mut made = KnobMachine::new(&disk);
    let changes = |made: &KnobMachine| {
        let plan = plan_of(made, Profile::Balanced, &[]).unwrap();
        plan.changes
            .iter()
            .filter(|change| change.id.starts_with("rq_affinity"))
            .count()
    };
    made.interrupts = vec![interrupt(32, "sda", "3", false)];
    assert_eq!(changes(&made), 0, "0 is quiet while every interrupt can leave");
    let mut staying = intent(Profile::Balanced);
    staying.leave_out("irq_affinity").unwrap();
    let plan = made.plan(&staying).unwrap();
    let is_home = |change: &plan::Change| change.id == "rq_affinity/sda" && change.after == "2";
    assert!(plan.changes.iter().any(is_home), "the interrupt is to stay where it is");
    made.interrupts = vec![interrupt(32, "sda", "3", true)];
    assert_eq!(changes(&made), 1);
    made.put("/sys/kernel/realtime", "1");
    assert_eq!(changes(&made), 0, "where interrupts are threads the file does nothing");
}

#[test]
fn the_systemd_slice_comes_first_if_systemd_manages_the_controller() {
    let v2 = ("/proc/mounts".to_owned(), "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0");
    let v1 = (
        "/proc/mounts".to_owned(),
        "cpuset /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0",
    );
    let controllers = ("/sys/fs/cgroup/cgroup.controllers".to_owned(), "cpuset cpu");
    let systemd = ("/run/systemd/system/a.unit".to_owned(), "");
    let slices = |files: &[(String, &str)]| {
        let plan = plan_of(&KnobMachine::new(files), Profile::Minimal, &[]).unwrap();
        let is_slice = |change: &plan::Change| change.id.starts_with("systemd_slice/");
        (
            plan.changes.iter().position(is_slice),
            plan.changes.iter().filter(|change| is_slice(change)).count(),
        )
    };
    assert_eq!(
        slices(&[v2.clone(), controllers.clone(), systemd.clone()]),
        (Some(0), 1)
    );
    assert_eq!(slices(&[v2, controllers.clone()]), (None, 0));
    assert_eq!(slices(&[v1, controllers, systemd]), (None, 0));
}
