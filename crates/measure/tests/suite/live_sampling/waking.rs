//! Wake-up modes: clocks, with and without a schedule, periods and phases of several CPUs, the lists of worst samples,
//! and what ends a run.

use super::{allowed, alone, assert_accounts, changed, on_all_cpus, one_cpu, request, signal};
use machine::Policy;
use measure::{
    Break, BreakAction, BreakSample, Claim, ClaimVerdict, Clock, Deadline, GapLabel, LaneLifetime, MeasureError,
    MeasureRequest, Measurement, MeasurementKind, MeasurementPhase, Sleep, SystemCalls, run,
};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn now_ns(clock: rustix::time::ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Runs the request and stops the sampler for 0.3 s once it has samples.
fn with_a_stall(request: &MeasureRequest<'_>) -> Measurement {
    stalled(request).0
}

/// The same, with the time on `CLOCK_MONOTONIC` before the sampler was resumed.
fn stalled(request: &MeasureRequest<'_>) -> (Measurement, u64) {
    let mut ended = None;
    let result = run(request, &root::Root::live(), &mut |progress| {
        let is_sampling = progress.phase == MeasurementPhase::Sampling && progress.threads[0].recorded > 0;
        if is_sampling && progress.elapsed_ns > 200_000_000 && ended.is_none() {
            signal(progress, rustix::process::Signal::STOP);
            std::thread::sleep(Duration::from_millis(300));
            ended = Some(now_ns(rustix::time::ClockId::Monotonic));
            signal(progress, rustix::process::Signal::CONT);
        }
    })
    .unwrap();
    assert_accounts(&result);
    (result, ended.unwrap())
}

#[test]
fn the_schedule_adds_missed_activations_and_keeps_the_samples() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let (result, ended) = stalled(&changed(request(MeasurementKind::Latency, 1_500, &stop), |lane| {
        lane.spike_ns = Some(50_000_000);
    }));
    let thread = &result.threads[0];
    let schedule = thread.schedule.as_ref().unwrap();
    assert_eq!((thread.expected, schedule.count), (1_500, 1_500));
    assert_eq!(schedule.histogram.iter().map(|bucket| bucket.1).sum::<u64>(), 1_500);
    let late = |histogram: &[(u64, u64)]| -> u64 {
        let late = histogram.iter().filter(|(low, _)| *low >= 50_000_000);
        late.map(|(_, count)| count).sum()
    };
    // In 0.3 s there is one sample and about 250 activations that were at least 50 ms late.
    let (sampled, due) = (late(&thread.histogram), late(&schedule.histogram));
    assert!(
        sampled >= 1 && due >= sampled + 199,
        "{sampled} samples, {due} activations"
    );
    assert_eq!(schedule.max_ns, thread.max_ns);
    let spikes = thread.spikes.as_ref().unwrap();
    assert_eq!((thread.spikes_total, spikes.len() as u64), (Some(sampled), sampled));
    let longest = spikes.iter().max_by_key(|spike| spike.late_ns).unwrap();
    assert_eq!(Some(longest.late_ns), thread.max_ns);
    // It was due while the sampler was stopped, and woke up when it was resumed.
    let due = thread.started_monotonic_ns.unwrap() + longest.at_ns;
    assert!(
        due < ended && due + longest.late_ns >= ended,
        "{longest:?}, due at {due}, went on at {ended}"
    );
    let jitter = thread.jitter.as_ref().unwrap();
    assert_eq!(jitter.distance.count, thread.recorded - 1);
    assert!(jitter.longer_ns >= 200_000_000 && jitter.shorter_ns >= 200_000_000);
    assert_eq!(jitter.distance.max_ns, Some(jitter.longer_ns.max(jitter.shorter_ns)));
}

#[test]
fn every_clock_wakes_on_its_own_grid() {
    let _alone = alone();
    for clock in [Clock::Monotonic, Clock::Realtime, Clock::Tai, Clock::Boottime] {
        let stop = AtomicBool::new(false);
        let mut request = changed(request(MeasurementKind::Latency, 200, &stop), |lane| lane.clock = clock);
        request.system_calls = SystemCalls::Enforced;
        let result = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
        let no_proof = ["system_calls_not_enforced", "clock_needs_system_call"];
        if result.findings.iter().any(|note| no_proof.contains(&note.id.as_str())) {
            println!("SKIP: {clock:?}: nothing shows here that reading it is no system call");
            continue;
        }
        assert_accounts(&result);
        let thread = &result.threads[0];
        assert!(result.complete, "{clock:?}: {:?}", result.findings);
        assert_eq!((thread.expected, thread.clock), (200, Some(clock)));
        assert!(
            (150_000_000..5_000_000_000).contains(&thread.duration_ns),
            "{clock:?}: {}",
            thread.duration_ns
        );
        let began = thread.started_monotonic_ns.unwrap();
        let now = now_ns(rustix::time::ClockId::Monotonic);
        assert!(
            began < now && now - began < 60_000_000_000,
            "{clock:?}: {began} at {now}"
        );
    }
}

