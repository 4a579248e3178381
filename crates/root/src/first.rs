//! Does the work of a guest's init process: mounts the kernel's file systems, reaps orphaned processes, and powers off.
//! It also provides the serial port on which a guest sends data out.

use crate::RootError;
use crate::error::{OnPath, failed};
use crate::state::write_all;
use rustix::fs::{Mode, OFlags};
use rustix::mount::MountFlags;
use rustix::process::WaitOptions;
use rustix::system::RebootCommand;
use rustix::termios::OptionalActions;
use std::ffi::CStr;
use std::os::fd::OwnedFd;

/// The file systems that programs expect, with mount point and options; parents first.
const MOUNTS: &[(&str, &str, Option<&CStr>)] = &[
    ("proc", "/proc", None),
    ("sysfs", "/sys", None),
    ("devtmpfs", "/dev", None),
    ("tmpfs", "/dev/shm", None),
    // Programs that keep state there expect that only root can write to it.
    ("tmpfs", "/run", Some(c"mode=755")),
    ("tmpfs", "/tmp", None),
    ("cgroup2", "/sys/fs/cgroup", None),
    ("tracefs", "/sys/kernel/tracing", None),
    ("debugfs", "/sys/kernel/debug", None),
];

/// Mounts what the kernel supports. Refusals are returned; programs then run without those.
#[must_use]
pub fn mount_all() -> Vec<RootError> {
    let one = |(kind, place, options): &(&str, &str, Option<&CStr>)| {
        // The kernel's own file systems already contain their folders, or do not allow any.
        let _ = std::fs::create_dir_all(place);
        rustix::mount::mount(*kind, *place, *kind, MountFlags::empty(), *options)
            .err()
            .map(|errno| failed(place, "mount", errno))
    };
    MOUNTS.iter().filter_map(one).collect()
}

/// Waits until a child has ended. All other children that end are reaped too, because init inherits them.
pub fn wait_for(child: u32) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, _))) if pid.as_raw_nonzero().get().unsigned_abs() == child => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Powers the machine off; if that is not supported, restarts it, which also ends a guest. Returns only without permission.
pub fn power_off() {
    rustix::fs::sync();
    for command in [RebootCommand::PowerOff, RebootCommand::Restart] {
        let _ = rustix::system::reboot(command);
    }
}

/// A serial port that transmits bytes unchanged.
#[derive(Debug)]
pub struct Port {
    path: String,
    descriptor: OwnedFd,
}

impl Port {
    /// Opens it in raw mode.
    ///
    /// # Errors
    /// The errno: ENOENT if there is no such port, ENOTTY if it is not a terminal.
    pub fn open(path: &str) -> Result<Port, RootError> {
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty()).on(path, "open")?;
        let mut settings = rustix::termios::tcgetattr(&descriptor).on(path, "set up")?;
        settings.make_raw();
        rustix::termios::tcsetattr(&descriptor, OptionalActions::Now, &settings).on(path, "set up")?;
        Ok(Port {
            path: path.to_owned(),
            descriptor,
        })
    }

    /// Sends bytes, and waits until the port has transmitted all of them.
    ///
    /// # Errors
    /// The errno of write.
    pub fn send(&self, bytes: &[u8]) -> Result<(), RootError> {
        write_all(&self.descriptor, bytes, &self.path)?;
        rustix::termios::tcdrain(&self.descriptor).on(&self.path, "write")
    }
}
