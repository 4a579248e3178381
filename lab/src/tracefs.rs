//! The kernel's tracing files, for benchmarks that look into them beside what they measure.

use std::ffi::CStr;
use std::io::Error;
use std::path::Path;

/// Where they are, and where they are mounted when they are not.
pub const TRACEFS: &str = "/sys/kernel/tracing";

/// Where the kernel's own switches are.
const DEBUGFS: &str = "/sys/kernel/debug";

/// Makes sure that they are there: where nobody has mounted them, for this process and its children alone. To be called while
/// the process has one thread.
///
/// # Errors
/// In words.
pub fn reach() -> Result<(), String> {
    match Path::new(TRACEFS).join("instances").is_dir() {
        true => Ok(()),
        false => mount(c"tracefs", c"/sys/kernel/tracing"),
    }
}

/// The same for debugfs.
///
/// # Errors
/// In words.
pub fn reach_debugfs() -> Result<(), String> {
    match Path::new(DEBUGFS).join("sched").is_dir() {
        true => Ok(()),
        false => mount(c"debugfs", c"/sys/kernel/debug"),
    }
}

/// Mounts a file system in a mount namespace of this process alone.
fn mount(kind: &CStr, at: &CStr) -> Result<(), String> {
    let said = |what: &str| format!("{what}: {}", Error::last_os_error());
    let none = std::ptr::null();
    // SAFETY: the strings end in NUL and live; a mount namespace of this process alone touches nobody else's mounts.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) != 0 {
            return Err(said("unshare"));
        }
        let private = libc::MS_REC | libc::MS_PRIVATE;
        if libc::mount(none, c"/".as_ptr(), none, private, none.cast()) != 0 {
            return Err(said("make mounts private"));
        }
        if libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, none.cast()) != 0 {
            return Err(said(&format!("mount {}", kind.to_string_lossy())));
        }
    }
    Ok(())
}
