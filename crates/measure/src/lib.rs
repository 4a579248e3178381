//! Measures what a CPU does to a program: wake-up latency, and gaps in a busy loop.
//!
//! A child process samples on the measured CPUs; the caller collects on the others. See [`run`].

mod environment;
mod error;
pub mod load;
mod progress;
mod request;
mod result;

pub use environment::Environment;
pub use error::MeasureError;
pub use progress::{Phase, Progress, ThreadProgress};
pub use request::{IdleStates, Join, Kind, Request, SystemCalls};
pub use result::{Counter, Gap, GapLabel, Level, Measurement, Note, Own, SCHEMA, ThreadResult};

/// Most gaps that a result lists per CPU; the histogram counts all.
pub const GAPS_KEPT: usize = 10_000;

/// Measures, and calls `progress` about every 50 ms on the calling thread.
///
/// # Errors
/// See [`MeasureError`].
pub fn run(request: &Request<'_>, progress: &mut dyn FnMut(&Progress)) -> Result<Measurement, MeasureError> {
    let _ = (request, progress);
    Err(MeasureError::Os {
        doing: "not there yet",
        errno: 38,
    })
}
