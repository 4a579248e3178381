//! Empties the ring buffers of a trace while it runs.

use crate::trace_clock::TraceClock;
use events::Event;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use trace::{Drained, Recorder, TraceError};

/// How long one emptying may take where events come as fast as they are read.
const AT_ONCE: Duration = Duration::from_millis(200);
/// Events that are joined before the buffers are looked at again: while they are, the kernel's must not fill.
const SOME: usize = 10_000;

/// Takes out of the buffers what is there, and gives out what lies before that time. Until when all of it was given out.
///
/// # Errors
/// A buffer that cannot be read.
pub(crate) fn take(
    recorder: &mut Recorder,
    until_ns: u64,
    clock: TraceClock,
    mut each: impl FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<u64, TraceError> {
    let (start, mut passed_ns) = (Instant::now(), 0);
    loop {
        let drained = recorder.drain(|| clock.now_ns())?;
        let waited = recorder.waiting();
        let until_ns = until_ns.min(recorder.told_ns());
        let is_all = recorder.take(Some(until_ns), SOME, &mut each);
        if is_all {
            passed_ns = until_ns;
        }
        if (drained == Drained::Empty && is_all) || start.elapsed() >= AT_ONCE {
            return Ok(passed_ns);
        }
        if is_all && recorder.waiting() == waited {
            recorder.is_full();
            return Ok(passed_ns);
        }
    }
}
