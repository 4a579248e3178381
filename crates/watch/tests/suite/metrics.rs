//! Metrics of a recorded machine as golden text, and of machines whose counters wrap, restart or disappear.

use crate::support::golden::{fixtures, golden};
use machine::{CpuId, CpuSet};
use observe::{Class, CounterSample, CounterTable, CpuTimes};
use plan::Level;
use std::collections::BTreeMap;
use watch::drift::{Ledger, OpenFinding};
use watch::metrics::{
    ActivityTotals, DaemonStats, ExpositionFormat, FindingStart, IntendedPartition, MOST_FINDINGS, MetricsState,
    exposition,
};

fn set(text: &str) -> CpuSet {
    CpuSet::parse_list(text).unwrap()
}

/// A row of a table: name, text, counts by CPU.
type Row<'a> = (&'a str, &'a str, &'a [(u32, u64)]);

/// A table with these rows.
fn table(cpus: &str, rows: &[Row]) -> CounterTable {
    let mut counters = CounterTable {
        cpus: set(cpus),
        ..CounterTable::default()
    };
    for (name, what, counts) in rows {
        let row = counters.rows.entry((*name).to_owned()).or_default();
        (*what).clone_into(&mut row.what);
        row.counts = counts.to_vec();
    }
    counters
}

fn sample(interrupts: CounterTable) -> CounterSample {
    CounterSample {
        interrupts: Some(interrupts),
        ..CounterSample::default()
    }
}

fn count(totals: &ActivityTotals, cpu: u32, class: Class) -> Option<u64> {
    let (_, total) = totals.cpus().find(|(one, _)| *one == CpuId(cpu))?;
    total.classes.get(&class).copied()
}

/// Returns the recorded moments summed up as counters.
fn recorded() -> (ActivityTotals, CpuSet) {
    let recording = watch::parse(&std::fs::read(fixtures().join("partition.jsonl")).unwrap()).unwrap();
    let isolated = recording.moments[0].scene.as_ref().unwrap().isolated.clone();
    let (mut totals, mut switched) = (ActivityTotals::default(), BTreeMap::new());
    let mut now = CounterSample {
        interrupts: Some(table("0-1", &[])),
        softirqs: Some(table("0-1", &[])),
        times: Some(BTreeMap::new()),
        ..CounterSample::default()
    };
    for moment in &recording.moments {
        for did in &moment.activity.cpus {
            let tables = [
                (now.interrupts.as_mut().unwrap(), &did.interrupts),
                (now.softirqs.as_mut().unwrap(), &did.softirqs),
            ];
            for (table, counted) in tables {
                for one in counted {
                    let row = table.rows.entry(one.name.clone()).or_default();
                    row.what.clone_from(&one.what);
                    let mut counts: BTreeMap<u32, u64> = row.counts.iter().copied().collect();
                    *counts.entry(did.cpu.0).or_default() += one.count;
                    row.counts = counts.into_iter().collect();
                }
            }
            let times = now.times.as_mut().unwrap().entry(did.cpu.0).or_default();
            times.steal = did.steal_ns.map(|ns| times.steal.unwrap_or(0) + ns / 10_000_000);
            *switched.entry(did.cpu.0).or_default() += moment.ran.iter().map(|ran| ran.times).sum::<u64>();
        }
        totals.add(&now, Some(switched.clone()), &isolated);
    }
    (totals, isolated)
}

fn finding(id: &str, subject: &str, level: Level, since_s: u64) -> OpenFinding {
    OpenFinding {
        id: id.to_owned(),
        subject: subject.to_owned(),
        partition: "rt".to_owned(),
        layer: "interrupts".to_owned(),
        level,
        message: String::new(),
        fix: String::new(),
        knob: None,
        since_s,
        seen_s: since_s,
        by: Vec::new(),
    }
}

fn known(isolated: CpuSet) -> MetricsState {
    MetricsState {
        version: "0.1.0".to_owned(),
        kernel: "6.18.44".to_owned(),
        isolated: vec![IntendedPartition {
            partition: "rt".to_owned(),
            cpus: isolated,
            is_isolated: true,
        }],
        source_text: "the journal of what was applied".to_owned(),
        level: Some(Level::Warning),
        ledger: Ledger {
            standing: vec![
                finding("irq-here", "/proc/irq/36/smp_affinity", Level::Error, 1_795_381_000),
                finding("task-here", "md-\"handler\"\n\\", Level::Warning, 1_795_380_000),
            ],
            more: 0,
        },
        since: FindingStart::Seen,
        checked_s: Some(1_795_381_482),
        daemon: Some(DaemonStats {
            started_s: 1_795_379_000,
            cpu_ns: 1_250_000_000,
            resident_bytes: Some(6_291_456),
            questions: 17,
            lost: 1,
            log_lines_lost: 0,
            configuration_error: Some("line 2".to_owned()),
            sources: vec![("processes".to_owned(), true), ("writes".to_owned(), false)],
        }),
        measured: None,
    }
}

