//! The kernel's tracing files, for benchmarks that look into them beside what they measure.

use std::io::Error;
use std::path::Path;

/// Where they are, and where they are mounted when they are not.
pub const TRACEFS: &str = "/sys/kernel/tracing";

/// Makes sure that they are there: where nobody has mounted them, for this process and its children alone. To be called while
/// the process has one thread.
///
/// # Errors
/// In words.
pub fn reach() -> Result<(), String> {
    if Path::new(TRACEFS).join("instances").is_dir() {
        return Ok(());
    }
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
        let kind = c"tracefs".as_ptr();
        if libc::mount(kind, c"/sys/kernel/tracing".as_ptr(), kind, 0, none.cast()) != 0 {
            return Err(said("mount tracefs"));
        }
    }
    Ok(())
}
