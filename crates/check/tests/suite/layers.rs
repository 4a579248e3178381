//! Each layer of `check` on a captured machine with an active partition: intact, and with one thing broken in the
//! model.

use crate::support::bench;
use crate::support::bench::{CheckFixture, bench, counted, three};
use check::{CheckFinding, CheckVerdict, ObservedActivity};
use machine::CpuSet;
use observe::{Activity, Class, CloseActivity, CounterIncrease, IdleStateEntries, ThreadActivity};
use plan::Level;

#[test]
fn repeated_balancing_on_a_cpu_is_reported_with_a_fix() {
    let fix = |count, take: &str| {
        let mut bench = bench();
        bench.isolation.intent.take(take).unwrap();
        let ObservedActivity::Seen(activity) = &mut bench.counters else {
            panic!("nothing was counted");
        };
        activity.cpus[0].softirqs.push(CounterIncrease {
            name: "SCHED".to_owned(),
            what: String::new(),
            class: Class::SoftSched,
            count,
        });
        let (found, _) = bench.judge();
        let ran = found
            .iter()
            .find(|one| one.finding.id.as_str() == "softirq-ran")
            .unwrap();
        ran.finding.fix.clone()
    };
    let again = "`quietcore apply --resize --partition rt --cpus 3";
    assert!(
        fix(90, "cpuset_partition").contains(again),
        "{}",
        fix(90, "cpuset_partition")
    );
    for (count, take) in [(1, "cpuset_partition"), (90, "cpuset_partition=root")] {
        assert!(
            fix(count, take).starts_with("`quietcore blame --cpus 3`"),
            "{count} {take}"
        );
    }
}

#[test]
fn an_intact_partition_is_quiet() {
    let (found, verdict) = bench().judge();
    let wrong: Vec<&CheckFinding> = found.iter().filter(|one| one.finding.level == Level::Error).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(verdict, CheckVerdict::Quiet);
    let refused: Vec<&CheckFinding> = found
        .iter()
        .filter(|one| one.finding.id.as_str() == "irq-refused")
        .collect();
    assert_eq!(
        refused.len(),
        2,
        "what the kernel refused is reported and is no fault: {found:#?}"
    );
    // The timer interrupt is known to be fixed, even without a recorded refusal.
    let fixed: Vec<&str> = found
        .iter()
        .filter(|one| one.finding.id.as_str() == "irq-fixed")
        .map(|one| one.finding.subject.as_str())
        .collect();
    assert_eq!(fixed, ["irq/0"]);
}

/// The breakage, the finding and its subject, and the knob that repairs it.
type LayerBreakage = (
    &'static str,
    fn(&mut CheckFixture),
    &'static str,
    &'static str,
    Option<&'static str>,
);

const BREAKAGES: &[LayerBreakage] = &[
    (
        "an interrupt comes back",
        |bench| {
            bench.irq(1).affinity = three();
            bench.irq(1).effective = three();
        },
        "irq-here",
        "/proc/irq/1/smp_affinity_list",
        Some("irq_affinity"),
    ),
    (
        "an interrupt is pinned there and comes when it fires next",
        |bench| {
            bench.irq(1).affinity = three();
            bench.irq(1).effective = CpuSet::parse_list("0").ok();
        },
        "irq-here",
        "/proc/irq/1/smp_affinity_list",
        Some("irq_affinity"),
    ),
    (
        "a task of the root set may run there",
        |bench| {
            let task = bench.task(true);
            task.comm = "stranger".to_owned();
            task.allowed = three();
            task.cgroup = Some("/".to_owned());
        },
        "task-here",
        "stranger",
        Some("task_placement"),
    ),
    (
        "a task of another set may run there",
        |bench| {
            let task = bench.task(true);
            task.comm = "tenant".to_owned();
            task.allowed = three();
            task.cgroup = Some("/docker/1".to_owned());
        },
        "task-here",
        "tenant",
        None,
    ),
    (
        "the root balances again",
        |bench| {
            bench.file("/sys/fs/cgroup/cpuset/cpuset.sched_load_balance", Some("1"));
        },
        "partition-differs",
        "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance",
        Some("cpuset_partition"),
    ),
    (
        "the partition balances",
        |bench| {
            bench.file("/sys/fs/cgroup/cpuset/rt/cpuset.sched_load_balance", Some("1"));
        },
        "partition-differs",
        "/sys/fs/cgroup/cpuset/rt/cpuset.sched_load_balance",
        Some("cpuset_partition"),
    ),
    (
        "the partition may share its CPUs",
        |bench| bench.file("/sys/fs/cgroup/cpuset/rt/cpuset.cpu_exclusive", Some("0")),
        "partition-differs",
        "/sys/fs/cgroup/cpuset/rt/cpuset.cpu_exclusive",
        Some("cpuset_partition"),
    ),
    (
        "the partition has no memory, and takes no task",
        |bench| bench.file("/sys/fs/cgroup/cpuset/rt/cpuset.mems", Some("")),
        "partition-differs",
        "/sys/fs/cgroup/cpuset/rt/cpuset.mems",
        Some("cpuset_partition"),
    ),
    (
        "the partition has other CPUs",
        |bench| bench.file("/sys/fs/cgroup/cpuset/rt/cpuset.cpus", Some("2-3")),
        "partition-differs",
        "/sys/fs/cgroup/cpuset/rt/cpuset.cpus",
        Some("cpuset_partition"),
    ),
    (
        "the cgroup no longer exists",
        |bench| bench.file("/sys/fs/cgroup/cpuset/rt", None),
        "partition-missing",
        "rt",
        None,
    ),
    (
        "the CPU is offline",
        |bench| {
            bench.machine.topology.online = CpuSet::parse_list("0-2").unwrap();
        },
        "cpu-offline",
        "cpu3",
        None,
    ),
    (
        "an interrupt that could be moved arrives",
        |bench| {
            bench.counters = ObservedActivity::Seen(counted(&[("1", Class::Device, 7)]));
        },
        "interrupt-arrived",
        "cpu3/irq1",
        None,
    ),
];

