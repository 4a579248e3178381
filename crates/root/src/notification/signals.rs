//! Receives blocked signals as a source that becomes readable.

use crate::RootError;
use crate::error::failed;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The signals of this process. They must be blocked ([`crate::process::block_signals`]).
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Begins.
    ///
    /// # Errors
    /// The errno of `signalfd(2)`.
    pub fn listen() -> Result<Signals, RootError> {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is filled before it is read; a returned descriptor is ours alone.
        let fd = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::signalfd(-1, all.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            let error = std::io::Error::from_raw_os_error(crate::sched::errno());
            return Err(failed("signals", "listen to", error));
        }
        // SAFETY: as above.
        Ok(Signals {
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
        })
    }

    /// The number of the next pending signal; `None` if there is none.
    #[must_use]
    pub fn next(&self) -> Option<i32> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes one such record, or nothing; all zero is a valid one.
        let (read, info) = unsafe {
            let read = libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size);
            (read, info.assume_init())
        };
        (usize::try_from(read) == Ok(size)).then(|| i32::try_from(info.ssi_signo).unwrap_or(0))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
