//! Event streams with a known outcome.

use super::*;
use check::LayerName;
use plan::Level;
use std::time::Duration;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn wrote(pid: u32, path: &str) -> Notification {
    Notification::Wrote(by(pid, path))
}

fn by(pid: u32, path: &str) -> WriterProcess {
    WriterProcess {
        pid,
        comm: Some("tee".to_owned()),
        wrote: path.to_owned(),
    }
}

fn found(id: &str, subject: &str, layer: &str) -> OpenFinding {
    OpenFinding {
        id: id.to_owned(),
        subject: subject.to_owned(),
        partition: "rt".to_owned(),
        layer: layer.to_owned(),
        level: Level::Error,
        message: "so".to_owned(),
        fix: String::new(),
        knob: None,
        since_s: 0,
        seen_s: 0,
        by: Vec::new(),
    }
}

/// The layers of check that a notification concerns.
fn names(notification: &Notification) -> Vec<&'static str> {
    let layers = concern(notification);
    check::LAYERS
        .iter()
        .map(|layer| layer.name)
        .filter(|name| layers.has(*name))
        .map(LayerName::as_str)
        .collect()
}

#[test]
fn every_layer_of_a_row_is_a_layer_of_check() {
    let all = Layers::all();
    for layer in check::LAYERS {
        assert!(all.has(layer.name), "{}", layer.name);
        assert!(Layers::named(&[layer.name]).has(layer.name));
    }
    assert_eq!(names(&Notification::Lost).len(), check::LAYERS.len());
}

#[test]
fn a_written_file_concerns_the_layers_that_read_it() {
    let all_concern = |layers: &[&str], paths: &[&str]| {
        for path in paths {
            assert_eq!(names(&wrote(1, path)), layers, "{path}");
        }
    };
    all_concern(&["interrupts"], &["/proc/irq/24/smp_affinity_list"]);
    all_concern(&["boot line", "knobs"], &["/proc/sys/kernel/watchdog_cpumask"]);
    let set = "/sys/fs/cgroup/cpuset/rt/cpuset.cpus";
    all_concern(
        &["partition", "tasks", "knobs"],
        &[set, "/sys/fs/cgroup/cgroup.subtree_control"],
    );
    let tasks = ["/sys/fs/cgroup/rt/cgroup.procs", "/sys/fs/cgroup/cpuset/rt/tasks"];
    all_concern(&["tasks"], &tasks);
    let online = "/sys/devices/system/cpu/cpu3/online";
    all_concern(&["partition", "tasks", "interrupts", "knobs"], &[online]);
    let steering = "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/queues/rx-0/rps_cpus";
    all_concern(&["interrupts", "knobs"], &[steering]);
    let knobs = [
        "/proc/irq/default_smp_affinity",
        "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
        "/sys/devices/virtual/workqueue/cpumask",
        "/sys/devices/pci0000:00/ata1/block/sda/queue/rq_affinity",
    ];
    all_concern(&["knobs"], &knobs);
    all_concern(&[], &["/proc/1/oom_score_adj", "/sys/devices/pci0000:00/uevent"]);
}

#[test]
fn a_writer_that_may_be_irqbalance_concerns_the_neighbours_too() {
    for comm in [Some("irqbalance".to_owned()), None] {
        let writer = WriterProcess {
            comm,
            ..by(1, "/proc/irq/24/smp_affinity")
        };
        assert_eq!(
            names(&Notification::Wrote(writer)),
            ["interrupts", "knobs", "neighbours"]
        );
    }
}

#[test]
fn a_device_concerns_the_layers_that_depend_on_it() {
    let device = |action: &str, path: &str| {
        names(&Notification::Device {
            action: action.to_owned(),
            path: path.to_owned(),
        })
    };
    assert!(device("offline", "/devices/system/cpu/cpu3").contains(&"partition"));
    assert_eq!(device("bind", "/devices/pci0000:00/0000:00:03.0"), ["interrupts"]);
    assert_eq!(device("change", "/devices/pci0000:00/0000:00:03.0"), [] as [&str; 0]);
}

