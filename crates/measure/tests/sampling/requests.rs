//! What may be asked for, what is refused, and how the sampler gets to its place.

use crate::{allowed, alone, assert_accounts, request};
use machine::{CpuId, CpuSet, Policy};
use measure::{IdleStates, Kind, MeasureError, Measurement, Request, run};
use root::Root;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

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
            let jitter = thread.jitter.as_mut().map(|jitter| &mut jitter.distance);
            for distribution in thread.schedule.as_mut().into_iter().chain(jitter) {
                (distribution.mean_ns, distribution.stddev_ns) = (None, None);
            }
        }
        assert_eq!(there, back);
    }
}
