//! Finds the kernel's tracing files. If they are not mounted, they are accessed through a detached mount that no
//! directory shows and that ends with this process, so that nothing is left behind.

use crate::error::failed;
use crate::files::FileQueries;
use crate::{Live, RootError};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::os::fd::{AsRawFd, OwnedFd};

/// Its mount points (`Documentation/trace/ftrace.rst`); the second comes with debugfs.
const MOUNTS: &[&str] = &["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The tracing files, for as long as this lives.
#[derive(Debug)]
pub struct Tracefs {
    path: String,
    /// Our own mount.
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// The tracefs of the running kernel; `None` for a kernel without tracing, or with an empty tracefs, as the kernel
    /// leaves it if it is locked down (confidentiality) at boot.
    ///
    /// # Errors
    /// [`RootError::Denied`] without permission, and under kernel lockdown; ENOSYS if it is not mounted and the kernel
    /// (before 5.2) cannot mount without a directory.
    pub fn find() -> Result<Option<Tracefs>, RootError> {
        for path in MOUNTS {
            match rustix::fs::stat(format!("{path}/trace_marker")) {
                Ok(_) => return Ok(Some(Tracefs::at(path))),
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => return Err(failed(path, "open", errno)),
            }
        }
        match mount() {
            Ok(mount) => {
                let path = format!("/proc/self/fd/{}", mount.as_raw_fd());
                let is_empty = rustix::fs::stat(format!("{path}/trace_marker")).err() == Some(Errno::NOENT);
                Ok((!is_empty).then_some(Tracefs {
                    path,
                    _mount: Some(mount),
                }))
            }
            Err(Errno::NODEV) => Ok(None),
            Err(errno) => Err(failed("tracefs", "mount", errno)),
        }
    }

    /// A tracefs at a path of a machine.
    #[must_use]
    pub fn at(path: &str) -> Tracefs {
        Tracefs {
            path: path.to_owned(),
            _mount: None,
        }
    }

    /// One of its files, by a path that is valid while this value lives, in this process and its children.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// The path of a file for users: through the usual mount.
    #[must_use]
    pub fn display_path(name: &str) -> String {
        format!("{}/{name}", MOUNTS.first().copied().unwrap_or_default())
    }
}

fn mount() -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

impl Live {
    /// The tracing files of this machine; those of a rehearsal are at the most common mount point.
    ///
    /// # Errors
    /// As [`Tracefs::find`].
    pub fn tracefs(&self) -> Result<Option<Tracefs>, RootError> {
        match self.is_host() {
            true => Tracefs::find(),
            false => {
                let mount = MOUNTS.first().copied().unwrap_or_default();
                Ok(self.kind(mount)?.map(|_| Tracefs::at(mount)))
            }
        }
    }
}
