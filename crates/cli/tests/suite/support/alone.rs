//! Support for tests that measure on this machine: one at a time, on one CPU, with private disks.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Two samplers on one CPU would measure each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static CPU: Mutex<()> = Mutex::new(());
    CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs `work` and then sets `over`, even if `work` panics. Otherwise the scope would wait forever for its threads.
pub fn until_over<T>(over: &AtomicBool, work: impl FnOnce() -> T) -> T {
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let _over = Over(over);
    work()
}

/// The highest CPU that this process may use.
pub fn cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    list.trim().rsplit([',', '-']).next().unwrap().to_owned()
}

/// Mounts a disk of 512 KiB that only this thread and its children see, and that disappears with them. Fails with the
/// errno if not permitted.
pub fn small_disk(at: &Path) -> Result<(), std::io::Error> {
    mounted(at, c"size=512k")
}

/// Like [`small_disk`], with more space.
pub fn own_mount(at: &Path) -> Result<(), std::io::Error> {
    mounted(at, c"size=256m")
}

fn mounted(at: &Path, size: &std::ffi::CStr) -> Result<(), std::io::Error> {
    let check = |result: libc::c_int| match result {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    };
    let at = std::ffi::CString::new(at.to_str().unwrap()).unwrap();
    // SAFETY: the strings end in NUL and live long enough. The mount namespace of this thread affects no other mounts.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWNS))?;
        let none = std::ptr::null();
        check(libc::mount(
            none,
            c"/".as_ptr(),
            none,
            libc::MS_REC | libc::MS_PRIVATE,
            none.cast(),
        ))?;
        check(libc::mount(
            c"tmpfs".as_ptr(),
            at.as_ptr(),
            c"tmpfs".as_ptr(),
            0,
            size.as_ptr().cast(),
        ))
    }
}
