//! The samplers on this machine: accounting under injected stalls, death and cancellation; no system call, no
//! page fault. Nothing here asserts how fast the machine is.
// Clippy's exception for tests does not reach the functions beside them.
#![allow(clippy::unwrap_used, clippy::cast_possible_wrap)]

use machine::{CpuId, CpuSet, Policy};
use measure::{
    Environment, IdleStates, Kind, MeasureError, Measurement, Phase, Progress, Request, SystemCalls,
    ThreadResult, run,
};
use root::Root;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Two samplers on one CPU would measure each other.
fn alone() -> MutexGuard<'static, ()> {
    static CPU: Mutex<()> = Mutex::new(());
    CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn environment() -> Environment {
    let value = |path| Root::live().value(path).unwrap();
    Environment {
        tool_version: "test".to_owned(),
        release: value("/proc/sys/kernel/osrelease"),
        clocksource: value("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ..Environment::default()
    }
}

fn allowed() -> CpuSet {
    let status = Root::live().text("/proc/self/status").unwrap().unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    CpuSet::parse_list(list).unwrap()
}

/// The highest CPU that we may use: the least likely to be the one that everything else runs on.
fn one_cpu() -> CpuSet {
    allowed().last().into_iter().collect()
}

fn request(kind: Kind, for_ms: u64, stop: &AtomicBool) -> Request<'_> {
    let duration = Duration::from_millis(for_ms);
    match kind {
        Kind::Latency => Request::latency(one_cpu(), duration, environment(), stop),
        Kind::Noise => Request::noise(one_cpu(), duration, environment(), stop),
    }
}

fn signal(progress: &Progress, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(progress.sampler_pid as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn assert_accounts(result: &Measurement) {
    for thread in &result.threads {
        assert_eq!(
            thread.expected,
            thread.recorded + thread.missed,
            "cpu {}",
            thread.cpu
        );
        let in_histogram: u64 = thread.histogram.iter().map(|bucket| bucket.1).sum();
        assert_eq!(in_histogram, thread.recorded);
        if thread.recorded == 0 {
            assert_eq!(
                (thread.min_ns, thread.mean_ns, thread.p50_ns, thread.max_ns),
                (None, None, None, None)
            );
        } else {
            let order = [
                thread.min_ns,
                thread.p50_ns,
                thread.p99_ns,
                thread.p999_ns,
                thread.max_ns,
            ];
            assert!(order.is_sorted() && order[0].is_some(), "{order:?}");
        }
    }
}

/// Stops the sampler process for 0.3 s in the middle of the window.
fn stall(request: &Request<'_>) -> (Measurement, u64) {
    let mut stalled_ns = 0;
    let result = run(request, &mut |progress| {
        if progress.phase == Phase::Sampling && progress.elapsed_ns > 300_000_000 && stalled_ns == 0 {
            let begun = std::time::Instant::now();
            signal(progress, rustix::process::Signal::STOP);
            std::thread::sleep(Duration::from_millis(300));
            signal(progress, rustix::process::Signal::CONT);
            stalled_ns = begun.elapsed().as_nanos() as u64;
        }
    })
    .unwrap();
    assert!(stalled_ns > 0);
    (result, stalled_ns)
}

#[test]
fn latency_accounts_for_every_due_time_of_a_stall() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let (result, _) = stall(&request(Kind::Latency, 1_000, &stop));
    assert_accounts(&result);
    let thread = &result.threads[0];
    assert!(result.complete);
    assert_eq!(
        thread.expected, 1_000,
        "one due time per millisecond, whatever happened"
    );
    assert!(thread.missed > 200, "missed {}", thread.missed);
    assert!(thread.max_ns.unwrap() >= 250_000_000, "max {:?}", thread.max_ns);
}

#[test]
fn noise_sees_a_stall_as_one_gap_at_its_time() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let (result, stalled_ns) = stall(&request(Kind::Noise, 1_000, &stop));
    assert_accounts(&result);
    let thread = &result.threads[0];
    let gaps = thread.gaps.as_ref().unwrap();
    let longest = gaps.iter().max_by_key(|gap| gap.duration_ns).unwrap();
    assert!(
        (250_000_000..stalled_ns + 500_000_000).contains(&longest.duration_ns),
        "{longest:?}"
    );
    assert_eq!(Some(longest.duration_ns), thread.max_ns);
    // It was sent after 0.3 s, at one of the collector's rounds.
    assert!((250_000_000..900_000_000).contains(&longest.at_ns), "{longest:?}");
    assert!(thread.stolen_ns.unwrap() >= longest.duration_ns);
    assert!(
        gaps.iter()
            .all(|gap| gap.duration_ns + 1 >= thread.threshold_ns.unwrap() && gap.label.is_none())
    );
    assert!(
        gaps.windows(2)
            .all(|pair| pair[0].at_ns + pair[0].duration_ns <= pair[1].at_ns + 1),
        "gaps overlap"
    );
    let window = thread.duration_ns;
    assert!(
        window >= 999_000_000
            && gaps
                .iter()
                .all(|gap| gap.at_ns + gap.duration_ns <= window + 1_000)
    );
}