/// A thousand processes within a second, reported one by one, cause a few checks. The writer among them is not lost.
#[test]
fn a_burst_of_events_causes_a_few_checks() {
    let mut burst = Burst::default();
    let mut interval = Interval::new(20, ms(200), ms(1_000));
    let mut requested = Vec::new();
    for number in 0..1_000_u32 {
        let now = ms(u64::from(number));
        burst.add(now, Notification::Thread);
        if number == 500 {
            burst.add(now, wrote(77, "/proc/irq/24/smp_affinity"));
        }
        if burst.check_time(interval.next_run()).is_some_and(|due| due <= now) {
            requested.push(burst.take());
            interval.record_run(now, ms(15));
        }
    }
    assert!((2..=5).contains(&requested.len()), "{} questions", requested.len());
    let reported: u64 = requested.iter().map(|one| one.notifications).sum();
    assert!(reported > 800, "{reported}");
    assert!(
        requested
            .iter()
            .any(|one| one.layers.has(LayerName::Interrupts) && one.writers.iter().any(|one| one.pid == 77))
    );
    // After a check nothing is left to check.
    let _ = burst.take();
    assert_eq!(burst.check_time(ms(0)), None);
}

/// A process that wrote before the last check is not reported for the findings of the next.
#[test]
fn writers_are_limited_and_dropped_after_the_check() {
    let mut burst = Burst::default();
    for pid in 0..10_000 {
        burst.add(ms(1), wrote(pid, "/proc/sys/kernel/x"));
    }
    let requested = burst.take();
    assert_eq!(
        (
            requested.writers.len(),
            requested.writers[0].pid,
            requested.notifications
        ),
        (64, 9_999, 10_000)
    );
    assert!(burst.take().writers.is_empty());
}

#[test]
fn an_interval_stays_within_its_cpu_share() {
    let mut interval = Interval::new(1_000, ms(1_000), ms(600_000));
    let (mut now, mut busy) = (Duration::ZERO, Duration::ZERO);
    let cost = ms(12);
    for _ in 0..100 {
        now = now.max(interval.next_run()) + cost;
        busy += cost;
        interval.record_run(now, cost);
    }
    assert!(busy.as_secs_f64() / now.as_secs_f64() < 0.0011, "{busy:?} of {now:?}");
    interval.record_run(now, ms(3_600_000));
    assert_eq!(
        interval.next_run(),
        now + ms(600_000),
        "never so late that nobody looks any more"
    );
    interval.record_run(now, Duration::ZERO);
    assert_eq!(interval.next_run(), now + ms(1_000));
}

/// Periodic work, whatever its cost, leaves half of a thousandth for events.
#[test]
fn rounds_and_sweeps_together_use_less_than_half_of_the_limit() {
    let intervals = [Interval::FILES, Interval::COUNTERS, Interval::SWEEPS];
    // Reading one small file costs less than a millisecond.
    let configuration = Interval::CONFIGURATION.share(ms(1));
    for cost in [ms(1), ms(5), ms(40)] {
        let share: f64 = intervals.iter().map(|interval| interval.share(cost)).sum();
        assert!(share + configuration < 0.000_7, "{cost:?}: {share}");
    }
    assert!(
        Interval::COUNTERS.share(ms(1)) > 0.000_1,
        "a share is of one, not of a hundred"
    );
}

#[test]
fn a_changed_configuration_is_read_soon_whatever_that_costs() {
    assert_eq!(Interval::CONFIGURATION.pause(Duration::ZERO), ms(1_000));
    assert_eq!(Interval::CONFIGURATION.pause(ms(10_000)), ms(30_000));
}

