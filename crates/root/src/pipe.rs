//! Reads a file that returns the available data and never blocks: a CPU's raw trace buffer.

use crate::RootError;
use crate::error::{OnPath, failed};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The file, open for reading.
#[derive(Debug)]
pub struct Pipe {
    path: String,
    descriptor: OwnedFd,
}

impl Pipe {
    /// Opens it.
    ///
    /// # Errors
    /// The errno of open.
    pub fn open(path: &str) -> Result<Pipe, RootError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty()).on(path, "open")?;
        Ok(Pipe {
            path: path.to_owned(),
            descriptor,
        })
    }

    /// Reads the available data into a buffer; 0 if there is none.
    ///
    /// # Errors
    /// The errno of read.
    pub fn read(&self, into: &mut [u8]) -> Result<usize, RootError> {
        loop {
            match rustix::io::read(&self.descriptor, &mut *into) {
                Ok(read) => return Ok(read),
                Err(Errno::AGAIN) => return Ok(0),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(&self.path, "read", errno)),
            }
        }
    }
}

impl AsFd for Pipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