#[test]
fn a_killed_sampler_loses_nothing_that_was_recorded() {
    let _alone = alone();
    for kind in [Kind::Latency, Kind::Noise] {
        let stop = AtomicBool::new(false);
        let mut seen = 0;
        let result = run(&request(kind, 60_000, &stop), &mut |progress| {
            let is_due = progress.phase == Phase::Sampling && progress.elapsed_ns > 400_000_000;
            if is_due && progress.threads[0].recorded > 0 {
                seen = progress.threads[0].recorded;
                signal(progress, rustix::process::Signal::KILL);
            }
        })
        .unwrap();
        assert_accounts(&result);
        let thread = &result.threads[0];
        assert!(!result.complete && thread.own.is_none());
        assert!(
            thread.recorded >= seen && seen > 0,
            "{kind:?}: {} of {seen}",
            thread.recorded
        );
        assert!(
            (100_000_000..30_000_000_000).contains(&thread.duration_ns),
            "{}",
            thread.duration_ns
        );
        assert!(
            result.findings.iter().any(|note| note.id == "sampler_died"),
            "{:?}",
            result.findings
        );
    }
}

#[test]
fn cancelling_gives_an_exact_partial_result() {
    let _alone = alone();
    for kind in [Kind::Latency, Kind::Noise] {
        let stop = AtomicBool::new(false);
        let mut last_phase = Phase::Preparing;
        let result = run(&request(kind, 60_000, &stop), &mut |progress| {
            last_phase = progress.phase;
            if progress.elapsed_ns > 300_000_000 {
                stop.store(true, Ordering::Relaxed);
            }
        })
        .unwrap();
        assert_accounts(&result);
        assert!(!result.complete);
        assert_eq!(last_phase, Phase::Ending);
        let thread = &result.threads[0];
        assert!(thread.own.is_some(), "did not end in order: {result:?}");
        assert!(
            (250_000_000..30_000_000_000).contains(&thread.duration_ns),
            "{}",
            thread.duration_ns
        );
        if kind == Kind::Latency {
            assert!(
                thread.expected > 200 && thread.expected < 30_000,
                "{}",
                thread.expected
            );
        }
    }
}

#[test]
fn a_sampler_that_sleeps_long_is_cancelled_at_once() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let mut request = request(Kind::Latency, 60_000, &stop);
    request.interval_ns = 10_000_000_000;
    let mut cancelled = None;
    let result = run(&request, &mut |progress| {
        if progress.phase == Phase::Sampling && cancelled.is_none() {
            stop.store(true, Ordering::Relaxed);
            cancelled = Some(std::time::Instant::now());
        }
    })
    .unwrap();
    assert!(cancelled.unwrap().elapsed() < Duration::from_secs(5));
    assert_accounts(&result);
    assert!(!result.complete && result.threads[0].expected == 0);
}

#[test]
fn cancelled_before_the_window_there_are_no_samples() {
    let _alone = alone();
    let stop = AtomicBool::new(true);
    for kind in [Kind::Latency, Kind::Noise] {
        let result = run(&request(kind, 60_000, &stop), &mut |_| {}).unwrap();
        assert_accounts(&result);
        assert_eq!((result.threads[0].expected, result.complete), (0, false));
    }
}

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
        (request.interval_ns, request.threshold_ns) = (50_000, 100);
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
fn samples_that_find_no_room_count_as_missed() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let mut paused = false;
    // The ring holds 2,048 periods of 1 ms; a collector that comes after 2.4 s is too late for the rest.
    let result = run(&request(Kind::Latency, 2_500, &stop), &mut |progress| {
        if progress.phase == Phase::Sampling && !paused {
            paused = true;
            std::thread::sleep(Duration::from_millis(2_400));
        }
    })
    .unwrap();
    assert_accounts(&result);
    let thread = &result.threads[0];
    assert!(result.complete && thread.expected == 2_500);
    assert!(
        thread.missed >= 200 && thread.recorded >= 1_000,
        "missed {} of 2500",
        thread.missed
    );
    assert!(
        result.findings.iter().any(|note| note.id == "samples_dropped"),
        "{:?}",
        result.findings
    );
}