#[test]
fn without_a_schedule_no_wake_up_is_missed() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let result = with_a_stall(&changed(request(MeasurementKind::Latency, 1_000, &stop), |lane| {
        lane.sleep = Sleep::For;
    }));
    let thread = &result.threads[0];
    assert!(result.complete && thread.schedule.is_none() && thread.missed == 0);
    // Each wake-up reduces the window by its lateness, and the stall took a third of it.
    assert!(thread.expected < 800 && thread.expected > 20, "{}", thread.expected);
    assert!(thread.max_ns.unwrap() >= 200_000_000);
    assert!(thread.jitter.as_ref().unwrap().longer_ns >= 200_000_000);
}

#[test]
fn a_run_makes_the_requested_number_of_wake_ups() {
    let _alone = alone();
    for sleep in [Sleep::Until, Sleep::For] {
        let stop = AtomicBool::new(false);
        let request = changed(request(MeasurementKind::Latency, 60_000, &stop), |lane| {
            (lane.window_end, lane.sleep) = (LaneLifetime::Loops(57), sleep);
        });
        let result = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
        assert_accounts(&result);
        assert!(result.complete);
        assert_eq!(result.threads[0].expected, 57, "{sleep:?}");
        assert!(result.duration_ns < 10_000_000_000);
    }
}

#[test]
fn cpus_have_their_own_periods_and_phases() {
    let _alone = alone();
    if allowed().len() < 2 {
        println!("SKIP: cpus_have_their_own_periods_and_phases: there is only one CPU");
        return;
    }
    let stop = AtomicBool::new(false);
    let mut place = 0;
    let request = changed(on_all_cpus(MeasurementKind::Latency, 300, &stop), |lane| {
        lane.interval_ns += place * 500_000;
        lane.phase_ns = place * 3_000_000;
        lane.window_end = LaneLifetime::Time(Duration::from_millis(300 + 300 * place));
        place += 1;
    });
    let result = run(&request, &root::Root::live(), &mut |progress| {
        assert_eq!(progress.threads.len(), request.lanes.len());
    })
    .unwrap();
    assert_accounts(&result);
    for (place, thread) in (0_u64..).zip(&result.threads) {
        let interval = 1_000_000 + place * 500_000;
        assert_eq!(thread.interval_ns, Some(interval));
        assert_eq!(
            thread.expected,
            300_000_000 * (1 + place) / interval,
            "a life time of its own"
        );
        assert_eq!(
            thread.started_monotonic_ns.unwrap() - result.threads[0].started_monotonic_ns.unwrap(),
            place * 3_000_000
        );
    }
}

#[test]
fn the_window_starts_at_a_whole_second_of_the_clock() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let mut request = changed(request(MeasurementKind::Latency, 50, &stop), |lane| {
        lane.clock = Clock::Realtime
    });
    request.whole_second = Some(250_000_000);
    let result = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
    let offset = now_ns(rustix::time::ClockId::Realtime) - now_ns(rustix::time::ClockId::Monotonic);
    let phase = (result.threads[0].started_monotonic_ns.unwrap() + offset) % 1_000_000_000;
    // Two clocks cannot be read at the same time.
    assert!(phase.abs_diff(250_000_000) < 50_000_000, "{phase}");
    assert_eq!(result.threads[0].expected, 50);
}

#[test]
fn requested_policies_are_granted_or_refused() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    for policy in [Policy::Batch, Policy::Idle] {
        let request = changed(request(MeasurementKind::Latency, 50, &stop), |lane| {
            lane.policy = policy
        });
        assert_eq!(
            run(&request, &root::Root::live(), &mut |_| {}).unwrap().threads[0].policy,
            policy
        );
    }
    let deadline = changed(request(MeasurementKind::Latency, 50, &stop), |lane| {
        lane.policy = Policy::Deadline;
        lane.deadline = Deadline {
            runtime_ns: 200_000,
            period_ns: 1_000_000,
        };
    });
    // The CPU may share its root domain or have its own.
    match run(&deadline, &root::Root::live(), &mut |_| {}) {
        Ok(result) => assert_eq!(result.threads[0].policy, Policy::Deadline),
        Err(error) => {
            assert!(
                matches!(&error, MeasureError::Deadline { cpu, errno: libc::EPERM, .. } if one_cpu().contains(*cpu)),
                "{error}"
            );
            assert!(error.to_string().contains("; "), "what to do next: {error}");
        }
    }
}

