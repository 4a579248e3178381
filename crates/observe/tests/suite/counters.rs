//! Counters of several kinds of machines, from their text and from this machine.

use machine::CpuId;
use observe::{CLASSES, Class, CounterSample, activity, of_interrupt, parse_interrupts, parse_schedstat, parse_stat};
use root::Root;

const X86: &str = "           CPU0       CPU2       
  1:          9          0  IO-APIC    1-edge      i8042
 36:          0      57084 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
NMI:          0          0   Non-maskable interrupts
LOC:      20412      17157   Local timer interrupts
RES:       4349       3546   Rescheduling interrupts
CAL:      30236 4294967290   Function call interrupts
TLB:       1657       1427   TLB shootdowns
MCP:          1          1   Machine check polls
ERR:          3
MIS:          0
";

const ARM64: &str = "           CPU0       CPU1       CPU2       CPU3       
  9:          0          0          0          0     GICv2  25 Level     vgic
 11:    1005322     905113     883101     870055     GICv2  30 Level     arch_timer
 12:          0          0          0          0     GICv2  27 Level     kvm guest vtimer
 19:      24551          0          0          0     GICv2  65 Level     fe00b880.mailbox
 23:          5          5          5          5     GICv2  23 Level     arm-pmu
IPI0:     81234      70111      69022      68011       Rescheduling interrupts
IPI1:      1254       2210       1999       1888       Function call interrupts
IPI2:         0          0          0          0       CPU stop interrupts
IPI3:         0          0          0          0       CPU stop (for crash dump) interrupts
IPI4:        11         12         13         14       Timer broadcast interrupts
IPI5:       931        654        722        810       IRQ work interrupts
IPI6:         0          0          0          0       CPU wake-up interrupts
Err:          0
";

fn of(interrupts: &str, at_ns: u64) -> CounterSample {
    CounterSample {
        at_ns: Some(at_ns),
        interrupts: parse_interrupts(interrupts),
        ..CounterSample::default()
    }
}

#[test]
fn columns_are_the_online_cpus_and_rows_without_columns_have_no_cpu() {
    let table = parse_interrupts(X86).unwrap();
    assert_eq!(table.cpus.to_string(), "0,2");
    assert_eq!(table.count("36", CpuId(2)), Some(57_084));
    assert_eq!(table.count("36", CpuId(0)), Some(0));
    assert_eq!(table.count("36", CpuId(1)), None);
    assert_eq!(table.rows["36"].what, "PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0");
    assert!(!table.rows.contains_key("ERR") && !table.rows.contains_key("MIS"));
    assert!(!parse_interrupts(ARM64).unwrap().rows.contains_key("Err"));
}

#[test]
fn every_row_has_a_class() {
    let class = |text, row: &str| of_interrupt(row, &parse_interrupts(text).unwrap().rows[row].what);
    for (row, expected) in [
        ("36", Class::Device),
        ("1", Class::Device),
        ("LOC", Class::Tick),
        ("RES", Class::Reschedule),
        ("CAL", Class::FunctionCall),
        ("TLB", Class::TlbShootdown),
        ("NMI", Class::Nmi),
        ("MCP", Class::MachineCheck),
    ] {
        assert_eq!(class(X86, row), expected, "{row}");
    }
    for (row, expected) in [
        ("11", Class::Tick),
        ("12", Class::Guest),
        ("19", Class::Device),
        ("23", Class::Performance),
        ("IPI0", Class::Reschedule),
        ("IPI1", Class::FunctionCall),
        ("IPI2", Class::CpuControl),
        ("IPI4", Class::TimerBroadcast),
        ("IPI5", Class::IrqWork),
        ("IPI6", Class::CpuControl),
    ] {
        assert_eq!(class(ARM64, row), expected, "{row}");
    }
}

#[test]
fn every_class_has_one_described_row() {
    for row in CLASSES {
        assert_eq!(row.class.row(), row);
        assert_eq!(
            CLASSES.iter().filter(|other| other.class == row.class).count(),
            1,
            "{:?}",
            row.class
        );
        assert!(
            !row.name.is_empty() && row.what.ends_with('.') && row.cause.ends_with('.'),
            "{}",
            row.name
        );
    }
}

#[test]
fn differences_survive_wrapping_restarts_and_new_rows() {
    let after = X86
        .replace("57084", "57090") // 6 more
        .replace("4294967290", "         4") // wrapped: 10 more
        .replace("20412", "20512") // 100 more ticks
        .replace("4349", "   7") // fell far below half: restarted
        .replace("NMI:", " 40:          5          0  IO-APIC    7-edge      new\nNMI:");
    let activity = activity(&of(X86, 1_000), &of(&after, 2_001_000));
    assert_eq!(activity.duration_ns, 2_000_000);
    let moved = |cpu: usize| -> Vec<(&str, u64)> {
        activity.cpus[cpu]
            .interrupts
            .iter()
            .map(|counted| (counted.name.as_str(), counted.count))
            .collect()
    };
    assert_eq!(moved(0), [("LOC", 100), ("RES", 7), ("40", 5)]);
    assert_eq!(moved(1), [("CAL", 10), ("36", 6)]);
    assert_eq!((activity.cpus[0].ticks, activity.cpus[1].ticks), (Some(100), Some(0)));
    assert_eq!(
        (activity.cpus[0].steal_ns, activity.cpus[0].context_switches),
        (None, None)
    );
}

