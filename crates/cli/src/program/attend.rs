//! The wait for the end of what is looked at: a command or process, some time, a signal, or what was looked for.

use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the buffers may fill between two readings: a CPU writes a few hundred KiB meanwhile at the very most.
const PAUSE: Duration = Duration::from_millis(20);

/// What ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// The program ended.
    Ended,
    /// The time was over.
    Time,
    /// A signal told us to end.
    Signal,
    /// What was looked for came.
    Found,
}

/// Waits, and calls `each` again and again, first of all at once; it breaks when it has found what was looked for. Without a
/// `duration` the time never ends it.
///
/// # Errors
/// What `each` fails with.
pub fn attend<E>(
    duration: Option<Duration>,
    stop: &AtomicBool,
    mut has_ended: impl FnMut() -> bool,
    mut each: impl FnMut() -> Result<ControlFlow<()>, E>,
) -> Result<Until, E> {
    let begun = Instant::now();
    loop {
        // What the kernel tells of a process is gone when that has been buried, so it is looked at before.
        if each()?.is_break() {
            return Ok(Until::Found);
        }
        if has_ended() {
            return Ok(Until::Ended);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Until::Signal);
        }
        let left = duration.map_or(PAUSE, |duration| duration.saturating_sub(begun.elapsed()));
        if left.is_zero() {
            return Ok(Until::Time);
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
    fn whatever_comes_first_ends_it() {
        let stop = AtomicBool::new(false);
        let on = || Ok::<_, ()>(ControlFlow::Continue(()));
        let short = Some(Duration::from_millis(1));
        assert_eq!(attend(short, &stop, || false, on), Ok(Until::Time));
        assert_eq!(attend(None, &stop, || true, on), Ok(Until::Ended));
        assert_eq!(
            attend(None, &stop, || true, || Ok::<_, ()>(ControlFlow::Break(()))),
            Ok(Until::Found)
        );
        assert_eq!(attend(short, &stop, || true, || Err("full")), Err("full"));
        let looks = Cell::new(0);
        let third = || {
            looks.set(looks.get() + 1);
            looks.get() == 3
        };
        assert_eq!(attend(None, &stop, third, on), Ok(Until::Ended));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(attend(short, &stop, || false, on), Ok(Until::Signal));
    }
}
