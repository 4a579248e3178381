//! Waits until a run ends: a command or process ends, the time is over, a signal arrives, or the search succeeds.

use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The interval between two drains of the buffers: a CPU writes at most a few hundred KiB in that time.
const PAUSE: Duration = Duration::from_millis(20);

/// What ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// The program ended.
    Ended,
    /// The time was over.
    Time,
    /// A signal ended it.
    Signal,
    /// The search of the run succeeded.
    Found,
}

/// Waits, and calls `each` every 20 ms, first immediately. `each` breaks when the search succeeds. Without a `duration` there
/// is no time limit.
///
/// # Errors
/// Errors of `each`.
pub fn watch_loop<E>(
    duration: Option<Duration>,
    stop: &AtomicBool,
    mut has_ended: impl FnMut() -> bool,
    mut each: impl FnMut() -> Result<ControlFlow<()>, E>,
) -> Result<EndReason, E> {
    let start = Instant::now();
    loop {
        // The kernel's data about a process disappears when it is reaped, so read it before.
        if each()?.is_break() {
            return Ok(EndReason::Found);
        }
        if has_ended() {
            return Ok(EndReason::Ended);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(EndReason::Signal);
        }
        let left = duration.map_or(PAUSE, |duration| duration.saturating_sub(start.elapsed()));
        if left.is_zero() {
            return Ok(EndReason::Time);
        }
        std::thread::sleep(left.min(PAUSE));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_first_end_condition_ends_the_loop() {
        let stop = AtomicBool::new(false);
        let on = || Ok::<_, ()>(ControlFlow::Continue(()));
        let short = Some(Duration::from_millis(1));
        assert_eq!(watch_loop(short, &stop, || false, on), Ok(EndReason::Time));
        assert_eq!(watch_loop(None, &stop, || true, on), Ok(EndReason::Ended));
        assert_eq!(
            watch_loop(None, &stop, || true, || Ok::<_, ()>(ControlFlow::Break(()))),
            Ok(EndReason::Found)
        );
        assert_eq!(watch_loop(short, &stop, || true, || Err("full")), Err("full"));
        let looks = Cell::new(0);
        let third = || {
            looks.set(looks.get() + 1);
            looks.get() == 3
        };
        assert_eq!(watch_loop(None, &stop, third, on), Ok(EndReason::Ended));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(watch_loop(short, &stop, || false, on), Ok(EndReason::Signal));
    }
}
