//! Reports which processes write kernel files: fanotify on the file systems of `/proc`, `/sys` and the control groups.
//!
//! A mark on one file would be lost with its inode, which procfs recreates at any time, so whole file systems are
//! marked. These support no file handles (`FAN_REPORT_FID` gives EOPNOTSUPP for `/proc` and `/sys` on 6.18). So each
//! message carries an open descriptor, whose path is read from `/proc/self/fd`.

use crate::RootError;
use rustix::io::Errno;
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A listener.
#[derive(Debug)]
pub struct WriteListener {
    group: OwnedFd,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteMessage {
    /// A process wrote a file.
    By {
        /// The process.
        pid: u32,
        /// The file.
        path: String,
    },
    /// The kernel's queue was full and messages were lost.
    Lost,
}

/// `FAN_CLASS_NOTIF`, `FAN_CLOEXEC`, `FAN_NONBLOCK`.
const FLAGS: libc::c_uint = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;

impl WriteListener {
    /// Creates a listener without any marks. It needs `CAP_SYS_ADMIN`.
    ///
    /// # Errors
    /// The errno: `EPERM` without the privilege, `ENOSYS` for a kernel without fanotify.
    pub fn listen() -> Result<WriteListener, RootError> {
        let files = (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_LARGEFILE).unsigned_abs();
        // SAFETY: plain numbers; a returned descriptor is ours alone.
        let group = unsafe {
            match libc::fanotify_init(FLAGS, files) {
                -1 => return Err(failed("fanotify", "listen to", crate::sched::errno())),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        Ok(WriteListener { group })
    }

    /// Listens to writes in the file system mounted there; through every mount of it since 4.20, else only through this one.
    ///
    /// # Errors
    /// The errno: `ENOENT` for a missing directory, `EINVAL` for a file system that does not report writes.
    pub fn add(&self, mount: &str) -> Result<(), RootError> {
        self.mark(mount, libc::FAN_MARK_FILESYSTEM)
            .or_else(|errno| match errno {
                libc::EINVAL => self.mark(mount, libc::FAN_MARK_MOUNT),
                errno => Err(errno),
            })
            .map_err(|errno| failed(mount, "listen to", errno))
    }

    fn mark(&self, mount: &str, what: libc::c_uint) -> Result<(), i32> {
        let path = CString::new(mount).map_err(|_| libc::EINVAL)?;
        // SAFETY: a descriptor that lives, plain numbers, and a text that ends with NUL.
        let done = unsafe {
            libc::fanotify_mark(
                self.group.as_raw_fd(),
                libc::FAN_MARK_ADD | what,
                libc::FAN_MODIFY,
                libc::AT_FDCWD,
                path.as_ptr(),
            )
        };
        if done == 0 { Ok(()) } else { Err(crate::sched::errno()) }
    }

    /// Passes on the messages that have arrived, except for this process's own writes.
    ///
    /// # Errors
    /// The errno of a listener that is no longer usable.
    pub fn take(&self, each: &mut dyn FnMut(WriteMessage)) -> Result<(), RootError> {
        let mut messages = [0_u8; 8192];
        // A limited number of rounds: a process that writes continuously must not keep us here.
        for _ in 0..64 {
            match rustix::io::read(&self.group, &mut messages) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(()),
                Ok(length) => decode(messages.get(..length).unwrap_or_default(), each),
                // Each message carries an open file. The kernel drops the message of a file that cannot be read (a
                // trigger) with this error.
                Err(
                    Errno::INTR | Errno::ACCESS | Errno::PERM | Errno::NOENT | Errno::NXIO | Errno::NODEV | Errno::SRCH,
                ) => {}
                Err(Errno::MFILE | Errno::NFILE) => each(WriteMessage::Lost),
                Err(errno) => return Err(failed("fanotify", "read", errno.raw_os_error())),
            }
        }
        Ok(())
    }
}

impl AsFd for WriteListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.group.as_fd()
    }
}

/// `struct fanotify_event_metadata`: length 4, version 1, reserved 1, own length 2, mask 8, descriptor 4, process 4.
fn decode(mut messages: &[u8], each: &mut dyn FnMut(WriteMessage)) {
    while let Some(head) = messages.get(..24) {
        let number = |at: usize| -> i32 {
            let bytes = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            i32::from_ne_bytes(bytes.unwrap_or_default())
        };
        let mask = u64::from(number(8).cast_unsigned()) | u64::from(number(12).cast_unsigned()) << 32;
        let (fd, pid) = (number(16), number(20));
        if mask & libc::FAN_Q_OVERFLOW != 0 {
            each(WriteMessage::Lost);
        }
        if fd >= 0 {
            // SAFETY: the kernel has just opened it for us.
            let file = unsafe { OwnedFd::from_raw_fd(fd) };
            let path = rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new());
            let pid = pid.unsigned_abs();
            if let Ok(path) = path
                && pid != std::process::id()
            {
                each(WriteMessage::By {
                    pid,
                    path: path.to_string_lossy().into_owned(),
                });
            }
        }
        let length = usize::try_from(number(0)).unwrap_or(0).max(24);
        messages = messages.get(length..).unwrap_or_default();
    }
}

fn failed(path: &str, doing: &'static str, errno: i32) -> RootError {
    crate::error::failed(path, doing, std::io::Error::from_raw_os_error(errno))
}