/// Writes the hit to a pipe, because the sampler is another process.
struct PipeBreakAction(OwnedFd);

impl BreakAction for PipeBreakAction {
    fn hit(&self, hit: &BreakSample) {
        let _ = rustix::io::write(&self.0, &hit.value_ns.to_ne_bytes());
    }
}

#[test]
fn the_first_sample_above_the_limit_ends_the_run() {
    let _alone = alone();
    for kind in [MeasurementKind::Latency, MeasurementKind::Noise] {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let reported = PipeBreakAction(writer);
        let stop = AtomicBool::new(false);
        let result = with_a_stall(&MeasureRequest {
            break_at: Some(Break {
                limit_ns: 150_000_000,
                trip: Some(&reported),
            }),
            system_calls: SystemCalls::Enforced,
            ..on_all_cpus(kind, 60_000, &stop)
        });
        drop(reported);
        let mut bytes = Vec::new();
        std::fs::File::from(reader).read_to_end(&mut bytes).unwrap();
        let broke = result
            .broke
            .unwrap_or_else(|| panic!("{kind:?}: {:?}", result.findings));
        assert!(!result.complete && broke.value_ns >= 150_000_000 && broke.limit_ns == 150_000_000);
        assert!(
            result.findings.iter().any(|note| note.id == "threshold_hit"),
            "{:?}",
            result.findings
        );
        let thread = result.threads.iter().find(|thread| thread.cpu == broke.cpu).unwrap();
        assert_eq!(broke.kind, kind);
        // Counter ticks are converted with the slope of the whole run.
        assert!(
            thread.max_ns.unwrap().abs_diff(broke.value_ns) <= broke.value_ns / 1_000,
            "{kind:?} {broke:?}"
        );
        assert!(result.threads.iter().all(|thread| thread.own.is_some()));
        let values: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|chunk| u64::from_ne_bytes(chunk.try_into().unwrap()))
            .collect();
        assert!(!values.is_empty() && values.len() <= allowed().len());
        assert!(values.iter().all(|value| *value >= 150_000_000), "{values:?}");
    }
}

/// A lane that sleeps for a long time is not late and would otherwise run on for a minute.
#[test]
fn a_sample_above_the_limit_on_one_cpu_ends_the_run_on_all() {
    let _alone = alone();
    if allowed().len() < 2 {
        println!("SKIP: a_sample_above_the_limit_on_one_cpu_ends_the_run_on_all: there is only one CPU");
        return;
    }
    let stop = AtomicBool::new(false);
    let mut place = 0;
    let lanes = changed(on_all_cpus(MeasurementKind::Latency, 20_000, &stop), |lane| {
        lane.interval_ns = if place == 0 { 1_000_000 } else { 9_000_000_000 };
        place += 1;
    });
    let began = std::time::Instant::now();
    let result = with_a_stall(&MeasureRequest {
        break_at: Some(Break {
            limit_ns: 150_000_000,
            trip: None,
        }),
        ..lanes
    });
    assert_eq!(result.broke.unwrap().cpu, result.threads[0].cpu);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(result.threads[1].expected <= 1, "{:?}", result.threads[1]);
}

#[test]
fn samples_below_the_limit_do_not_end_the_run() {
    let _alone = alone();
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let reported = PipeBreakAction(writer);
    let stop = AtomicBool::new(false);
    let result = run(
        &MeasureRequest {
            break_at: Some(Break {
                limit_ns: 3_600_000_000_000,
                trip: Some(&reported),
            }),
            ..request(MeasurementKind::Latency, 200, &stop)
        },
        &root::Root::live(),
        &mut |_| {},
    )
    .unwrap();
    drop(reported);
    let mut bytes = Vec::new();
    std::fs::File::from(reader).read_to_end(&mut bytes).unwrap();
    assert!(bytes.is_empty() && result.complete && result.broke.is_none());
    assert_eq!(result.threads[0].expected, 200);
}

