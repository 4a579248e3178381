//! Each row gets the fix for its machine: a valid quietcore command, or the reason why there is none.

use blame::{
    Class, Confidence, Culprit, Cure, CureAction, CureContext, FUNCTIONS, Interruption, InterruptionSubject, Link,
    cure, intent_includes,
};
use machine::{CpuSet, Interrupt};
use observe::CLASSES;
use plan::{Intent, PartitionName, Profile, knobs};

fn row(class: Class, name: &str) -> Interruption {
    Interruption {
        class,
        name: name.to_owned(),
        count: 1,
        total_ns: 1,
        max_ns: 1,
        transition_ns: 0,
        culprit: None,
        confidence: Confidence::Traced,
        fix: String::new(),
        why: String::new(),
        subject: InterruptionSubject::None,
    }
}

fn by(comm: &str, pid: i32, cpu: u32) -> Option<Culprit> {
    Some(Culprit {
        pid,
        comm: comm.to_owned(),
        threads: 1,
        cpu,
        callsite: None,
        via: None,
        chain: Vec::new(),
    })
}

fn through(via: &str, cpu: u32) -> Option<Culprit> {
    Some(Culprit {
        via: Some(via.to_owned()),
        ..by("", 0, cpu).unwrap()
    })
}

fn cpus(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn open() -> CureContext {
    CureContext {
        requested: cpus("2"),
        ..CureContext::default()
    }
}

fn partition(name: &str, list: &str) -> Intent {
    Intent::new(PartitionName::new(name).unwrap(), cpus(list), Profile::Minimal)
}

fn isolated() -> CureContext {
    CureContext {
        in_force: vec![partition("rt", "2")],
        ..open()
    }
}

fn cure_text(row: &Interruption, ground: &CureContext) -> String {
    match cure(row, 2, ground) {
        Cure::Command { command, why, .. } => {
            assert!(!why.is_empty(), "{command}");
            command
        }
        Cure::Nothing { why } => format!("nothing: {why}"),
    }
}

#[test]
fn a_cpu_that_balances_for_others_needs_its_partition_recreated() {
    let wanted_cpus = row(Class::FunctionCall, "function call: nohz_csd_func");
    let softirq = row(Class::SoftSched, "sched");
    let mut shield = partition("rt", "2");
    shield.take("cpuset_partition=root").unwrap();
    let balanced = CureContext {
        in_force: vec![shield],
        ..open()
    };
    for row in [&wanted_cpus, &softirq] {
        assert_eq!(cure_text(row, &open()), "quietcore apply --cpus 2");
        assert!(cure_text(row, &isolated()).starts_with("quietcore apply --resize --partition rt --cpus 2"));
        assert!(
            cure_text(row, &balanced).starts_with("nothing: "),
            "{}",
            cure_text(row, &balanced)
        );
    }
}

/// Returns every row in the tables, with every kind of cause.
fn all() -> Vec<Interruption> {
    let mut rows: Vec<Interruption> = CLASSES.iter().map(|class| row(class.class, class.name)).collect();
    for class in [Class::Tick, Class::SoftTimer, Class::Work, Class::FunctionCall] {
        rows.extend(
            FUNCTIONS
                .iter()
                .map(|function| row(class, &format!("x: {}", function.name))),
        );
    }
    for comm in [
        "ksoftirqd/2",
        "migration/2",
        "rcuc/2",
        "irq/47-nvme",
        "kworker/2:1",
        "kworker/u8:3",
        "kcompactd0",
    ] {
        rows.push(row(Class::KernelThread, comm));
    }
    for reason in [
        "a POSIX CPU timer",
        "perf events",
        "the scheduler",
        "an unstable clock",
        "RCU, expedited",
        "nothing",
    ] {
        rows.push(row(Class::Tick, &format!("local_timer: kept for {reason}")));
    }
    let culprits = [
        by("fio", 9, 0),
        by("fio", 9, 2),
        by("kworker/0:1", 8, 0),
        through("irq 47 nvme", 2),
    ];
    let each = culprits.into_iter().flat_map(|culprit| {
        rows.iter().map(move |row| Interruption {
            culprit: culprit.clone(),
            ..row.clone()
        })
    });
    each.chain(rows.clone()).collect()
}

#[test]
fn every_row_gets_a_valid_command_or_a_reason() {
    let refused = CureContext {
        refusal: Some("CPU 2 cannot be isolated".to_owned()),
        ..open()
    };
    for ground in [open(), isolated(), refused] {
        for row in all() {
            let reported = cure_text(&row, &ground);
            if let Some(why) = reported.strip_prefix("nothing: ") {
                assert!(why.len() > 15, "{row:?}: {reported}");
                continue;
            }
            assert!(reported.starts_with("quietcore "), "{row:?}: {reported}");
            let words: Vec<&str> = reported.split(' ').collect();
            for pair in words.windows(2).filter(|pair| pair[0] == "--with") {
                let (name, value) = match pair[1].split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (pair[1], None),
                };
                let knob = knobs::knob(name).unwrap_or_else(|| panic!("{reported}: no such knob"));
                assert_eq!(knob.name, name);
                knob.check(value).unwrap();
            }
        }
    }
}

