//! What the first process of a guest does, and nobody else: it mounts the kernel's file systems, waits for whoever was left to
//! it, and switches off. And the serial port on which a guest hands things out.

use crate::RootError;
use crate::state::write_all;
use rustix::fs::{Mode, OFlags};
use rustix::mount::MountFlags;
use rustix::process::WaitOptions;
use rustix::system::RebootCommand;
use rustix::termios::OptionalActions;
use std::ffi::CStr;
use std::os::fd::OwnedFd;

/// Which file systems programs expect, where, and with which options; those that others stand on first.
const MOUNTS: &[(&str, &str, Option<&CStr>)] = &[
    ("proc", "/proc", None),
    ("sysfs", "/sys", None),
    ("devtmpfs", "/dev", None),
    ("tmpfs", "/dev/shm", None),
    // Whoever keeps state there wants a place that only root writes to.
    ("tmpfs", "/run", Some(c"mode=755")),
    ("tmpfs", "/tmp", None),
    ("cgroup2", "/sys/fs/cgroup", None),
    ("tracefs", "/sys/kernel/tracing", None),
    ("debugfs", "/sys/kernel/debug", None),
];

/// Mounts what the kernel has. What it refuses is told; programs then do without.
#[must_use]
pub fn mount_all() -> Vec<RootError> {
    let one = |(kind, place, options): &(&str, &str, Option<&CStr>)| {
        // The kernel's own file systems bring their folders along, or take none.
        let _ = std::fs::create_dir_all(place);
        rustix::mount::mount(*kind, *place, *kind, MountFlags::empty(), *options)
            .err()
            .map(|errno| RootError::from_io(place, "mount", &errno.into()))
    };
    MOUNTS.iter().filter_map(one).collect()
}

/// Waits until a child has ended. All others that end meanwhile are taken away as well: the first process inherits them.
pub fn wait_for(child: u32) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, _))) if pid.as_raw_nonzero().get().unsigned_abs() == child => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Switches the machine off, or, where it has no switch, lets it start anew, at which a guest ends too. Whoever may not do that
/// comes back from here.
pub fn power_off() {
    rustix::fs::sync();
    for command in [RebootCommand::PowerOff, RebootCommand::Restart] {
        let _ = rustix::system::reboot(command);
    }
}

/// A serial port that takes bytes as they are.
#[derive(Debug)]
pub struct Port {
    path: String,
    descriptor: OwnedFd,
}

impl Port {
    /// Opens it, and takes all that a terminal does to bytes off it.
    ///
    /// # Errors
    /// The errno: ENOENT where there is no such port, ENOTTY where it is none.
    pub fn open(path: &str) -> Result<Port, RootError> {
        let failed = |doing, errno: rustix::io::Errno| RootError::from_io(path, doing, &errno.into());
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
        let descriptor =
            rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| failed("open", errno))?;
        let mut settings =
            rustix::termios::tcgetattr(&descriptor).map_err(|errno| failed("set up", errno))?;
        settings.make_raw();
        rustix::termios::tcsetattr(&descriptor, OptionalActions::Now, &settings)
            .map_err(|errno| failed("set up", errno))?;
        Ok(Port {
            path: path.to_owned(),
            descriptor,
        })
    }

    /// Sends bytes, and waits until the port has taken all of them.
    ///
    /// # Errors
    /// The errno of write.
    pub fn send(&self, bytes: &[u8]) -> Result<(), RootError> {
        write_all(&self.descriptor, bytes, &self.path)?;
        rustix::termios::tcdrain(&self.descriptor)
            .map_err(|errno| RootError::from_io(&self.path, "write", &errno.into()))
    }
}
