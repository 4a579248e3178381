//! Finds the kernel's tracing files, for benchmarks that read them during a measurement.

use std::ffi::CStr;
use std::io::Error;
use std::path::Path;

/// Where tracefs is mounted, or where to mount it.
pub const TRACEFS: &str = "/sys/kernel/tracing";

/// Where debugfs is mounted, or where to mount it.
const DEBUGFS: &str = "/sys/kernel/debug";

/// Makes tracefs available. If it is not mounted, mounts it for this process and its children only. Must be called
/// while the process has a single thread.
///
/// # Errors
/// The reason why tracefs cannot be mounted.
pub fn reach() -> Result<(), String> {
    match Path::new(TRACEFS).join("instances").is_dir() {
        true => Ok(()),
        false => mount(c"tracefs", c"/sys/kernel/tracing"),
    }
}

/// Makes debugfs available in the same way.
///
/// # Errors
/// The reason why debugfs cannot be mounted.
pub fn reach_debugfs() -> Result<(), String> {
    match Path::new(DEBUGFS).join("sched").is_dir() {
        true => Ok(()),
        false => mount(c"debugfs", c"/sys/kernel/debug"),
    }
}

/// Mounts a file system in a private mount namespace of this process.
fn mount(kind: &CStr, at: &CStr) -> Result<(), String> {
    let failed = |what: &str| format!("{what}: {}", Error::last_os_error());
    let none = std::ptr::null();
    // SAFETY: the strings are NUL-terminated and outlive the calls. A private mount namespace does not affect mounts of
    // other processes.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) != 0 {
            return Err(failed("unshare"));
        }
        let private = libc::MS_REC | libc::MS_PRIVATE;
        if libc::mount(none, c"/".as_ptr(), none, private, none.cast()) != 0 {
            return Err(failed("make mounts private"));
        }
        if libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, none.cast()) != 0 {
            return Err(failed(&format!("mount {}", kind.to_string_lossy())));
        }
    }
    Ok(())
}
