//! Every expected wake-up and every gap is accounted for: with stalls, kills, cancellation and full rings.

use super::{allowed, alone, assert_accounts, changed, environment, one_cpu, request, signal};
use measure::{MeasureRequest, Measurement, MeasurementKind, MeasurementPhase, run};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Stops the sampler process for 0.3 s once it has samples. Also returns the times, on `CLOCK_MONOTONIC`, before
/// SIGSTOP and before SIGCONT were sent.
fn stall(request: &MeasureRequest<'_>) -> (Measurement, u64, u64) {
    let mut times = None;
    let result = run(request, &root::Root::live(), &mut |progress| {
        let sampling = progress.phase == MeasurementPhase::Sampling && progress.threads[0].recorded > 0;
        if sampling && progress.elapsed_ns > 200_000_000 && times.is_none() {
            let began = monotonic_ns();
            signal(progress, rustix::process::Signal::STOP);
            std::thread::sleep(Duration::from_millis(300));
            times = Some((began, monotonic_ns()));
            signal(progress, rustix::process::Signal::CONT);
        }
    })
    .unwrap();
    let (began, ended) = times.unwrap();
    (result, began, ended)
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn latency_accounts_for_every_expected_wake_up_of_a_stall() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let (result, ..) = stall(&request(MeasurementKind::Latency, 2_000, &stop));
    assert_accounts(&result);
    let thread = &result.threads[0];
    assert!(result.complete);
    assert_eq!(
        thread.expected, 2_000,
        "one due time per millisecond, whatever happened"
    );
    assert!(thread.missed > 200, "missed {}", thread.missed);
    assert!(thread.max_ns.unwrap() >= 250_000_000, "max {:?}", thread.max_ns);
}

#[test]
fn noise_records_a_stall_as_one_gap_at_its_time() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let (result, began, ended) = stall(&request(MeasurementKind::Noise, 2_000, &stop));
    assert_accounts(&result);
    let thread = &result.threads[0];
    let gaps = thread.gaps.as_ref().unwrap();
    // The sampler cannot run between the two signals. SIGSTOP takes effect at its next entry into the kernel.
    let start = thread.started_monotonic_ns.unwrap();
    let stall = gaps.iter().find(|gap| {
        let (from, to) = (start + gap.at_ns, start + gap.at_ns + gap.duration_ns);
        from < began + 200_000_000 && to + 1_000_000 >= ended
    });
    let stall = stall.unwrap_or_else(|| panic!("no gap from {began} to {ended}, start {start}: {gaps:?}"));
    assert!(stall.duration_ns >= 100_000_000, "{stall:?}");
    assert!(thread.max_ns.unwrap() >= stall.duration_ns && thread.stolen_ns.unwrap() >= stall.duration_ns);
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
    assert!(window >= 1_999_000_000 && gaps.iter().all(|gap| gap.at_ns + gap.duration_ns <= window + 1_000));
}