#[test]
fn a_cpu_that_cannot_be_isolated_gets_the_reason_and_no_command() {
    let refused = CureContext {
        refusal: Some("CPU 2 cannot be isolated: it is the lowest online CPU".to_owned()),
        ..open()
    };
    for row in all() {
        let reported = cure_text(&row, &refused);
        assert!(!reported.contains("--cpus"), "{row:?}: {reported}");
    }
    assert!(cure_text(&row(Class::Preemption, "make"), &refused).contains("the lowest online CPU"));
}

#[test]
fn an_interrupt_is_moved_unless_the_kernel_manages_it() {
    let mut device = row(Class::Device, "irq 47 nvme0q3");
    device.subject = InterruptionSubject::Irq(47);
    // Every partition sets this, so the command needs no option.
    assert_eq!(cure_text(&device, &open()), "quietcore apply --cpus 2");
    let managed = |managed_irq: &str| CureContext {
        managed_irq: cpus(managed_irq),
        interrupts: vec![Interrupt {
            irq: 47,
            managed: Some(true),
            ..Interrupt::default()
        }],
        ..open()
    };
    assert_eq!(cure_text(&device, &managed("")), "quietcore boot set --cpus 2");
    let old = CureContext {
        lacks_managed_irq: true,
        ..managed("")
    };
    assert!(cure_text(&device, &old).contains("needs kernel 5.6"));
    assert!(cure_text(&device, &managed("2")).starts_with("nothing: interrupt 47 is managed"));
    let timer = CureContext {
        interrupts: vec![Interrupt {
            irq: 47,
            settable: Some(false),
            ..Interrupt::default()
        }],
        ..open()
    };
    assert!(cure_text(&device, &timer).starts_with("nothing: interrupt 47 cannot be moved"));
    let moved_back = |affinity: &str| CureContext {
        interrupts: vec![Interrupt {
            irq: 47,
            affinity: Some(cpus(affinity)),
            ..Interrupt::default()
        }],
        ..isolated()
    };
    assert_eq!(
        cure_text(&device, &moved_back("0-3")),
        "quietcore apply --resize --partition rt --cpus 2 --profile minimal"
    );
    assert!(cure_text(&device, &moved_back("0-1")).starts_with("nothing: /proc/irq/47/"));
}