#[test]
fn the_same_number_with_another_device_starts_at_zero() {
    let after = X86.replace("57084", "57090").replace("virtio1-req.0", "nvme0q1");
    let activity = activity(&of(X86, 0), &of(&after, 1));
    assert_eq!(activity.cpus[1].interrupts[0].count, 57_090);
}

#[test]
fn a_cpu_that_went_online_or_offline_is_omitted() {
    let other = X86.replace("CPU2", "CPU3");
    let activity = activity(&of(X86, 0), &of(&other, 1));
    assert_eq!(activity.cpus.iter().map(|cpu| cpu.cpu.0).collect::<Vec<_>>(), [0]);
}

#[test]
fn ticks_are_unknown_without_a_timer_row() {
    let no_timer: String = X86
        .lines()
        .filter(|line| !line.starts_with("LOC"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(activity(&of(&no_timer, 0), &of(&no_timer, 1)).cpus[0].ticks, None);
    assert_eq!(activity(&of(ARM64, 0), &of(ARM64, 1)).cpus[3].ticks, Some(0));
}

#[test]
fn garbage_is_refused_without_a_panic() {
    for text in ["", "\n", "x", ":::", "CPU", "CPUx CPU-1", "CPU99999999999 CPU70000"] {
        assert_eq!(parse_interrupts(text), None, "{text:?}");
    }
    for text in [
        "CPU0\n",
        "CPU0\nLOC",
        "CPU0\nLOC:",
        "CPU0\nLOC: x",
        "CPU0\nLOC: 99999999999999999999 y",
        "CPU0\n\u{fffd}: \u{2003}",
    ] {
        assert!(parse_interrupts(text).unwrap().rows.is_empty(), "{text:?}");
    }
    let huge = "CPU0\nLOC: 18446744073709551615 Local timer\n250: 18446744073709551615 arch_timer\n";
    let activity = activity(&of("CPU0\n", 0), &of(huge, 1));
    assert_eq!(activity.cpus[0].ticks, Some(u64::MAX));
}

#[test]
fn softirq_columns_are_assigned_by_cpu_number() {
    let text = "                    CPU0       CPU1       CPU2\n          HI:          0          0          0\n       TIMER:       7558          0       6023\n";
    let mut before = of(X86, 0);
    before.softirqs = parse_interrupts(text);
    let mut after = of(X86, 1);
    after.softirqs = parse_interrupts(&text.replace("6023", "6030"));
    let activity = activity(&before, &after);
    assert!(activity.cpus[0].softirqs.is_empty());
    let counted = &activity.cpus[1].softirqs[0];
    assert_eq!(
        (counted.name.as_str(), counted.class, counted.count),
        ("TIMER", Class::SoftTimer, 7)
    );
}

#[test]
fn cpu_times_and_schedule_counts_are_parsed_per_cpu() {
    let stat =
        "cpu  10 20 30 40 50 60 70 80 90 0\ncpu0 1 2 3 4 5 6 7 8 9 0\ncpu12 1 2 3 4 5 6 7 18 9 0\nintr 5 6\nctxt 9\n";
    let times = parse_stat(stat);
    assert_eq!(times.keys().copied().collect::<Vec<_>>(), [0, 12]);
    assert_eq!((times[&12].steal, times[&12].guest), (Some(18), Some(9)));
    let schedstat = |version| {
        format!("version {version}\ntimestamp 4\ncpu0 1 0 333 4 5 6 7 8 9\ndomain0 3 1 2\ncpu2 0 0 7 0 0 0 0 0 0\n")
    };
    for version in 14..=17 {
        let schedules = parse_schedstat(&schedstat(version)).unwrap();
        assert_eq!(schedules.into_iter().collect::<Vec<_>>(), [(0, 333), (2, 7)]);
    }
    assert_eq!(
        parse_schedstat(&schedstat(99)),
        None,
        "an unknown version has unknown fields"
    );
    assert_eq!(parse_schedstat(""), None);
}

#[test]
fn counters_of_this_machine_increase_between_two_samples() {
    let root = Root::live();
    let before = CounterSample::take(&root);
    let end = std::time::Instant::now() + std::time::Duration::from_millis(200);
    while std::time::Instant::now() < end {
        std::hint::spin_loop();
    }
    let after = CounterSample::take(&root);
    let activity = activity(&before, &after);
    if before.interrupts.is_none() {
        println!("SKIP: this machine: /proc/interrupts cannot be read here");
        return;
    }
    assert!(!activity.cpus.is_empty());
    assert!(
        (200_000_000..60_000_000_000).contains(&activity.duration_ns),
        "{}",
        activity.duration_ns
    );
    // One CPU was busy for 200 ms: even with the lowest HZ of 100 there are 20 ticks.
    if activity.cpus.iter().all(|cpu| cpu.ticks.is_some()) {
        let ticks: u64 = activity.cpus.iter().filter_map(|cpu| cpu.ticks).sum();
        assert!(ticks > 0);
    }
    let text = serde_json::to_string(&before).unwrap();
    assert_eq!(serde_json::from_str::<CounterSample>(&text).unwrap(), before);
    assert!(serde_json::to_string(&activity).unwrap().contains("\"cpus\""));
}