#[test]
fn every_breakage_is_found_with_its_repair() {
    for (name, breaks, id, subject, knob) in BREAKAGES {
        let mut bench = bench();
        breaks(&mut bench);
        let (found, verdict) = bench.judge();
        let one = found
            .iter()
            .find(|one| one.finding.id.as_str() == *id && one.finding.subject == *subject);
        let Some(one) = one else {
            panic!("{name}: no {id} of {subject} in {found:#?}");
        };
        assert_eq!(one.finding.level, Level::Error, "{name}");
        assert_eq!(one.knob(), *knob, "{name}");
        assert!(!one.finding.fix.is_empty(), "{name}");
        assert_eq!(verdict, CheckVerdict::Noisy, "{name}");
    }
}

#[test]
fn deviations_that_were_never_promised_are_only_info() {
    let reported = |breaks: fn(&mut CheckFixture), id: &str| {
        let mut bench = bench();
        breaks(&mut bench);
        let (found, verdict) = bench.judge();
        let one = found.iter().find(|one| one.finding.id.as_str() == id);
        assert_eq!(
            one.map(|one| one.finding.level),
            Some(Level::Info),
            "{id} in {found:#?}"
        );
        assert_eq!(verdict, CheckVerdict::Quiet, "{id}");
    };
    reported(|bench| bench.task(false).allowed = three(), "per-cpu-threads");
    reported(
        |bench| {
            let task = bench.task(true);
            task.allowed = three();
            task.cgroup = Some("/rt".to_owned());
        },
        "tasks-inside",
    );
    reported(
        |bench| bench.counters = ObservedActivity::Seen(counted(&[("28", Class::Device, 7)])),
        "interrupt-arrived",
    );
    reported(
        |bench| bench.counters = ObservedActivity::Seen(counted(&[("CAL", Class::FunctionCall, 7)])),
        "ipi-arrived",
    );
}

#[test]
fn threads_placed_by_a_mask_do_not_count_as_bound() {
    let named = |bench: &CheckFixture, id: &str| -> Vec<String> {
        let (found, _) = bench.judge();
        let one = found.into_iter().find(|one| one.finding.id.as_str() == id);
        one.map(|one| one.evidence).unwrap_or_default()
    };
    let mut bench = bench();
    let bound = named(&bench, "per-cpu-threads").len();
    let task = bench.task(false);
    task.comm = "kworker/u8:3".to_owned();
    task.allowed = three();
    assert_eq!(named(&bench, "per-cpu-threads").len(), bound);
    let placed = named(&bench, "mask-placed-threads");
    assert!(placed.iter().any(|line| line.contains("kworker/u8:3")), "{placed:?}");
    // With one memory node the mask may lie within the isolated CPUs. It is still a mask, not a binding to a CPU.
    bench.task(false).comm = "kworker/u8:4".to_owned();
    let task = bench
        .machine
        .tasks
        .iter_mut()
        .flatten()
        .find(|task| task.comm == "kworker/u8:4")
        .unwrap();
    task.allowed = CpuSet::parse_list("3").ok();
    assert!(
        named(&bench, "per-cpu-threads")
            .iter()
            .all(|line| !line.contains("kworker/u"))
    );
    // `plan` counts the same threads.
    let cpus = CpuSet::parse_list("3").unwrap();
    let tasks = bench.machine.tasks.iter().flatten();
    let by_plan = tasks.filter(|task| task.is_bound_to(&cpus)).count();
    assert_eq!(named(&bench, "per-cpu-threads").len(), by_plan);
}

/// Sets the detailed counts of CPU 3.
fn closely(bench: &mut CheckFixture, close: CloseActivity) {
    let mut activity = counted(&[]);
    activity.cpus[0].close = Some(close);
    bench.counters = ObservedActivity::Seen(activity);
}

