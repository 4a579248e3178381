//! Valid and refused requests, and how the sampler is moved to its CPU.

use super::{allowed, alone, assert_accounts, changed, on_all_cpus, request};
use machine::{CpuId, CpuSet, Policy};
use measure::{
    Break, IdleStates, Lane, LaneLifetime, MeasureError, MeasureRequest, Measurement, MeasurementKind, Sleep, run,
};
use root::Root;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[test]
fn the_result_has_the_granted_policy() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let result = run(
        &request(MeasurementKind::Latency, 100, &stop),
        &root::Root::live(),
        &mut |_| {},
    )
    .unwrap();
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
        run(
            &request(MeasurementKind::Noise, 100, &stop),
            &root::Root::live(),
            &mut |_| {}
        )
        .unwrap()
        .threads[0]
            .policy,
        Policy::Other
    );
}

#[test]
fn impossible_requests_are_refused_with_a_reason() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let base = || request(MeasurementKind::Latency, 100, &stop);
    let error = |request: MeasureRequest<'_>| run(&request, &root::Root::live(), &mut |_| {}).unwrap_err();
    let absent = changed(base(), |lane| lane.cpu = CpuId(60_000));
    let Err(MeasureError::Offline { cpu, online }) = run(&absent, &root::Root::live(), &mut |_| {}) else {
        panic!("CPU 60000 is there")
    };
    assert!(cpu == CpuId(60_000) && !online.is_empty());
    let second = MeasureRequest {
        whole_second: Some(u64::MAX),
        ..base()
    };
    let nobody = MeasureRequest {
        lanes: Vec::new(),
        ..base()
    };
    let never = MeasureRequest {
        break_at: Some(Break {
            limit_ns: 0,
            trip: None,
        }),
        ..base()
    };
    for request in [second, nobody, never] {
        assert!(matches!(error(request), MeasureError::Request { .. }));
    }
    let changes: [fn(&mut Lane); 14] = [
        |lane| lane.window_end = LaneLifetime::Time(Duration::ZERO),
        |lane| lane.window_end = LaneLifetime::Time(Duration::MAX),
        |lane| lane.window_end = LaneLifetime::Loops(0),
        |lane| lane.window_end = LaneLifetime::Loops(u64::MAX),
        |lane| lane.interval_ns = 0,
        |lane| lane.interval_ns = u64::MAX,
        |lane| lane.phase_ns = u64::MAX,
        |lane| (lane.sleep, lane.phase_ns) = (Sleep::For, 1),
        |lane| (lane.kind, lane.window_end) = (MeasurementKind::Noise, LaneLifetime::Loops(1)),
        |lane| lane.kind = MeasurementKind::All,
        |lane| lane.threshold_ns = 0,
        |lane| lane.priority = 100,
        |lane| lane.policy = Policy::Deadline,
        |lane| lane.policy = Policy::Ext,
    ];
    for change in changes {
        let error = error(changed(base(), change));
        assert!(matches!(error, MeasureError::Request { .. }), "{error}");
    }
    let refuse = |_pid: u32| Err(root::Failure::usage("cannot join", "no such cgroup", "name another"));
    let joining = MeasureRequest {
        join: Some(&refuse),
        ..base()
    };
    assert!(matches!(error(joining), MeasureError::Join { why } if why == "no such cgroup"));
}

#[test]
fn the_sampler_joins_its_cgroup_before_it_has_threads() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let seen = Mutex::new(None);
    let join = |pid: u32| {
        let threads = Root::live().names(&format!("/proc/{pid}/task")).unwrap().unwrap();
        *seen.lock().unwrap() = Some((pid, threads.len()));
        Ok(())
    };
    let mut request = request(MeasurementKind::Latency, 100, &stop);
    request.join = Some(&join);
    request.idle_states = IdleStates::Leave;
    let mut pid = 0;
    run(&request, &root::Root::live(), &mut |progress| {
        pid = progress.sampler_pid
    })
    .unwrap();
    assert_eq!(*seen.lock().unwrap(), Some((pid, 1)));
    assert_eq!(
        Root::live().kind(&format!("/proc/{pid}")).unwrap(),
        None,
        "the sampler is gone"
    );
}

#[test]
fn a_stopped_sampler_does_not_count_as_starved() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let stopped = |pid: u32| {
        // SAFETY: a plain call for a child of this process.
        match unsafe { libc::kill(pid.cast_signed(), libc::SIGSTOP) } {
            0 => Ok(()),
            _ => Err(root::Failure::usage("cannot join", "it cannot be stopped", "look")),
        }
    };
    let mut request = request(MeasurementKind::Latency, 100, &stop);
    request.join = Some(&stopped);
    let error = run(&request, &root::Root::live(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, MeasureError::Stuck { .. }), "{error}");
}

#[test]
fn every_cpu_can_be_measured_at_once() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let request = on_all_cpus(MeasurementKind::Latency, 200, &stop);
    let result = run(&request, &root::Root::live(), &mut |_| {}).unwrap();
    assert_accounts(&result);
    assert_eq!(
        result.threads.iter().map(|thread| thread.cpu).collect::<CpuSet>(),
        allowed()
    );
    let text = serde_json::to_string(&result).unwrap();
    assert!(text.contains("\"schema\":\"quietcore.measure/1\""));
    let back: Measurement = serde_json::from_str(&text).unwrap();
    for (mut there, mut back) in result.threads.into_iter().zip(back.threads) {
        // JSON may lose the last digit of a fraction.
        for thread in [&mut there, &mut back] {
            (thread.mean_ns, thread.stddev_ns) = (None, None);
            if let Some(proof) = &mut thread.proof {
                proof.bound = 0.0;
            }
            let jitter = thread.jitter.as_mut().map(|jitter| &mut jitter.distance);
            for distribution in thread.schedule.as_mut().into_iter().chain(jitter) {
                (distribution.mean_ns, distribution.stddev_ns) = (None, None);
            }
        }
        assert_eq!(there, back);
    }
}
