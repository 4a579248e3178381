//! The samplers on this machine: accounting with injected stalls, kills and cancellation; no system calls, no page
//! faults. No test depends on the speed of the machine.

mod accounting;
mod conduct;
mod requests;
mod waking;

use machine::CpuSet;
use measure::{Environment, Lane, MeasureRequest, Measurement, MeasurementKind, Progress};
use root::Root;
use std::sync::atomic::AtomicBool;
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

/// The highest CPU that this process may use. Most other work runs on lower ones.
fn one_cpu() -> CpuSet {
    allowed().last().into_iter().collect()
}

fn request(kind: MeasurementKind, for_ms: u64, stop: &AtomicBool) -> MeasureRequest<'_> {
    let duration = Duration::from_millis(for_ms);
    match kind {
        MeasurementKind::Latency => MeasureRequest::latency(one_cpu(), duration, environment(), stop),
        MeasurementKind::Noise => MeasureRequest::noise(one_cpu(), duration, environment(), stop),
        MeasurementKind::All => MeasureRequest::all(one_cpu(), duration, environment(), stop),
    }
}

/// Returns the request with every lane changed.
fn changed<'a>(mut request: MeasureRequest<'a>, change: impl FnMut(&mut Lane)) -> MeasureRequest<'a> {
    request.each(change);
    request
}

/// Returns a request with one lane of this kind on every CPU that this process may use.
fn on_all_cpus(kind: MeasurementKind, for_ms: u64, stop: &AtomicBool) -> MeasureRequest<'_> {
    let duration = Duration::from_millis(for_ms);
    match kind {
        MeasurementKind::Latency => MeasureRequest::latency(allowed(), duration, environment(), stop),
        MeasurementKind::Noise => MeasureRequest::noise(allowed(), duration, environment(), stop),
        MeasurementKind::All => MeasureRequest::all(allowed(), duration, environment(), stop),
    }
}

fn signal(progress: &Progress, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(progress.sampler_pid as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn assert_accounts(result: &Measurement) {
    for thread in &result.threads {
        assert_eq!(thread.expected, thread.recorded + thread.missed, "cpu {}", thread.cpu);
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
        let Some(over_time) = &thread.over_time else {
            assert!(thread.recorded == 0 || thread.stolen_ns == Some(0), "nothing came when");
            continue;
        };
        let parts = &over_time.values_ns;
        assert!(!parts.is_empty() && parts.len() <= 256, "{over_time:?}");
        assert!(over_time.begins_ns < thread.duration_ns, "{over_time:?}");
        match thread.kind {
            // Each part is rounded to nanoseconds separately.
            MeasurementKind::Noise => assert!(
                parts.iter().sum::<u64>().abs_diff(thread.stolen_ns.unwrap()) <= parts.len() as u64 + 1,
                "{over_time:?} {:?}",
                thread.stolen_ns
            ),
            _ => assert_eq!(parts.iter().max().copied(), thread.max_ns),
        }
    }
}