/// However many events arrive, and however expensive each check is: with the rounds it is at most a thousandth of a day.
#[test]
fn endless_events_stay_within_the_cpu_limit() {
    const DAY: Duration = Duration::from_secs(86_400);
    for (start, often, seldom) in [
        (TokenBucket::QUESTIONS, Interval::QUESTIONS, Interval::FEWER_QUESTIONS),
        (TokenBucket::SWEEPS, Interval::BUSY_SWEEPS, Interval::SWEEPS),
    ] {
        let (mut bucket, mut often, mut seldom) = (start, often, seldom);
        let (mut now, mut spent, cost) = (Duration::ZERO, Duration::ZERO, ms(20));
        let mut first = None;
        while now < DAY {
            let due = match bucket.level(now) {
                BucketLevel::Ample => often.next_run(),
                BucketLevel::Short => {
                    first.get_or_insert(now);
                    seldom.next_run()
                }
            };
            now = now.max(due) + cost;
            spent += cost;
            bucket.spend(now, cost);
            often.record_run(now, cost);
            seldom.record_run(now, cost);
        }
        assert!(spent < DAY / 1_400, "{spent:?}");
        assert!(
            first.unwrap() > Duration::from_secs(60),
            "it was saved for a while: {first:?}"
        );
        let quiet = now + DAY * 30;
        assert_eq!(bucket.level(quiet), BucketLevel::Ample);
        bucket.spend(quiet, Duration::from_secs(26));
        assert_eq!(
            bucket.level(quiet),
            BucketLevel::Short,
            "a month in which nothing happened is no licence"
        );
    }
}

#[test]
fn findings_appear_with_their_writer_stay_and_end() {
    let mut ledger = Ledger::default();
    let irq = || found("irq-here", "/proc/irq/24/smp_affinity", "interrupts");
    let interrupts = Layers::named(&[LayerName::Interrupts]);
    let writers = [
        by(9, "/proc/sys/kernel/x"),
        by(77, "/proc/irq/24/smp_affinity_list"),
        by(5, "/proc/irq/25/smp_affinity"),
    ];
    let changes = ledger.update(vec![irq()], interrupts, 100, &writers);
    let [FindingChange::Appeared(one)] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!((one.since_s, one.by.as_slice()), (100, &writers[1..2]));
    assert_eq!(ledger.update(vec![irq()], interrupts, 160, &[]), [], "no news");
    assert_eq!(ledger.drift_age_s("rt", 161), Some(61));
    assert_eq!(ledger.drift_age_s("other", 161), None);
    let knobs = Layers::named(&[LayerName::Knobs]);
    assert_eq!(
        ledger.update(vec![], knobs, 170, &[]),
        [],
        "another layer tells nothing of it"
    );
    let more = OpenFinding {
        message: "worse".to_owned(),
        ..irq()
    };
    let changes = ledger.update(vec![more], interrupts, 180, &[]);
    let [FindingChange::Changed(one)] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!(
        (one.since_s, one.by[0].pid),
        (100, 77),
        "since when and likely_writers are those of its appearing"
    );
    // The state is saved as text over a restart.
    let text = serde_json::to_string(&ledger).unwrap();
    let mut later: Ledger = serde_json::from_str(&text).unwrap();
    assert_eq!(later, ledger);
    let changes = later.update(vec![], interrupts, 200, &[]);
    let [FindingChange::Ended(one)] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!(one.age_s(200), 100);
    assert!(later.standing.is_empty());
}

#[test]
fn repeated_effects_are_one_finding() {
    let mut ledger = Ledger::default();
    let effects = Layers::named(&[LayerName::Effects]);
    let arrived = |text: &str| OpenFinding {
        message: text.to_owned(),
        ..found("interrupt-arrived", "cpu1/irq4", "effects")
    };
    assert_eq!(ledger.update(vec![arrived("3 in 1 s")], effects, 10, &[]).len(), 1);
    assert_eq!(ledger.update(vec![], effects, 20, &[]), []);
    assert_eq!(
        ledger.update(vec![arrived("9 in 1 s")], effects, 30, &[]),
        [],
        "another number is no news"
    );
    assert_eq!(ledger.update(vec![], effects, 59, &[]), []);
    assert_eq!(ledger.update(vec![], effects, 60, &[]).len(), 1);
}