#[test]
fn metrics_of_a_recorded_machine_match_the_golden_files() {
    let (totals, isolated) = recorded();
    let mut known = known(isolated);
    let result = fixtures().join("../results/everything.json");
    known.measured = formats::read(&mut std::fs::read(result).unwrap().as_slice()).ok();
    assert!(known.measured.is_some());
    for (form, name) in [
        (ExpositionFormat::Text, "partition.prom"),
        (ExpositionFormat::OpenMetrics, "partition.openmetrics"),
    ] {
        golden(
            &format!("metrics/{name}"),
            &exposition(form, &known, &totals, 1_795_381_500),
        );
    }
}

#[test]
fn an_invalid_configuration_is_a_metric() {
    let mut known = known(set("1"));
    let reported = |known: &MetricsState| {
        let text = exposition(ExpositionFormat::Text, known, &ActivityTotals::default(), 0);
        let line = text
            .lines()
            .find(|line| line.starts_with("quietcore_configuration_valid"));
        line.unwrap().to_owned()
    };
    assert_eq!(reported(&known), "quietcore_configuration_valid 0");
    known.daemon.as_mut().unwrap().configuration_error = None;
    assert_eq!(reported(&known), "quietcore_configuration_valid 1");
}

#[test]
fn hostile_names_create_no_extra_line() {
    let mut known = known(set("1"));
    let hostile = "a\"} 1\nquietcore_evil{x=\"\\";
    known.isolated[0].partition = hostile.to_owned();
    known.source_text = hostile.to_owned();
    known.ledger.standing[0].subject = hostile.to_owned();
    known.daemon.as_mut().unwrap().sources[0].0 = hostile.to_owned();
    for form in [ExpositionFormat::Text, ExpositionFormat::OpenMetrics] {
        let text = exposition(form, &known, &ActivityTotals::default(), 0);
        assert!(!text.lines().any(|line| line.starts_with("quietcore_evil")), "{text}");
        assert!(
            text.contains("partition=\"a\\\"} 1\\nquietcore_evil{x=\\\"\\\\\""),
            "{text}"
        );
    }
}

#[test]
fn unknown_values_have_no_line() {
    let text = exposition(
        ExpositionFormat::OpenMetrics,
        &MetricsState::default(),
        &ActivityTotals::default(),
        0,
    );
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["quietcore_build_info{version=\"\",kernel=\"\"} 1"]);
    let mut once = known(set("1"));
    (once.since, once.daemon) = (FindingStart::Unknown, None);
    let text = exposition(ExpositionFormat::Text, &once, &ActivityTotals::default(), 0);
    assert!(text.contains("quietcore_check_findings{partition=\"rt\",level=\"error\"} 1\n"));
    for name in ["finding_since", "drift_age", "quietcore_daemon", "noise_gap"] {
        assert!(!text.contains(name), "{name} in {text}");
    }
}

#[test]
fn totals_never_decrease() {
    let isolated = set("2-3");
    let mut totals = ActivityTotals::default();
    let mut add = |cpus: &str, rows: &[Row]| {
        totals.add(&sample(table(cpus, rows)), None, &isolated);
        let tick = |cpu| count(&totals, cpu, Class::Tick);
        (tick(2), tick(3), count(&totals, 2, Class::Device))
    };
    // The first sample takes the counts since boot. CPU 3 is offline and has none.
    let first = add(
        "0-2",
        &[
            ("LOC", "Local timer interrupts", &[(0, 9), (2, 100)]),
            ("36", "nvme", &[(2, 40)]),
        ],
    );
    assert_eq!(first, (Some(100), None, Some(40)));
    // CPU 3 comes online with its counts. Interrupt 36 was freed and requested again.
    let second = add(
        "0-3",
        &[
            ("LOC", "Local timer interrupts", &[(2, 110), (3, 7)]),
            ("36", "nvme", &[(2, 3)]),
        ],
    );
    assert_eq!(second, (Some(110), Some(7), Some(43)));
    // CPU 2 goes offline, and its totals remain.
    let third = add("0-1,3", &[("LOC", "Local timer interrupts", &[(3, 8)])]);
    assert_eq!(third, (Some(110), Some(8), Some(43)));
    // CPU 2 is back with restarted counters, and its totals continue.
    let fourth = add("0-3", &[("LOC", "Local timer interrupts", &[(2, 5), (3, 8)])]);
    assert_eq!(fourth, (Some(110), Some(8), Some(43)));
    let fifth = add(
        "0-3",
        &[("LOC", "Local timer interrupts", &[(2, 6), (3, u64::from(u32::MAX))])],
    );
    assert_eq!((fifth.0, fifth.2), (Some(111), Some(43)));
    // Counters of 32 bits wrap.
    let sixth = add("0-3", &[("LOC", "Local timer interrupts", &[(2, 6), (3, 4)])]);
    assert_eq!(sixth.1.unwrap(), fifth.1.unwrap() + 5);
}

