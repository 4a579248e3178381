//! The load programs on this machine: where they run, how they behave, that they end.
// Clippy's exception for tests does not reach the functions beside them.
#![allow(clippy::unwrap_used, clippy::cast_possible_wrap)]

use machine::CpuSet;
use measure::MeasureError;
use measure::load::{Load, LoadKind};
use root::Root;
use std::time::Duration;

fn status(pid: u32, field: &str) -> Option<String> {
    let text = Root::live().text(&format!("/proc/{pid}/status")).ok()??;
    text.lines().find_map(|line| {
        Some(
            line.strip_prefix(field)?
                .trim_start_matches(':')
                .trim()
                .to_owned(),
        )
    })
}

fn stat_field(pid: u32, field: usize) -> u64 {
    let text = Root::live().text(&format!("/proc/{pid}/stat")).unwrap().unwrap();
    text.rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .nth(field - 3)
        .unwrap()
        .parse()
        .unwrap()
}

fn first_cpu() -> CpuSet {
    let list = status(std::process::id(), "Cpus_allowed_list").unwrap();
    CpuSet::parse_list(&list).unwrap().first().into_iter().collect()
}

#[test]
fn runs_pinned_at_the_lowest_priority_within_its_memory_and_ends() {
    let cpus = first_cpu();
    let mut load = Load::start(&cpus, &LoadKind::ALL).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let pids = load.running();
    assert_eq!(pids.len(), 5, "one per kind, and two that wake each other");
    for &pid in &pids {
        assert_eq!(status(pid, "Cpus_allowed_list").unwrap(), cpus.to_string());
        assert_eq!(status(pid, "Threads").unwrap(), "1");
        // SCHED_IDLE, or nice 19 where it was refused.
        assert!(
            stat_field(pid, 41) == 5 || stat_field(pid, 19) == 19,
            "policy of {pid}"
        );
        let anonymous: u64 = status(pid, "RssAnon")
            .unwrap()
            .trim_end_matches(" kB")
            .parse()
            .unwrap();
        assert!(anonymous <= 32 << 10, "{anonymous} kB");
        let children = Root::live()
            .text(&format!("/proc/{pid}/task/{pid}/children"))
            .unwrap();
        assert!(children.is_none_or(|children| children.is_empty()));
    }
    let switches = |pid| {
        status(pid, "voluntary_ctxt_switches")
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    assert!(pids.iter().any(|&pid| switches(pid) > 10), "nobody wakes anybody");
    load.stop();
    for pid in pids {
        assert_eq!(Root::live().kind(&format!("/proc/{pid}")).unwrap(), None);
    }
}

#[test]
fn ends_with_the_thread_that_started_it() {
    // A thread that ends without ending its load stands in for a parent that dies.
    let pids = std::thread::spawn(|| {
        let mut load = Load::start(&first_cpu(), &[LoadKind::SystemCalls]).unwrap();
        let pids = load.running();
        // The child has asked for the signal by the time that it has lowered its priority.
        let is_low = |pid| stat_field(pid, 41) == 5 || stat_field(pid, 19) == 19;
        while !pids.iter().all(|&pid| is_low(pid)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::mem::forget(load);
        pids
    })
    .join()
    .unwrap();
    let gone = |pid: u32| status(pid, "State").is_none_or(|state| state.starts_with('Z'));
    // SIGKILL needs CPU time to take effect, of which a SCHED_IDLE task gets little on a busy CPU.
    for _ in 0..3_000 {
        if pids.iter().all(|&pid| gone(pid)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("load outlived its parent: {pids:?}");
}

#[test]
fn refuses_cpus_that_are_not_there() {
    assert!(matches!(
        Load::start(&CpuSet::new(), &LoadKind::ALL),
        Err(MeasureError::Request { .. })
    ));
    let absent = CpuSet::range(60_000, 60_000);
    assert!(matches!(
        Load::start(&absent, &LoadKind::ALL),
        Err(MeasureError::NotAllowed { .. })
    ));
}
