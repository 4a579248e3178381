//! Implements `--tracer`: a kernel tracer measures instead of our own samplers, in a temporary instance of tracefs.

use crate::instance::{TraceInstance, found};
use apply::tracing::{TracingSetting, TracingSettings};
use machine::CpuSet;
use measure::{KernelTracer, MeasureRequest};
use root::{Failure, Root, Tracefs};
use session::Session;
use std::time::Duration;

/// Buffer size per CPU for unread samples.
const BUFFER_KIB: u32 = 1024;

/// Starts a tracer on the CPUs of a request, with its period or threshold.
///
/// # Errors
/// Periods that the tracer does not support, a kernel without it, another process that uses it, no permission.
pub fn start<'s>(
    session: &'s Session,
    method: KernelTracer,
    request: &MeasureRequest,
    time: Duration,
) -> Result<TraceInstance<'s>, Failure> {
    let micros = whole_micros(method, time)?;
    let tracefs = found(session)?;
    let root = session.root();
    let read = |name: &str| root.value(&tracefs.file(name));
    let available = read("available_tracers")?.unwrap_or_default();
    if !available.split_whitespace().any(|tracer| tracer == method.tracer()) {
        return Err(Failure::unable(
            format!("--tracer {}", method.tracer()),
            format!(
                "this kernel has no such tracer: {} is not set (it has: {available})",
                method.config()
            ),
            "measure without --tracer, or boot a kernel with that option (Debian: the -rt ones)",
        ));
    }
    if let Some(place) = running_tracer(root, &tracefs)? {
        return Err(Failure::conflict(
            format!("--tracer {}", method.tracer()),
            format!("{place} runs a tracer whose settings are shared by all users"),
            "stop what measures there (rtla?), or measure without --tracer",
        ));
    }
    if let Some(option) = unsuitable(&read("osnoise/options")?.unwrap_or_default()) {
        return Err(Failure::conflict(
            format!("--tracer {}", method.tracer()),
            format!(
                "another program has set {option} in {}",
                Tracefs::display_path("osnoise/options")
            ),
            format!("echo DEFAULTS > {}", Tracefs::display_path("osnoise/options")),
        ));
    }
    TraceInstance::create(session, tracefs, &instance_settings(method, &request.cpus(), micros))
}

fn instance_settings(method: KernelTracer, cpus: &CpuSet, micros: u64) -> TracingSettings {
    let mut shared = vec![
        TracingSetting::must("osnoise/cpus", cpus.to_string()),
        TracingSetting::must("osnoise/stop_tracing_us", "0"),
        TracingSetting::must("osnoise/stop_tracing_total_us", "0"),
    ];
    let mut own = vec![
        TracingSetting::may("buffer_size_kb", BUFFER_KIB.to_string()),
        TracingSetting::must("trace_clock", "mono"),
    ];
    match method {
        KernelTracer::Timerlat => {
            shared.push(TracingSetting::must("osnoise/timerlat_period_us", micros.to_string()));
            shared.push(TracingSetting::may("osnoise/print_stack", "0"));
        }
        KernelTracer::Osnoise => {
            shared.push(TracingSetting::must("tracing_thresh", micros.to_string()));
            own.push(TracingSetting::must("events/osnoise/sample_threshold/enable", "1"));
        }
    }
    own.push(TracingSetting::must("current_tracer", method.tracer()));
    TracingSettings {
        shared,
        own,
        ..TracingSettings::default()
    }
}

/// The period or threshold in microseconds, as the tracers require (`timerlat_period_us`: 100 to 1,000,000).
fn whole_micros(method: KernelTracer, time: Duration) -> Result<u64, Failure> {
    let (name, range) = match method {
        KernelTracer::Timerlat => ("--interval", 100..=1_000_000),
        KernelTracer::Osnoise => ("--threshold", 1..=1_000_000),
    };
    let ns = machine::nanoseconds(time);
    let micros = ns / 1_000;
    match ns.is_multiple_of(1_000) && range.contains(&micros) {
        true => Ok(micros),
        false => Err(Failure::usage(
            format!("{name} {time:?}"),
            format!(
                "the {} tracer accepts whole microseconds from {} us to {} us",
                method.tracer(),
                range.start(),
                range.end()
            ),
            "use such a time, or measure without --tracer",
        )),
    }
}

/// The directory where one of the two tracers is already running: they share threads and settings.
fn running_tracer(root: &Root, tracefs: &Tracefs) -> Result<Option<String>, Failure> {
    let instances = root.names(&tracefs.file("instances"))?.unwrap_or_default();
    let places = instances.iter().map(|name| format!("instances/{name}/"));
    for place in places.chain([String::new()]) {
        let now = root.value(&tracefs.file(&format!("{place}current_tracer")))?;
        if matches!(now.as_deref(), Some("timerlat" | "osnoise")) {
            return Ok(Some(Tracefs::display_path(place.trim_end_matches('/'))));
        }
    }
    Ok(None)
}

/// An option with which the tracer would produce no samples, or panic the kernel.
fn unsuitable(options: &str) -> Option<&str> {
    let mut words = options.split_whitespace();
    words.find(|word| matches!(*word, "NO_OSNOISE_WORKLOAD" | "PANIC_ON_STOP"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracer_times_are_whole_microseconds_in_range() {
        let micros = |method, ns| whole_micros(method, Duration::from_nanos(ns)).ok();
        assert_eq!(micros(KernelTracer::Timerlat, 1_000_000), Some(1_000));
        assert_eq!(micros(KernelTracer::Timerlat, 99_000), None);
        assert_eq!(micros(KernelTracer::Timerlat, 1_000_500), None);
        assert_eq!(micros(KernelTracer::Timerlat, 1_000_001_000), None);
        assert_eq!(micros(KernelTracer::Osnoise, 1_000), Some(1));
        assert_eq!(micros(KernelTracer::Osnoise, 500), None);
    }

    #[test]
    fn unsuitable_tracer_options_are_found() {
        let usual = "NO_DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE";
        assert_eq!(unsuitable(usual), None);
        assert_eq!(
            unsuitable("NO_OSNOISE_WORKLOAD NO_PANIC_ON_STOP"),
            Some("NO_OSNOISE_WORKLOAD")
        );
        assert_eq!(unsuitable("OSNOISE_WORKLOAD PANIC_ON_STOP"), Some("PANIC_ON_STOP"));
        assert_eq!(unsuitable(""), None);
    }
}