#[test]
fn the_cure_of_a_tick_depends_on_what_prevents_its_stop() {
    let tick = row(Class::Tick, "local_timer: tick_nohz_handler");
    let on = |nohz_full: &str, can: bool| CureContext {
        nohz_full: Some(cpus(nohz_full)),
        can_stop_ticks: Some(can),
        ..open()
    };
    assert_eq!(cure_text(&tick, &on("", true)), "quietcore boot set --cpus 2");
    assert!(cure_text(&tick, &on("", false)).contains("CONFIG_NO_HZ_FULL"));
    let no_loader = CureContext {
        can_boot_set: Some(false),
        ..on("", true)
    };
    let shown = cure_text(&tick, &no_loader);
    assert!(
        shown.contains("no boot loader") && shown.contains("`quietcore plan --cpus 2` lists"),
        "nothing stops it here: {shown}"
    );
    assert_eq!(cure_text(&tick, &on("2", true)), "quietcore apply --cpus 2");
    let kept = |reason: &str| {
        row(
            Class::Tick,
            &format!("local_timer: kept for {reason}, tick_nohz_handler"),
        )
    };
    assert!(cure_text(&kept("perf events"), &on("2", true)).contains("perf session"));
    assert!(cure_text(&kept("a POSIX CPU timer"), &on("2", true)).contains("ITIMER_PROF"));
}

#[test]
fn the_cure_of_a_thread_depends_on_its_cgroup() {
    let mut thread = row(Class::Preemption, "make");
    thread.subject = InterruptionSubject::Thread(4711);
    assert_eq!(cure_text(&thread, &open()), "quietcore apply --cpus 2");
    assert_eq!(cure_text(&thread, &isolated()), "quietcore move --back --pid 4711");
    let own = CureContext {
        own: vec![4711],
        ..isolated()
    };
    assert!(cure_text(&thread, &own).starts_with("nothing: it is the watched program itself"));
    for context in [open(), isolated()] {
        let tool = CureContext {
            tool: Some(4711),
            ..context
        };
        assert!(cure_text(&thread, &tool).starts_with("nothing: it is quietcore itself"));
    }
    thread.subject = InterruptionSubject::LetIn(4711);
    assert_eq!(
        cure_text(&thread, &open()),
        "quietcore apply --cpus 2 --with fair_server=0"
    );
    // Before 6.12 there was no fair server: the real-time thread was throttled.
    let of = |version| CureContext {
        kernel: Some(version),
        ..open()
    };
    assert!(cure_text(&thread, &of((6, 12))).ends_with("--with fair_server=0"));
    assert!(cure_text(&thread, &of((6, 11))).ends_with("--with sched_rt_runtime_us=-1"));
    thread.subject = InterruptionSubject::Thread(0);
    assert_eq!(
        cure_text(&thread, &open()),
        "quietcore apply --cpus 2 --with sched_rt_runtime_us=-1"
    );
    // The name of an active partition is not used again.
    let beside = CureContext {
        in_force: vec![partition("rt", "3")],
        ..open()
    };
    assert_eq!(
        cure_text(&thread, &beside),
        "quietcore apply --cpus 2 --partition rt2 --with sched_rt_runtime_us=-1"
    );
}

#[test]
fn an_active_or_absent_knob_is_not_proposed() {
    let work = row(Class::Work, "vmstat_update");
    assert_eq!(
        cure_text(&work, &open()),
        "quietcore apply --cpus 2 --with stat_interval"
    );
    assert_eq!(
        cure_text(&work, &isolated()),
        "quietcore apply --resize --partition rt --cpus 2 --profile minimal --with stat_interval"
    );
    let mut strict = isolated();
    strict.in_force[0].profile = Profile::Strict;
    assert!(cure_text(&work, &strict).starts_with("nothing: stat_interval is already active for partition rt"));
    let absent = CureContext {
        absent: ["stat_interval"].into(),
        ..open()
    };
    assert!(cure_text(&work, &absent).starts_with("nothing: this machine has no stat_interval"));
}

#[test]
fn a_knob_without_a_value_has_its_usual_one() {
    let knob = |text: &str| CureAction::Knob(text.to_owned());
    let mut intent = Intent::new(PartitionName::default(), cpus("2"), Profile::Balanced);
    let includes = |intent: &Intent, text: &str| intent_includes(intent, &knob(text));
    assert!(includes(&intent, "rq_affinity=2") && includes(&intent, "rq_affinity"));
    assert!(!includes(&intent, "rq_affinity=1") && !includes(&intent, "stat_interval"));
    intent.take("stat_interval=60").unwrap();
    assert!(includes(&intent, "stat_interval=60"));
    assert!(!includes(&intent, "stat_interval"), "60 is not the usual value");
    intent.leave_out("rq_affinity").unwrap();
    assert!(!includes(&intent, "rq_affinity=2"));
}

