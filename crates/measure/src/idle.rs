//! The request that keeps CPUs out of deep idle states while an open file exists.

use crate::os::Errno;
use rustix::fs::{Mode, OFlags, open};
use std::os::fd::OwnedFd;

/// Where the kernel takes the request (`Documentation/power/pm_qos_interface.rst`): a 32-bit number of
/// microseconds, in force until the file is closed, however the process ends.
pub(crate) const DEVICE: &str = "/dev/cpu_dma_latency";

/// Holds a request of 0 us for as long as the value lives.
pub(crate) fn hold() -> Result<OwnedFd, Errno> {
    let file = open(DEVICE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(rustix::io::Errno::raw_os_error)?;
    match rustix::io::write(&file, &0_i32.to_ne_bytes()) {
        Ok(4) => Ok(file),
        Ok(_) => Err(libc::EIO),
        Err(errno) => Err(errno.raw_os_error()),
    }
}
