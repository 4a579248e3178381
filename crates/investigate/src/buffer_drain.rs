//! Drains the ring buffers of a trace while it runs.

use crate::trace_clock::TraceClock;
use events::StreamItem;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use trace::{DrainEnd, Recorder, TraceError};

/// The maximum duration of one drain when events arrive as fast as they are read.
const AT_ONCE: Duration = Duration::from_millis(200);
/// The number of events joined before the buffers are read again: the kernel's buffers must not fill during the join.
const SOME: usize = 10_000;

/// Reads the buffers, and delivers the events before that time. Returns the time up to which all events were delivered.
///
/// # Errors
/// A buffer that cannot be read.
pub(crate) fn take(
    recorder: &mut Recorder,
    until_ns: u64,
    clock: TraceClock,
    mut each: impl FnMut(StreamItem<'_>) -> ControlFlow<()>,
) -> Result<u64, TraceError> {
    let (start, mut passed_ns) = (Instant::now(), 0);
    loop {
        let drained = recorder.drain(|| clock.now_ns())?;
        let waited = recorder.waiting();
        let until_ns = until_ns.min(recorder.read_until_ns());
        let is_all = recorder.take(Some(until_ns), SOME, &mut each);
        if is_all {
            passed_ns = until_ns;
        }
        if (drained == DrainEnd::Empty && is_all) || start.elapsed() >= AT_ONCE {
            return Ok(passed_ns);
        }
        if is_all && recorder.waiting() == waited {
            recorder.is_full();
            return Ok(passed_ns);
        }
    }
}