#[test]
fn a_time_slice_that_another_cpu_starts_is_cured_like_its_timer() {
    let mut call = row(Class::FunctionCall, "call_function_single: __hrtick_start");
    call.culprit = by("sh", 227, 3);
    assert_eq!(cure_text(&call, &open()), "quietcore apply --cpus 2");
}

#[test]
fn work_caused_by_another_cpu_is_cured_on_that_cpu() {
    let mut block = row(Class::SoftBlock, "BLOCK");
    block.culprit = Some(Culprit {
        via: Some("irq 47 ahci".to_owned()),
        chain: vec![
            Link {
                what: "disk request".to_owned(),
                comm: "dd".to_owned(),
                pid: 9,
                cpu: 3,
            },
            Link {
                what: "irq 47 ahci".to_owned(),
                comm: String::new(),
                pid: 0,
                cpu: 2,
            },
        ],
        ..by("dd", 9, 3).unwrap()
    });
    // The request completes here because its interrupt is here. One that cannot be moved can still pass it on.
    assert_eq!(cure_text(&block, &open()), "quietcore apply --cpus 2");
    let managed = CureContext {
        interrupts: vec![Interrupt {
            irq: 47,
            managed: Some(true),
            ..Interrupt::default()
        }],
        ..open()
    };
    let passed_on = "quietcore apply --cpus 2 --with rq_affinity=2";
    assert_eq!(cure_text(&block, &managed), passed_on);
    // On PREEMPT_RT, the thread of the interrupt completes it.
    block.culprit = by("irq/47-ahci[000", 202, 2);
    assert_eq!(cure_text(&block, &open()), "quietcore apply --cpus 2");
    assert_eq!(cure_text(&block, &managed), "quietcore boot set --cpus 2");
    // On another CPU it is where it should be.
    block.culprit = by("irq/47-ahci[000", 202, 3);
    assert_eq!(cure_text(&block, &open()), passed_on);
    block.culprit = by("dd", 9, 2);
    assert_eq!(cure_text(&block, &isolated()), "quietcore move --back --pid 9");

    let mut shootdown = row(Class::TlbShootdown, "call_function: flush_tlb_func");
    shootdown.culprit = by("java", 9, 0);
    assert_eq!(cure_text(&shootdown, &open()), "quietcore apply --cpus 2");
    assert!(
        cure_text(&shootdown, &isolated()).contains("unmap"),
        "its own threads are outside"
    );
    shootdown.culprit = by("khugepaged", 40, 0);
    assert_eq!(
        cure_text(&shootdown, &open()),
        "quietcore apply --cpus 2 --with transparent_hugepage"
    );
    let membarrier = row(Class::FunctionCall, "call_function: ipi_mb");
    assert!(cure_text(&membarrier, &open()).contains("membarrier"));
    let mut soft = row(Class::KernelThread, "ksoftirqd/2");
    soft.culprit = through("irq 47 ahci", 2);
    assert_eq!(cure_text(&soft, &open()), "quietcore apply --cpus 2");
}

#[test]
fn per_cpu_interrupts_are_not_proposed_to_move() {
    for (chip, is_own) in [
        ("XIVE-IPI 0 Edge", true),
        ("GICv3 27 Level", true),
        ("GICv3 44 Level", false),
    ] {
        let mut device = row(Class::Device, "irq 16 IPI");
        device.subject = InterruptionSubject::Irq(16);
        let ground = CureContext {
            interrupts: vec![Interrupt {
                irq: 16,
                chip: chip.to_owned(),
                ..Interrupt::default()
            }],
            ..open()
        };
        let cure = cure_text(&device, &ground);
        assert_eq!(
            cure.starts_with("nothing: interrupt 16 is a per-CPU interrupt"),
            is_own,
            "{chip}: {cure}"
        );
    }
}
