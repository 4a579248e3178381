//! The load programs on this machine: where they run, what they do, and that they end.

use machine::CpuSet;
use measure::MeasureError;
use measure::load::{LoadKind, RunningLoad};
use root::Root;
use std::time::Duration;

fn status(pid: u32, field: &str) -> Option<String> {
    let text = Root::live().text(&format!("/proc/{pid}/status")).ok()??;
    text.lines()
        .find_map(|line| Some(line.strip_prefix(field)?.trim_start_matches(':').trim().to_owned()))
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
fn loads_run_pinned_at_the_lowest_priority_and_end() {
    let cpus = first_cpu();
    let mut load = RunningLoad::start(&cpus, &LoadKind::ANYWHERE).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let pids = load.running();
    assert_eq!(pids.len(), 5, "one per kind, and two that wake each other");
    for &pid in &pids {
        assert_eq!(status(pid, "Cpus_allowed_list").unwrap(), cpus.to_string());
        assert_eq!(status(pid, "Threads").unwrap(), "1");
        // `SCHED_IDLE`, or nice 19 if that was refused.
        assert!(stat_field(pid, 41) == 5 || stat_field(pid, 19) == 19, "policy of {pid}");
        let anonymous: u64 = status(pid, "RssAnon").unwrap().trim_end_matches(" kB").parse().unwrap();
        assert!(anonymous <= 32 << 10, "{anonymous} kB");
        let children = Root::live().text(&format!("/proc/{pid}/task/{pid}/children")).unwrap();
        assert!(children.is_none_or(|children| children.is_empty()));
    }
    let switches = |pid| status(pid, "voluntary_ctxt_switches").unwrap().parse::<u64>().unwrap();
    assert!(pids.iter().any(|&pid| switches(pid) > 10), "nobody wakes anybody");
    load.stop();
    for pid in pids {
        assert_eq!(Root::live().kind(&format!("/proc/{pid}")).unwrap(), None);
    }
}

fn count(path: &str, line: &str, column: usize) -> Option<u64> {
    let text = Root::live().text(path).ok()??;
    let line = text
        .lines()
        .map(str::split_whitespace)
        .find(|words| words.clone().next() == Some(line))?;
    line.clone().nth(column)?.parse().ok()
}

fn wait_for(what: &str, so: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} never happened");
}

#[test]
fn each_kind_of_load_does_what_its_name_says() {
    let cpus = first_cpu();
    let cpu = usize::try_from(cpus.first().unwrap().0).unwrap();
    let alone = |kind: LoadKind, so: &dyn Fn(u32) -> bool| {
        let mut load = RunningLoad::start(&cpus, &[kind]).unwrap();
        let pid = load.running()[0];
        wait_for(kind.name(), || so(pid));
        assert_eq!(load.broken(), []);
    };
    let received = || count("/proc/softirqs", "NET_RX:", cpu + 1).unwrap();
    let before = received();
    alone(LoadKind::Network, &|_| received() > before + 1_000);
    let slept = |pid: u32| count(&format!("/proc/{pid}/status"), "voluntary_ctxt_switches:", 1).unwrap();
    alone(LoadKind::Timers, &|pid| slept(pid) > 1_000);
    let moved = |pid: u32, line| count(&format!("/proc/{pid}/io"), line, 1).unwrap();
    // The first pass is over: the written data has been read back.
    alone(LoadKind::Io, &|pid| {
        moved(pid, "wchar:") >= 16 << 20 && moved(pid, "rchar:") > 1 << 20
    });
}

#[test]
fn a_load_that_ended_is_reported() {
    let mut load = RunningLoad::start(&first_cpu(), &[LoadKind::Network, LoadKind::Timers]).unwrap();
    assert_eq!(load.broken(), []);
    let timers = load.running()[1];
    root::process::send(timers, 9);
    wait_for("its end", || {
        status(timers, "State").is_none_or(|state| state.starts_with('Z'))
    });
    assert_eq!(load.broken(), [LoadKind::Timers]);
}

#[test]
fn kinds_that_need_two_cpus_are_refused_on_one() {
    for kind in LoadKind::ALL {
        let one = RunningLoad::start(&first_cpu(), &[kind]);
        match kind {
            LoadKind::Fork | LoadKind::TlbShootdowns => {
                let Err(MeasureError::Request { why, .. }) = one else {
                    panic!("{kind:?} on one CPU");
                };
                assert!(why.contains(kind.name()), "{why}");
            }
            _ => assert!(one.is_ok(), "{kind:?}"),
        }
        let written = serde_json::to_string(&kind).unwrap();
        assert_eq!(written, format!("\"{}\"", kind.name()));
    }
}

#[test]
fn fork_and_shootdown_loads_run_on_two_cpus() {
    let list = status(std::process::id(), "Cpus_allowed_list").unwrap();
    let allowed: Vec<_> = CpuSet::parse_list(&list).unwrap().iter().take(2).collect();
    let [_, second] = allowed[..] else {
        eprintln!("SKIP: fork_and_shootdown_loads_run_on_two_cpus: this process may use one CPU only");
        return;
    };
    let pair: CpuSet = allowed.iter().copied().collect();
    let forked = || count("/proc/stat", "processes", 1).unwrap();
    let before = forked();
    let load = RunningLoad::start(&pair, &[LoadKind::Fork]).unwrap();
    wait_for("a fork", || forked() > before + 200);
    load.stop();

    let column = usize::try_from(second.0).unwrap() + 1;
    let shot = || count("/proc/interrupts", "TLB:", column);
    let before = shot();
    let mut load = RunningLoad::start(&pair, &[LoadKind::TlbShootdowns]).unwrap();
    let pid = load.running()[0];
    let faults = || stat_field(pid, 10);
    wait_for("unmapping", || faults() > 1_000);
    assert_eq!(status(pid, "Threads").unwrap(), "2");
    // Only x86 counts shootdowns. On arm64 the hardware broadcasts them to the other CPUs.
    if let Some(before) = before {
        wait_for("a shootdown", || shot().is_some_and(|now| now > before + 100));
    }
}

#[test]
fn a_load_ends_with_the_thread_that_started_it() {
    // A thread that exits without ending its load has the same effect as a parent that dies.
    let pids = std::thread::spawn(|| {
        let mut load = RunningLoad::start(&first_cpu(), &[LoadKind::SystemCalls]).unwrap();
        let pids = load.running();
        // When the child has lowered its priority, it has already requested the parent-death signal.
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
    // SIGKILL needs CPU time to take effect, of which a `SCHED_IDLE` task gets little on a busy CPU.
    for _ in 0..3_000 {
        if pids.iter().all(|&pid| gone(pid)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("load outlived its parent: {pids:?}");
}

#[test]
fn absent_cpus_are_refused_for_a_load() {
    assert!(matches!(
        RunningLoad::start(&CpuSet::new(), &LoadKind::ALL),
        Err(MeasureError::Request { .. })
    ));
    let absent = CpuSet::range(60_000, 60_000);
    assert!(matches!(
        RunningLoad::start(&absent, &LoadKind::ALL),
        Err(MeasureError::NotAllowed { .. })
    ));
}
