//! Requests that every CPU stays out of idle states with a long exit latency, for as long as a file is open.

use crate::RootError;
use crate::error::{OnPath, failed};
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;

/// The file of the request (`Documentation/power/pm_qos_interface.rst`): a 32-bit number of microseconds, active until
/// the file is closed, however the process ends.
pub const DEVICE: &str = "/dev/cpu_dma_latency";

/// Requests that no CPU needs longer than `microseconds` to leave an idle state. The request ends when the value is dropped.
///
/// # Errors
/// The errno of open or write; ENOENT if the kernel has no such file.
pub fn request(microseconds: i32) -> Result<OwnedFd, RootError> {
    let file = rustix::fs::open(DEVICE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).on(DEVICE, "open")?;
    match rustix::io::write(&file, &microseconds.to_ne_bytes()) {
        Ok(4) => Ok(file),
        Ok(_) => Err(failed(DEVICE, "write", rustix::io::Errno::IO)),
        Err(errno) => Err(failed(DEVICE, "write", errno)),
    }
}