#[test]
fn a_killed_sampler_loses_no_recorded_sample() {
    let _alone = alone();
    for kind in [MeasurementKind::Latency, MeasurementKind::Noise] {
        let stop = AtomicBool::new(false);
        let mut seen = 0;
        let result = run(&request(kind, 60_000, &stop), &root::Root::live(), &mut |progress| {
            let is_due = progress.phase == MeasurementPhase::Sampling && progress.elapsed_ns > 400_000_000;
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
            (1..50_000_000_000).contains(&thread.duration_ns),
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
    for kind in [MeasurementKind::Latency, MeasurementKind::Noise] {
        let stop = AtomicBool::new(false);
        let mut last_phase = MeasurementPhase::Preparing;
        let result = run(&request(kind, 60_000, &stop), &root::Root::live(), &mut |progress| {
            last_phase = progress.phase;
            if progress.elapsed_ns > 300_000_000 && progress.threads[0].recorded > 0 {
                stop.store(true, Ordering::Relaxed);
            }
        })
        .unwrap();
        assert_accounts(&result);
        assert!(!result.complete);
        assert_eq!(last_phase, MeasurementPhase::Ending);
        let thread = &result.threads[0];
        assert!(thread.own.is_some(), "did not end in order: {result:?}");
        assert!(
            (1..50_000_000_000).contains(&thread.duration_ns),
            "{}",
            thread.duration_ns
        );
        if kind == MeasurementKind::Latency {
            assert!(thread.expected > 100 && thread.expected < 50_000, "{}", thread.expected);
        }
    }
}

#[test]
fn a_sleeping_sampler_is_cancelled_immediately() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let mut request = request(MeasurementKind::Latency, 60_000, &stop);
    request.each(|lane| lane.interval_ns = 10_000_000_000);
    let mut cancelled = None;
    let result = run(&request, &root::Root::live(), &mut |progress| {
        if progress.phase == MeasurementPhase::Sampling && cancelled.is_none() {
            stop.store(true, Ordering::Relaxed);
            cancelled = Some(std::time::Instant::now());
        }
    })
    .unwrap();
    assert!(cancelled.unwrap().elapsed() < Duration::from_secs(10));
    assert_accounts(&result);
    assert!(!result.complete && result.threads[0].expected == 0);
}

#[test]
fn a_run_cancelled_before_the_window_has_no_samples() {
    let _alone = alone();
    let stop = AtomicBool::new(true);
    for kind in [MeasurementKind::Latency, MeasurementKind::Noise] {
        let result = run(&request(kind, 60_000, &stop), &root::Root::live(), &mut |_| {}).unwrap();
        assert_accounts(&result);
        assert_eq!((result.threads[0].expected, result.complete), (0, false));
    }
}

#[test]
fn samples_lost_to_a_full_ring_count_as_missed() {
    let _alone = alone();
    // The ring holds at most 65,536 periods. At 25 us it is full after 1.7 s on a machine that keeps up; a slower one
    // gets more time.
    for duration_ms in [2_500, 7_000, 20_000] {
        if no_room(duration_ms) {
            return;
        }
    }
    panic!("this machine did not manage 65,536 wake-ups in 20 s");
}

/// The collector sleeps for nearly all of the run. Returns whether it lost samples.
fn no_room(duration_ms: u64) -> bool {
    let stop = AtomicBool::new(false);
    let mut paused = false;
    let quick = changed(request(MeasurementKind::Latency, duration_ms, &stop), |lane| {
        lane.interval_ns = 25_000;
    });
    let result = run(&quick, &root::Root::live(), &mut |progress| {
        if progress.phase == MeasurementPhase::Sampling && !paused {
            paused = true;
            std::thread::sleep(Duration::from_millis(duration_ms - 100));
        }
    })
    .unwrap();
    assert_accounts(&result);
    let thread = &result.threads[0];
    assert!(result.complete && thread.expected == duration_ms * 40);
    let dropped = result.findings.iter().any(|note| note.id == "samples_dropped");
    assert!(
        thread.missed >= 20_000 && thread.recorded >= 10_000,
        "missed {} of {}",
        thread.missed,
        thread.expected
    );
    dropped
}

#[test]
fn the_list_of_gaps_is_limited_and_all_are_counted() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let mut request = request(MeasurementKind::Noise, 400, &stop);
    request.each(|lane| lane.threshold_ns = 100);
    let result = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
    assert_accounts(&result);
    let thread = &result.threads[0];
    let gaps = thread.gaps.as_ref().unwrap();
    assert_eq!(thread.gaps_total, Some(thread.recorded));
    assert_eq!(thread.gaps_kept, Some(gaps.len() as u64));
    assert_eq!(gaps.len() as u64, thread.recorded.min(measure::MAX_GAPS as u64));
    assert_eq!(gaps.iter().map(|gap| gap.duration_ns).max(), thread.max_ns);
}

#[test]
fn intermediate_results_are_consistent() {
    let _alone = alone();
    for kind in [MeasurementKind::Latency, MeasurementKind::Noise] {
        let stop = AtomicBool::new(false);
        let kept: RefCell<Vec<Measurement>> = RefCell::default();
        let keep = |result: &Measurement| {
            if super::allowed().iter().count() > 1 {
                let here = rustix::thread::sched_getcpu();
                assert!(
                    !super::one_cpu().contains(machine::CpuId(here as u32)),
                    "on the measured CPU"
                );
            }
            kept.borrow_mut().push(result.clone());
        };
        let mut request = request(kind, 2_600, &stop);
        request.on_intermediate = Some(&keep);
        let end = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
        let kept = kept.into_inner();
        assert!(kept.len() >= 2, "{kind:?}: kept {} times in 2.6 s", kept.len());
        for result in &kept {
            assert_accounts(result);
            assert!(!result.complete && result.activity.is_none());
            assert!(result.findings.iter().any(|note| note.id == "still_measuring"));
        }
        let recorded: Vec<u64> = kept
            .iter()
            .chain([&end])
            .map(|result| result.threads[0].recorded)
            .collect();
        assert!(recorded.is_sorted(), "{recorded:?}");
        let before_the_end = &kept[kept.len() - 1].threads[0];
        assert!(
            before_the_end.recorded > 0 && before_the_end.duration_ns > 1_000_000_000,
            "{before_the_end:?}"
        );
        assert!(end.complete && !end.findings.iter().any(|note| note.id == "still_measuring"));
    }
}

#[test]
fn the_result_has_the_rate_and_the_offsets_of_the_counter() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let result = run(
        &request(MeasurementKind::Noise, 400, &stop),
        &root::Root::live(),
        &mut |_| {},
    )
    .unwrap();
    let counter = result.threads[0].counter.clone().unwrap();
    assert_eq!(counter.clocksource, environment().clocksource);
    match (&counter.rate, counter.khz) {
        (Some(rate), Some(khz)) => {
            assert!((rate.khz - khz as f64).abs() <= 0.5, "{counter:?}");
            // Each of the two readings has an error of a few hundred nanoseconds, and they are 0.4 s apart.
            assert!(rate.uncertainty_ppm > 0.0 && rate.uncertainty_ppm < 1_000.0, "{rate:?}");
            assert_eq!(rate.kernel_khz.is_some(), rate.apart_ppm.is_some());
            if let Some(apart) = rate.apart_ppm {
                assert!(apart.abs() < 5_000.0, "another unit? {rate:?}");
            }
        }
        (rate, khz) => assert_eq!((rate, khz), (&None, None), "a clock has no rate"),
    }
    if allowed().len() < 2 {
        println!("SKIP: the_result_has_the_rate_and_the_offsets_of_the_counter: offset: there is one CPU");
        return;
    }
    let Some(offset) = counter.offset else {
        println!("SKIP: the_result_has_the_rate_and_the_offsets_of_the_counter: offset: no thread answered in time");
        return;
    };
    assert!(!one_cpu().contains(offset.against) && offset.round_trip_ns > 0);
    assert!(offset.uncertainty_ns <= offset.round_trip_ns.max(1), "{offset:?}");
    let apart = result.findings.iter().any(|note| note.id == "counters_apart");
    assert_eq!(
        apart,
        offset.offset_ns.unsigned_abs() > offset.uncertainty_ns + 1_000,
        "{offset:?}"
    );
}