#[test]
fn totals_follow_the_set_of_isolated_cpus() {
    let mut totals = ActivityTotals::default();
    let rows: &[Row] = &[("RES", "Rescheduling interrupts", &[(1, 10), (2, 20)])];
    totals.add(&sample(table("0-2", rows)), Some([(1, 5), (2, 6)].into()), &set("1"));
    totals.add(&sample(table("0-2", rows)), Some([(1, 8), (2, 6)].into()), &set("1-2"));
    assert_eq!(count(&totals, 2, Class::Reschedule), Some(20));
    let switches = |totals: &ActivityTotals| totals.cpus().map(|(_, total)| total.switches).collect::<Vec<_>>();
    assert_eq!(switches(&totals), [Some(8), Some(6)]);
    totals.add(&sample(table("0-2", rows)), Some([(1, 2), (2, 7)].into()), &set("1-2"));
    assert_eq!(
        switches(&totals),
        [Some(10), Some(7)],
        "a counter that went back starts again"
    );
    totals.add(&sample(table("0-2", rows)), None, &set("2"));
    assert_eq!(count(&totals, 1, Class::Reschedule), None);
    assert_eq!(switches(&totals), [Some(7)]);
}

#[test]
fn steal_is_exported_in_seconds() {
    let at = |steal| CounterSample {
        times: Some(
            [(
                1,
                CpuTimes {
                    steal: Some(steal),
                    ..CpuTimes::default()
                },
            )]
            .into(),
        ),
        interrupts: Some(table("0-1", &[])),
        ..CounterSample::default()
    };
    let mut totals = ActivityTotals::default();
    totals.add(&at(250), None, &set("1"));
    totals.add(&at(300), None, &set("1"));
    let text = exposition(ExpositionFormat::Text, &known(set("1")), &totals, 0);
    assert!(
        text.contains("\nquietcore_steal_seconds_total{cpu=\"1\"} 3.0\n"),
        "{text}"
    );
}

/// The number of lines is bounded for any number of findings and CPUs.
#[test]
fn the_number_of_lines_is_bounded() {
    let mut known = known(set("1-63"));
    known.ledger.standing = (0..1_000)
        .map(|number| finding("task-here", &format!("t{number}"), Level::Warning, number))
        .collect();
    known.ledger.more = 5;
    let rows: Vec<(String, Vec<(u32, u64)>)> = (24..524).map(|irq| (irq.to_string(), vec![(irq % 64, 1)])).collect();
    let rows: Vec<Row> = rows
        .iter()
        .map(|(name, counts)| (name.as_str(), "nvme", counts.as_slice()))
        .collect();
    let mut totals = ActivityTotals::default();
    totals.add(&sample(table("0-63", &rows)), None, &set("1-63"));
    let text = exposition(ExpositionFormat::Text, &known, &totals, 2_000);
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(
        lines("quietcore_interruptions_total{"),
        63,
        "500 interrupts are one class"
    );
    assert_eq!(lines("quietcore_check_finding_since_timestamp_seconds{"), MOST_FINDINGS);
    assert!(text.contains("\nquietcore_check_findings_unlisted 905\n"), "{text}");
    assert!(text.contains("level=\"warning\"} 1000\n"));
}

/// As in `check`, a CPU that nothing isolates is not isolated, whatever is intended.
#[test]
fn a_cpu_that_nothing_isolates_has_the_value_zero() {
    let mut known = known(CpuSet::range(3, 3));
    let line = |known: &MetricsState, value: u8| {
        let text = exposition(ExpositionFormat::Text, known, &ActivityTotals::default(), 0);
        let wanted = format!(
            "quietcore_isolated_cpu{{cpu=\"3\",partition=\"rt\",said_by=\"{}\"}} {value}\n",
            known.source_text
        );
        assert!(text.contains(&wanted), "{text}");
    };
    line(&known, 1);
    known.isolated[0].is_isolated = false;
    line(&known, 0);
}
