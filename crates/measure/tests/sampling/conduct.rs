//! What the tool itself does meanwhile: no system call, no page fault, nothing on the measured CPU.

use crate::{allowed, alone, assert_accounts, one_cpu, request};
use machine::CpuSet;
use measure::{Kind, SystemCalls, ThreadResult, run};
use root::Root;
use std::sync::atomic::AtomicBool;

fn enforced(kind: Kind) -> Option<ThreadResult> {
    let stop = AtomicBool::new(false);
    let mut request = request(kind, 500, &stop);
    request.system_calls = SystemCalls::Enforced;
    let result = run(&request, &mut |_| {}).unwrap();
    assert_accounts(&result);
    if result
        .findings
        .iter()
        .any(|note| note.id == "system_calls_not_enforced")
    {
        println!("SKIP: {kind:?} system calls: this kernel or container has no seccomp filters");
        return None;
    }
    if !result.complete
        && result
            .findings
            .iter()
            .any(|note| note.id == "clock_needs_system_call")
    {
        println!("SKIP: {kind:?} system calls: the clock source of this machine needs a system call");
        return None;
    }
    assert!(result.complete, "killed by the filter: {:?}", result.findings);
    result.threads.into_iter().next()
}

#[test]
fn noise_makes_no_system_call_in_the_window() {
    let _alone = alone();
    let Some(thread) = enforced(Kind::Noise) else {
        return;
    };
    let own = thread.own.unwrap();
    assert_eq!(own.voluntary_switches, 0);
    assert!(thread.turns.unwrap() > 10_000);
}

#[test]
fn latency_makes_one_system_call_per_period() {
    let _alone = alone();
    let Some(thread) = enforced(Kind::Latency) else {
        return;
    };
    // One sleep per sample; a sample whose time has come before the call does not sleep.
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
fn no_page_fault_while_sampling() {
    let _alone = alone();
    for kind in [Kind::Latency, Kind::Noise] {
        let stop = AtomicBool::new(false);
        let mut request = request(kind, 500, &stop);
        // Many samples, so that the ring is used to its end.
        request.each(|lane| (lane.interval_ns, lane.threshold_ns) = (50_000, 100));
        let result = run(&request, &mut |_| {}).unwrap();
        assert_accounts(&result);
        if result.findings.iter().any(|note| note.id == "memory_not_locked") {
            println!("SKIP: {kind:?} page faults: memory cannot be locked here");
            continue;
        }
        assert_eq!(result.threads[0].own.unwrap().page_faults, 0, "{kind:?}");
    }
}

#[test]
fn the_counters_belong_to_the_window() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let result = run(&request(Kind::Latency, 500, &stop), &mut |_| {}).unwrap();
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
    assert_eq!(
        activity.cpus.iter().map(|cpu| cpu.cpu).collect::<CpuSet>(),
        one_cpu()
    );
    // The timer woke the sampler once per millisecond.
    assert!(
        activity.cpus[0].ticks.is_none_or(|ticks| ticks > 50),
        "{:?}",
        activity.cpus[0]
    );
}

#[test]
fn the_collector_stays_off_the_measured_cpu_and_comes_back() {
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
    run(&request(Kind::Latency, 100, &stop), &mut |_| {
        assert!(!thread_allowed().intersects(&one_cpu()));
    })
    .unwrap();
    assert_eq!(thread_allowed(), before.0);
}