#[test]
fn a_run_proves_a_bound_that_matches_its_length() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let result = with_a_stall(&changed(request(MeasurementKind::Latency, 1_000, &stop), |lane| {
        lane.claim = Some(Claim {
            limit_ns: 100_000_000,
            at_most: 1e-6,
        });
    }));
    let proof = result.threads[0].proof.as_ref().unwrap();
    // In 0.3 s, the activations of the first 0.2 s were more than 0.1 s late, and one of them was sampled.
    assert_eq!(proof.trials, Some(1_000));
    assert!((150..500).contains(&proof.above), "{proof:?}");
    let share = proof.above as f64 / 1_000.0;
    assert!(proof.bound > share && proof.bound < share + 0.05, "{proof:?}");
    assert_eq!(proof.claim.unwrap().verdict, ClaimVerdict::Refuted);

    let quiet = run(
        &request(MeasurementKind::Latency, 100, &stop),
        &root::Root::live(),
        &mut |_| {},
    )
    .unwrap();
    let (thread, proof) = (&quiet.threads[0], quiet.threads[0].proof.as_ref().unwrap());
    assert_eq!((Some(proof.limit_ns), proof.above), (thread.max_ns, 0));
    assert!((proof.bound - 0.0295).abs() < 0.0001, "3 in 100: {proof:?}");

    let noise = with_a_stall(&changed(request(MeasurementKind::Noise, 1_000, &stop), |lane| {
        lane.claim = Some(Claim {
            limit_ns: 200_000_000,
            at_most: 1_000.0,
        });
    }));
    let proof = noise.threads[0].proof.as_ref().unwrap();
    assert!(
        proof.trials.is_none() && proof.above >= 1 && proof.bound > 2.0,
        "{proof:?}"
    );
    assert_eq!(proof.claim.unwrap().verdict, ClaimVerdict::Shown);
}

#[test]
fn noise_next_to_latency_marks_our_own_wake_ups() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    // Every wake-up is listed, so that the test can check all of them.
    let request = changed(request(MeasurementKind::All, 1_000, &stop), |lane| {
        lane.spike_ns = Some(1)
    });
    let result = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
    assert_accounts(&result);
    assert!(result.complete && result.kind == MeasurementKind::All);
    let [latency, noise] = &result.threads[..] else {
        panic!("{:?}", result.threads)
    };
    assert_eq!(
        (latency.kind, noise.kind),
        (MeasurementKind::Latency, MeasurementKind::Noise)
    );
    if latency.policy != Policy::Fifo {
        println!("SKIP: both_at_once: no real-time policy here, so neither stands above the other");
        return;
    }
    let start = latency.started_monotonic_ns.unwrap();
    let spikes = latency.spikes.as_ref().unwrap();
    let wakes: Vec<u64> = spikes.iter().map(|spike| start + spike.at_ns + spike.late_ns).collect();
    let gaps = noise.gaps.as_ref().unwrap();
    // Of more gaps than the list holds, the longest are listed.
    assert_eq!(gaps.len() as u64, noise.recorded.min(measure::MAX_GAPS as u64));
    let unlisted = noise.recorded - gaps.len() as u64;
    let shortest = gaps.iter().map(|gap| gap.duration_ns).min().unwrap();
    let began = noise.started_monotonic_ns.unwrap();
    let (mut inside, mut wrong) = (0, Vec::new());
    for gap in gaps {
        let (from, to) = (began + gap.at_ns, began + gap.at_ns + gap.duration_ns);
        let hit = |slack: u64| {
            let hits = wakes.iter().filter(|wake| (from - slack..=to + slack).contains(*wake));
            hits.count()
        };
        // The two threads read the clock separately, so the edges of a gap are uncertain.
        let is_own = gap.label == Some(GapLabel::OwnWakeUp);
        if (is_own && hit(5_000) == 0) || (!is_own && hit(0) > 0 && gap.duration_ns > 10_000) {
            wrong.push(*gap);
        }
        inside += if is_own { hit(0) } else { 0 };
    }
    assert!(
        wrong.len() * 50 <= gaps.len(),
        "{} of {}: {wrong:?}",
        wrong.len(),
        gaps.len()
    );
    // While a wake-up is handled, the other thread cannot run.
    assert!(inside * 10 >= wakes.len() * 8, "{inside} of {}", wakes.len());
    let own: Vec<u64> = gaps
        .iter()
        .filter(|gap| gap.label == Some(GapLabel::OwnWakeUp))
        .map(|gap| gap.duration_ns)
        .collect();
    let own_unlisted = noise.own_wake_ups.unwrap() - own.len() as u64;
    assert!(own_unlisted <= unlisted, "{own_unlisted} of {unlisted}");
    let all: u64 = gaps.iter().map(|gap| gap.duration_ns).sum();
    let sum: u64 = own.iter().sum();
    // Each gap is rounded to nanoseconds separately.
    let is_sum = |total: u64, listed: u64, unlisted: u64| {
        total + noise.recorded >= listed && total <= listed + unlisted * shortest + noise.recorded
    };
    assert!(is_sum(noise.own_ns.unwrap(), sum, own_unlisted));
    assert!(is_sum(noise.stolen_ns.unwrap(), all - sum, unlisted - own_unlisted));
}