#[test]
fn only_writes_related_to_a_finding_are_reported() {
    let is_reported = |id: &str, subject: &str, layer: &str, path: &str| {
        let mut ledger = Ledger::default();
        let changes = ledger.update(vec![found(id, subject, layer)], Layers::all(), 1, &[by(3, path)]);
        matches!(changes.as_slice(), [FindingChange::Appeared(one)] if !one.by.is_empty())
    };
    assert!(is_reported(
        "task-here",
        "stress",
        "tasks",
        "/sys/fs/cgroup/cgroup.procs"
    ));
    assert!(!is_reported("task-here", "stress", "tasks", "/proc/irq/1/smp_affinity"));
    assert!(is_reported(
        "partition-invalid",
        "/sys/fs/cgroup/rt/cpuset.cpus.partition",
        "partition",
        "/sys/fs/cgroup/a/cpuset.cpus"
    ));
    assert!(is_reported(
        "cpu-offline",
        "cpu1",
        "partition",
        "/sys/devices/system/cpu/cpu1/online"
    ));
    assert!(is_reported(
        "lost",
        "/sys/class/net/eth0/queues/rx-0/rps_cpus",
        "knobs",
        "/sys/devices/pci0/net/eth0/queues/rx-0/rps_cpus"
    ));
    assert!(!is_reported(
        "lost",
        "/sys/class/net/eth1/queues/rx-0/rps_cpus",
        "knobs",
        "/sys/devices/pci0/net/eth0/queues/rx-0/rps_cpus"
    ));
    assert!(is_reported(
        "lost",
        "/sys/bus/workqueue/devices/writeback/cpumask",
        "knobs",
        "/sys/devices/virtual/workqueue/writeback/cpumask"
    ));
    assert!(!is_reported(
        "interrupt-arrived",
        "cpu1/irq1",
        "effects",
        "/proc/irq/1/smp_affinity"
    ));
}

#[test]
fn memory_is_bounded_for_any_number_of_findings() {
    let mut ledger = Ledger::default();
    let many: Vec<OpenFinding> = (0..5_000)
        .map(|one| found("task-here", &one.to_string(), "tasks"))
        .collect();
    assert_eq!(ledger.update(many.clone(), Layers::all(), 1, &[]).len(), 1_000);
    assert_eq!((ledger.standing.len(), ledger.more), (1_000, 4_000));
    assert_eq!(ledger.update(many, Layers::all(), 2, &[]), []);
}

#[test]
fn repairs_of_a_setting_stop_after_a_limit() {
    let mut repairs = Repairs::default();
    let (one, other) = (found("lost", "/a", "knobs"), found("lost", "/b", "knobs"));
    let answers = [0, 1, 2, 3, 4, 5, 6].map(|at| repairs.may(&one, at));
    assert_eq!(answers[..5], [RepairDecision::Now; 5]);
    assert_eq!(answers[5..], [RepairDecision::NoMore, RepairDecision::Left]);
    assert_eq!(repairs.may(&other, 4), RepairDecision::Now);
    assert_eq!(
        repairs.may(&one, 700),
        RepairDecision::Now,
        "after a while it is tried again"
    );
}

#[test]
fn a_refused_repair_is_reported_once_and_retried_later() {
    let mut repairs = Repairs::default();
    let one = found("lost", "/a", "knobs");
    assert_eq!(repairs.may(&one, 0), RepairDecision::Now);
    assert!(repairs.outcome(&one, "EROFS", 0));
    assert_eq!(
        [1, 300, 599].map(|at| repairs.may(&one, at)),
        [RepairDecision::Left; 3],
        "nobody tries it at every question"
    );
    assert_eq!(repairs.may(&one, 601), RepairDecision::Now);
    assert!(!repairs.outcome(&one, "EROFS", 601), "it was reported");
    assert_eq!(repairs.may(&one, 1_300), RepairDecision::Now);
    assert!(repairs.outcome(&one, "EBUSY", 1_300), "that is something else");
    assert_eq!(repairs.may(&one, 2_000), RepairDecision::Now);
    repairs.outcome(&one, "", 2_000);
    assert_eq!(repairs.may(&one, 2_001), RepairDecision::Now);
    assert!(repairs.outcome(&one, "EBUSY", 2_001), "it was well in between");
    let many = |number: u32| found("lost", &number.to_string(), "knobs");
    let reported = (0..5_000).filter(|number| repairs.outcome(&many(*number), "EROFS", 3_000));
    assert_eq!(reported.count(), 1_000, "memory does not grow with what is refused");
}