fn entered(name: &str, latency_us: u64) -> IdleStateEntries {
    IdleStateEntries {
        name: name.to_owned(),
        latency_us,
        count: 4,
    }
}

fn faults(minor_faults: u64, major_faults: u64) -> ThreadActivity {
    ThreadActivity {
        tid: 77,
        comm: "trader".to_owned(),
        minor_faults,
        major_faults,
        switches: Some(9),
    }
}

#[test]
fn per_cpu_counts_are_reported_with_the_right_level() {
    let reported = |close: CloseActivity, limit: Option<&str>| {
        let mut bench = bench();
        if let Some(limit) = limit {
            let with = &mut bench.isolation.intent.with;
            with.insert("pm_qos_resume_latency_us".to_owned(), Some(limit.to_owned()));
            bench.file(
                "/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us",
                Some(limit),
            );
        }
        closely(&mut bench, close);
        let (found, _) = bench.judge();
        let of_cpu = found.into_iter().filter(|one| one.finding.subject == "cpu3");
        of_cpu
            .map(|one| (one.finding.id.to_string(), one.finding.level))
            .collect::<Vec<_>>()
    };
    let everything = || CloseActivity {
        timeslices: Some(0),
        idle: Some(Vec::new()),
        frequency_changes: Some(0),
        throttled: Some(0),
        threads: Vec::new(),
    };
    let is = |id: &str, level: Level| vec![(id.to_owned(), level)];
    assert_eq!(reported(everything(), None), Vec::new(), "nothing happened");
    let mut close = everything();
    close.timeslices = Some(3);
    assert_eq!(reported(close, None), is("switches", Level::Info));
    let mut close = everything();
    close.frequency_changes = Some(3);
    assert_eq!(reported(close, None), is("frequency-changed", Level::Info));
    let mut close = everything();
    close.throttled = Some(3);
    assert_eq!(reported(close, None), is("throttled", Level::Warning));
    let mut close = everything();
    close.threads = vec![faults(4, 0)];
    assert_eq!(reported(close.clone(), None), is("page-faults", Level::Info));
    close.threads = vec![faults(4, 0), faults(0, 1)];
    assert_eq!(reported(close, None), is("page-faults", Level::Warning));
    let mut close = everything();
    close.idle = Some(vec![entered("POLL", 0), entered("C1", 2)]);
    assert_eq!(reported(close.clone(), None), is("idle-states", Level::Info));
    assert_eq!(reported(close.clone(), Some("20")), is("idle-states", Level::Info));
    assert_eq!(
        reported(close.clone(), Some("n/a")),
        is("idle-too-deep", Level::Warning)
    );
    assert_eq!(reported(close, Some("1")), is("idle-too-deep", Level::Warning));
    let mut close = everything();
    close.idle = None;
    assert_eq!(reported(close, None), is("not-counted", Level::Info));
    // Without the scheduler's counters, those of the threads are reported, and what they do not cover.
    let mut close = everything();
    (close.timeslices, close.threads) = (None, vec![faults(0, 0)]);
    let both = [is("switches", Level::Info), is("not-counted", Level::Info)].concat();
    assert_eq!(reported(close, None), both);
}

#[test]
fn a_cpu_without_counts_is_never_quiet() {
    let mut bench = bench();
    bench.counters = ObservedActivity::Unseen("for a test".to_owned());
    assert_eq!(bench.judge().1, CheckVerdict::Unknown);
    bench.counters = ObservedActivity::Seen(Activity::default());
    assert_eq!(bench.judge().1, CheckVerdict::Unknown, "a window without the CPU");
    let mut bench = bench::bench();
    bench.machine.tasks = None;
    assert_eq!(bench.judge().1, CheckVerdict::Unknown, "no tasks");
    let mut bench = bench::bench();
    bench.unseen.push("the journal".to_owned());
    assert_eq!(bench.judge().1, CheckVerdict::Unknown, "what was applied is not known");
    let mut bench = bench::bench();
    bench.machine.unreadable.push(machine::UnreadableFile {
        path: "/proc/irq/1/smp_affinity_list".to_owned(),
        why: "Permission denied (os error 13)".to_owned(),
    });
    assert_eq!(bench.judge().1, CheckVerdict::Unknown, "a file that is for others");
}

#[test]
fn an_ignore_rule_matches_one_subject_or_a_whole_id() {
    let mut bench = bench();
    bench.irq(1).affinity = three();
    bench.irq(1).effective = three();
    let (found, _) = bench.judge();
    let one = found.iter().find(|one| one.finding.id.as_str() == "irq-here").unwrap();
    assert!(one.is_meant_by("irq-here"));
    assert!(one.is_meant_by("irq-here:/proc/irq/1/smp_affinity_list"));
    assert!(!one.is_meant_by("irq-here:/proc/irq/2/smp_affinity_list"));
    assert!(!one.is_meant_by("irq"));
}
