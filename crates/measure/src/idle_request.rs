//! Requests that no CPU enters a deep idle state while a measurement runs (`/dev/cpu_dma_latency`).

use crate::{IdleStates, MeasureError};
use std::os::fd::OwnedFd;

/// Places the request, which is active as long as the file is open. The inner error is the errno of a refusal that does not
/// prevent the measurement, 0 if nothing was requested.
///
/// # Errors
/// [`MeasureError::IdleStates`] if a required request is refused.
pub(crate) fn request(states: IdleStates) -> Result<Result<OwnedFd, i32>, MeasureError> {
    if states == IdleStates::Leave {
        return Ok(Err(0));
    }
    match root::latency::request(0) {
        Ok(file) => Ok(Ok(file)),
        Err(error) => match error.errno().unwrap_or(libc::EIO) {
            errno if states == IdleStates::Require => Err(MeasureError::IdleStates { errno }),
            errno => Ok(Err(errno)),
        },
    }
}