#[test]
fn every_line_is_an_object_with_the_same_fields() {
    let mut one = found("irq-here", "/proc/irq/24/smp_affinity", "interrupts");
    one.since_s = 1_790_000_000;
    one.by = vec![WriterProcess {
        pid: 7,
        comm: None,
        wrote: "/proc/irq/24/smp_affinity".to_owned(),
    }];
    let line = text(&of_change(&FindingChange::Appeared(one), 1_790_000_001));
    let text = String::from_utf8(line).unwrap();
    assert_eq!(
        text,
        "{\"at\":\"2026-09-21T14:13:21Z\",\"at_s\":1790000001,\"event\":\"appeared\",\"message\":\"so\",\"id\":\"irq-here\",\
         \"level\":\"error\",\"layer\":\"interrupts\",\"partition\":\"rt\",\"subject\":\"/proc/irq/24/smp_affinity\",\
         \"fix\":\"\",\"since_s\":1790000000,\"by\":[{\"pid\":7,\"comm\":null,\"wrote\":\"/proc/irq/24/smp_affinity\"}]}\n"
    );
    let plain = super::text(&LogLine::new(0, LineEvent::Started, "a\nb"));
    assert_eq!(
        plain.iter().filter(|byte| **byte == b'\n').count(),
        1,
        "one line, whatever is in it"
    );
}

#[test]
fn datagrams_of_the_kernel_are_parsed() {
    let event = |what: u32, words: &[u32]| {
        let mut bytes = vec![0; 36];
        bytes.extend(what.to_ne_bytes());
        bytes.extend([0; 12]);
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    };
    assert_eq!(
        processes(&event(1, &[10, 10, 12, 11])),
        Some(Process::Created { tid: 12, parent: 11 })
    );
    assert_eq!(
        processes(&event(1, &[10, 9, 12, 12])),
        Some(Process::Created { tid: 12, parent: 10 })
    );
    assert_eq!(processes(&event(2, &[12, 11])), Some(Process::Became { tid: 12 }));
    assert_eq!(processes(&event(0x200, &[12, 11])), Some(Process::Became { tid: 12 }));
    assert_eq!(
        processes(&event(0x8000_0000, &[12, 11])),
        Some(Process::Ended { tid: 12 })
    );
    assert_eq!(processes(&event(0, &[0])), None, "the acknowledgement");
    for cut in 0..60 {
        let _ = processes(&event(1, &[10, 10, 12, 11])[..cut.min(60)]);
    }
    assert_eq!(processes(&event(1, &[10, 10])), None, "a datagram that was cut off");
    let device = uevent(b"offline@/devices/system/cpu/cpu1\0ACTION=offline\0").unwrap();
    assert_eq!(
        device,
        Notification::Device {
            action: "offline".to_owned(),
            path: "/devices/system/cpu/cpu1".to_owned()
        }
    );
    assert_eq!(uevent(b"libudev\0\xfe\xed\xca\xfe"), None);
    assert_eq!((uevent(b""), uevent(b"\xff@/x\0")), (None, None));
    let message = |kind: u16| [&16_u32.to_ne_bytes()[..], &kind.to_ne_bytes()[..], &[0; 10]].concat();
    assert_eq!(link(&message(20)), Some(Notification::Network));
    assert_eq!((link(&message(24)), link(b"")), (None, None));
}
