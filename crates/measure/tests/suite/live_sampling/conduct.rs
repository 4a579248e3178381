//! What the sampler itself does while it measures: no system calls, no page faults, and nothing else on the measured
//! CPU.

use super::{allowed, alone, assert_accounts, changed, one_cpu, request};
use machine::{CpuSet, Policy};
use measure::load::{LoadKind, RunningLoad};
use measure::{MeasurementKind, SystemCalls, ThreadResult, run};
use root::Root;
use std::sync::atomic::AtomicBool;

fn enforced(kind: MeasurementKind) -> Option<ThreadResult> {
    let stop = AtomicBool::new(false);
    let mut request = request(kind, 500, &stop);
    request.system_calls = SystemCalls::Enforced;
    let result = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
    assert_accounts(&result);
    if result
        .findings
        .iter()
        .any(|note| note.id == "system_calls_not_enforced")
    {
        println!("SKIP: {kind:?} system calls: this kernel or container has no seccomp filters");
        return None;
    }
    if !result.complete && result.findings.iter().any(|note| note.id == "clock_needs_system_call") {
        println!("SKIP: {kind:?} system calls: the clock source of this machine needs a system call");
        return None;
    }
    assert!(result.complete, "killed by the filter: {:?}", result.findings);
    result.threads.into_iter().next()
}

#[test]
fn noise_makes_no_system_call_in_the_window() {
    let _alone = alone();
    let Some(thread) = enforced(MeasurementKind::Noise) else {
        return;
    };
    let own = thread.own.unwrap();
    assert_eq!(own.voluntary_switches, 0);
    assert!(thread.turns.unwrap() > 10_000);
}

#[test]
fn latency_makes_one_system_call_per_period() {
    let _alone = alone();
    let Some(thread) = enforced(MeasurementKind::Latency) else {
        return;
    };
    // One sleep per sample. A sample that is already due does not sleep.
    let own = thread.own.unwrap();
    assert!(
        own.voluntary_switches <= thread.recorded,
        "{own:?} for {}",
        thread.recorded
    );
    assert!(
        own.voluntary_switches * 2 > thread.recorded,
        "{own:?} for {}",
        thread.recorded
    );
}

#[test]
fn sampling_causes_no_page_fault() {
    let _alone = alone();
    for kind in [MeasurementKind::Latency, MeasurementKind::Noise] {
        let stop = AtomicBool::new(false);
        let mut request = request(kind, 500, &stop);
        // Many samples, so that the whole ring is used.
        request.each(|lane| (lane.interval_ns, lane.threshold_ns) = (50_000, 100));
        let result = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
        assert_accounts(&result);
        if result.findings.iter().any(|note| note.id == "memory_not_locked") {
            println!("SKIP: {kind:?} page faults: memory cannot be locked here");
            continue;
        }
        assert_eq!(result.threads[0].own.unwrap().page_faults, 0, "{kind:?}");
    }
}

#[test]
fn activity_counters_cover_only_the_window() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let result = run(
        &request(MeasurementKind::Latency, 500, &stop),
        &root::Root::live(),
        &mut |_| {},
    )
    .unwrap();
    let Some(activity) = &result.activity else {
        panic!("no counters: {:?}", result.findings)
    };
    assert!(
        activity.duration_ns > 100_000_000 && activity.duration_ns < 2_000_000_000,
        "{}",
        activity.duration_ns
    );
    if Root::live().kind("/proc/interrupts").unwrap().is_none() {
        println!("SKIP: counters of the window: /proc/interrupts cannot be read here");
        return;
    }
    assert_eq!(activity.cpus.iter().map(|cpu| cpu.cpu).collect::<CpuSet>(), one_cpu());
    // The timer woke the sampler once per millisecond.
    assert!(
        activity.cpus[0].ticks.is_none_or(|ticks| ticks > 50),
        "{:?}",
        activity.cpus[0]
    );
}

#[test]
fn the_collector_leaves_the_measured_cpu_during_the_run() {
    let _alone = alone();
    let before = allowed();
    if before.len() < 2 {
        println!("SKIP: collector's place: there is only one CPU");
        return;
    }
    let stop = AtomicBool::new(false);
    let thread_allowed = || {
        let status = Root::live().text("/proc/thread-self/status").unwrap().unwrap();
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .unwrap();
        CpuSet::parse_list(list).unwrap()
    };
    let before = (thread_allowed(), before);
    run(
        &request(MeasurementKind::Latency, 100, &stop),
        &root::Root::live(),
        &mut |_| {
            assert!(!thread_allowed().intersects(&one_cpu()));
        },
    )
    .unwrap();
    assert_eq!(thread_allowed(), before.0);
}

#[test]
fn every_count_has_a_source_and_a_number_or_a_reason() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let result = run(
        &request(MeasurementKind::All, 300, &stop),
        &root::Root::live(),
        &mut |_| {},
    )
    .unwrap();
    for thread in &result.threads {
        let own = thread.own.unwrap();
        let of = |name: &str| thread.counts.iter().find(|count| count.name == name).unwrap();
        assert_eq!(of("own_page_faults").count, Some(own.page_faults));
        assert_eq!(of("own_involuntary_switches").count, Some(own.involuntary_switches));
        assert_eq!(of("steal").count, thread.steal_ns);
        let has_msr = Root::live().kind("/dev/cpu/0/msr").ok().flatten().is_some();
        assert!(has_msr || of("smi").why.as_deref().is_some_and(|why| why.contains("msr")));
        for count in &thread.counts {
            assert!(!count.source.is_empty() && !count.unit.is_empty(), "{count:?}");
            assert_eq!(count.count.is_some(), count.why.is_none(), "{count:?}");
        }
    }
}

/// A CPU hog beside a sampler is detected by the time that the sampler had to wait.
#[test]
fn a_measured_cpu_shared_with_a_load_is_reported() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let reported = |load: bool| {
        let _load = load.then(|| RunningLoad::start(&one_cpu(), &[LoadKind::Cpu]).unwrap());
        // The load has nice 19, so a spinning thread gets nearly all CPU time. With equal priority it gets half.
        let request = changed(request(MeasurementKind::Noise, 500, &stop), |lane| {
            lane.policy = if load { Policy::Idle } else { Policy::Fifo };
            lane.priority = u32::from(!load);
        });
        let result = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
        if result.findings.iter().any(|note| note.id == "policy_refused") {
            return None;
        }
        let found = result.findings.iter().any(|note| note.id == "cpu_shared");
        assert_eq!(found, result.not_representative.iter().any(|id| id == "cpu_shared"));
        Some(found)
    };
    assert_eq!(reported(true), Some(true));
    match reported(false) {
        None => {
            println!("SKIP: a_measured_cpu_shared_with_a_load_is_reported: alone: real-time priority was refused")
        }
        found => assert_eq!(found, Some(false)),
    }
}
