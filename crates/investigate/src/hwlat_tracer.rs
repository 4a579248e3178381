//! Implements `--hwlat`: after the watch, the kernel's hwlat tracer searches for time that the hardware takes.
//!
//! The tracer disables interrupts on these CPUs for half of its time, so it runs only on request, and after the probe. Its
//! result shows that such latency occurs on this machine, not which gap it was. So it never changes the class of a gap.

use crate::function_tracer::tracer;
use crate::trace_clock;
use apply::tracing::{TracingSetting, TracingSettings};
use blame::{Hwlat, HwlatReport};
use machine::{CpuId, CpuSet, Machine};
use measure::Note;
use root::Failure;
use session::Session;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trace::{PageAccess, PageMemory, Recorder};
use tracing::instance::{TraceInstance, found};
use tracing::refusal::untraceable;

/// The name in `available_tracers`.
const TRACER: &str = "hwlat";
/// One record per window, which is a second.
const BUFFER_KIB: u64 = 64;
const MEMORY: PageMemory = PageMemory {
    undelivered_bytes: 1 << 20,
    kept_pages: 0,
};

/// Runs the tracer. The report has the reason if it could not run. The note reports an instance that could not be removed.
pub fn look_for_hwlat(
    session: &Session,
    machine: &Machine,
    cpus: &CpuSet,
    time: Duration,
    threshold: Duration,
) -> (HwlatReport, Option<Note>) {
    // The kernel takes whole microseconds, and zero would select its default.
    let threshold_us = u64::try_from(threshold.as_micros()).unwrap_or(u64::MAX).max(1);
    let mut report = HwlatReport {
        threshold_ns: threshold_us.saturating_mul(1_000),
        ..HwlatReport::default()
    };
    match look(session, machine, cpus, time, &mut report) {
        Ok(left_behind) => {
            report.by = Some(TRACER);
            (report, left_behind)
        }
        Err(error) => {
            report.why = Some(error.reason());
            (report, None)
        }
    }
}

fn look(
    session: &Session,
    machine: &Machine,
    cpus: &CpuSet,
    time: Duration,
    report: &mut HwlatReport,
) -> Result<Option<Note>, Failure> {
    let refused = |error| untraceable(session, error);
    let root = session.root();
    let tracefs = found(session)?;
    tracer(root, &tracefs, TRACER, "CONFIG_HWLAT_TRACER")?;
    let catalogue = trace::catalogue(root, &tracefs.file("."), &[]).map_err(refused)?;
    let number = |name: &str| -> Result<Option<u64>, Failure> {
        let text = root.value(&tracefs.file(&format!("hwlat_detector/{name}")))?;
        Ok(text.and_then(|text| text.parse().ok()))
    };
    (report.window_us, report.width_us) = (number("window")?, number("width")?);
    let mut instance = TraceInstance::create(
        session,
        found(session)?,
        &instance_settings(machine, cpus, report.threshold_ns / 1_000),
    )?;
    let numbers: Vec<CpuId> = cpus.iter().collect();
    let mut recorder = Recorder::open(
        &instance.file("."),
        &numbers,
        catalogue.layout,
        MEMORY,
        PageAccess::Read,
    )
    .map_err(refused)?;
    let (stop, start) = (session::stop_flag(), Instant::now());
    while start.elapsed() < time && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(time.saturating_sub(start.elapsed()).min(Duration::from_millis(100)));
    }
    report.duration_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    instance.stop()?;
    recorder.ends();
    recorder.drain(|| u64::MAX).map_err(refused)?;
    if let Some(mut hwlat) = Hwlat::new(&catalogue.formats, cpus.iter().map(|cpu| cpu.0)) {
        recorder.take(None, usize::MAX, |event| {
            hwlat.event(&event);
            ControlFlow::Continue(())
        });
        report.cpus = hwlat.finish();
    }
    // An instance with open files cannot be removed.
    drop(recorder);
    Ok(instance.end())
}

fn instance_settings(machine: &Machine, cpus: &CpuSet, threshold_us: u64) -> TracingSettings {
    let mut own = vec![TracingSetting::must(
        "tracing_cpumask",
        cpus.to_mask(machine.topology.width()),
    )];
    own.extend(trace_clock::settings(None));
    own.push(TracingSetting::may("buffer_size_kb", BUFFER_KIB.to_string()));
    own.push(TracingSetting::must("tracing_on", "1"));
    own.push(TracingSetting::must("current_tracer", TRACER));
    TracingSettings {
        shared: vec![
            // Without it one thread moves from CPU to CPU, and visits each less often.
            TracingSetting::may("hwlat_detector/mode", "per-cpu"),
            TracingSetting::must("tracing_thresh", threshold_us.to_string()),
        ],
        own,
        ..TracingSettings::default()
    }
}
