//! Summarises a measurement of several CPUs, or a thread of it, in a few numbers.

use measure::{Measurement, ThreadResult};

/// The largest sample of all CPUs, without the tool's own overhead.
pub(crate) fn worst(measurement: &Measurement) -> Option<u64> {
    measurement
        .threads
        .iter()
        .filter_map(|thread| thread.stolen_max_ns.or(thread.max_ns))
        .max()
}

/// The largest 99.9th percentile of all CPUs.
pub(crate) fn tail(measurement: &Measurement) -> Option<u64> {
    measurement.threads.iter().filter_map(|thread| thread.p999_ns).max()
}

/// Share of the CPUs' time that others used, in percent; `None` if it was not counted.
pub(crate) fn stolen(measurement: &Measurement) -> Option<f64> {
    let whole: u64 = measurement.threads.iter().map(|thread| thread.duration_ns).sum();
    let stolen: Option<u64> = measurement.threads.iter().map(|thread| thread.stolen_ns).sum();
    stolen
        .filter(|_| whole > 0)
        .map(|stolen| stolen as f64 * 100.0 / whole as f64)
}

/// Gaps per second and CPU.
pub(crate) fn per_second(measurement: &Measurement) -> Option<f64> {
    let whole: u64 = measurement.threads.iter().map(|thread| thread.duration_ns).sum();
    let gaps: u64 = measurement.threads.iter().map(|thread| thread.expected).sum();
    (whole > 0).then(|| gaps as f64 * 1e9 / whole as f64)
}

/// Share of the window that others used, in percent; `None` if nothing was counted.
pub(crate) fn stolen_percent(thread: &ThreadResult) -> Option<f64> {
    let stolen = thread.stolen_ns?;
    (thread.duration_ns > 0).then(|| stolen as f64 * 100.0 / thread.duration_ns as f64)
}