#[test]
fn only_the_longest_gaps_are_listed_and_all_are_counted() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let mut request = request(Kind::Noise, 400, &stop);
    request.threshold_ns = 100;
    let result = run(&request, &mut |_| {}).unwrap();
    assert_accounts(&result);
    let thread = &result.threads[0];
    let gaps = thread.gaps.as_ref().unwrap();
    assert_eq!(thread.gaps_total, Some(thread.recorded));
    assert_eq!(thread.gaps_kept, Some(gaps.len() as u64));
    assert_eq!(gaps.len() as u64, thread.recorded.min(measure::GAPS_KEPT as u64));
    assert_eq!(gaps.iter().map(|gap| gap.duration_ns).max(), thread.max_ns);
}

#[test]
fn the_policy_is_read_back() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let result = run(&request(Kind::Latency, 100, &stop), &mut |_| {}).unwrap();
    let thread = &result.threads[0];
    let refused = result.findings.iter().any(|note| note.id == "policy_refused");
    let expected = if refused {
        (Policy::Other, 0)
    } else {
        (Policy::Fifo, 80)
    };
    assert_eq!((thread.policy, thread.priority), expected);
    if refused {
        println!("SKIP: real-time policy: it is refused here");
    }
    assert_eq!(
        run(&request(Kind::Noise, 100, &stop), &mut |_| {})
            .unwrap()
            .threads[0]
            .policy,
        Policy::Other
    );
}

#[test]
fn what_cannot_be_measured_is_refused_with_a_reason() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let base = || request(Kind::Latency, 100, &stop);
    let error = |request: Request<'_>| run(&request, &mut |_| {}).unwrap_err();
    let absent = Request {
        cpus: CpuSet::range(60_000, 60_000),
        ..base()
    };
    let Err(MeasureError::Offline { cpu, online }) = run(&absent, &mut |_| {}) else {
        panic!("CPU 60000 is there")
    };
    assert!(cpu == CpuId(60_000) && !online.is_empty());
    for request in [
        Request {
            cpus: CpuSet::new(),
            ..base()
        },
        Request {
            duration: Duration::ZERO,
            ..base()
        },
        Request {
            duration: Duration::MAX,
            ..base()
        },
        Request {
            interval_ns: 0,
            ..base()
        },
        Request {
            interval_ns: u64::MAX,
            ..base()
        },
        Request {
            threshold_ns: 0,
            ..base()
        },
        Request {
            priority: 100,
            ..base()
        },
        Request {
            policy: Policy::Deadline,
            ..base()
        },
    ] {
        assert!(matches!(error(request), MeasureError::Request { .. }));
    }
    let refuse = |_pid: u32| Err("no such cgroup".to_owned());
    let joining = Request {
        join: Some(&refuse),
        ..base()
    };
    assert!(matches!(error(joining), MeasureError::Join { why } if why == "no such cgroup"));
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
fn the_sampler_joins_before_it_has_threads() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let seen = Mutex::new(None);
    let join = |pid: u32| {
        let threads = Root::live().names(&format!("/proc/{pid}/task")).unwrap().unwrap();
        *seen.lock().unwrap() = Some((pid, threads.len()));
        Ok(())
    };
    let mut request = request(Kind::Latency, 100, &stop);
    request.join = Some(&join);
    request.idle_states = IdleStates::Leave;
    let mut pid = 0;
    run(&request, &mut |progress| pid = progress.sampler_pid).unwrap();
    assert_eq!(*seen.lock().unwrap(), Some((pid, 1)));
    assert_eq!(
        Root::live().kind(&format!("/proc/{pid}")).unwrap(),
        None,
        "the sampler is gone"
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

#[test]
fn every_cpu_at_once() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let mut request = request(Kind::Latency, 200, &stop);
    request.cpus = allowed();
    let result = run(&request, &mut |_| {}).unwrap();
    assert_accounts(&result);
    assert_eq!(
        result.threads.iter().map(|thread| thread.cpu).collect::<CpuSet>(),
        allowed()
    );
    let text = serde_json::to_string(&result).unwrap();
    assert!(text.contains("\"schema\":\"quietcore.measure/1\""));
    let back: Measurement = serde_json::from_str(&text).unwrap();
    for (mut there, mut back) in result.threads.into_iter().zip(back.threads) {
        // The last digit of a fraction may be lost on the way.
        for thread in [&mut there, &mut back] {
            (thread.mean_ns, thread.stddev_ns) = (None, None);
        }
        assert_eq!(there, back);
    }
}
