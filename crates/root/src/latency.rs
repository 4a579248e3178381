//! The request that keeps every CPU out of idle states that take long to leave, for as long as a file is held.

use crate::RootError;
use rustix::fs::{Mode, OFlags};
use std::os::fd::OwnedFd;

/// Where the kernel takes the request (`Documentation/power/pm_qos_interface.rst`): a 32-bit number of
/// microseconds, in force until the file is closed, however the process ends.
pub const DEVICE: &str = "/dev/cpu_dma_latency";

/// Asks that no CPU needs longer than `microseconds` to leave an idle state. The request ends with the value.
///
/// # Errors
/// The errno of open or write; ENOENT where the kernel has no such file.
pub fn hold(microseconds: i32) -> Result<OwnedFd, RootError> {
    let failed = |doing, errno: rustix::io::Errno| RootError::from_io(DEVICE, doing, &errno.into());
    let file = rustix::fs::open(DEVICE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| failed("open", errno))?;
    match rustix::io::write(&file, &microseconds.to_ne_bytes()) {
        Ok(4) => Ok(file),
        Ok(_) => Err(failed("write", rustix::io::Errno::IO)),
        Err(errno) => Err(failed("write", errno)),
    }
}
