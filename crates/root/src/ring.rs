//! Maps a CPU's trace buffer into this process, as the kernel supports since 6.10: its pages are read in place.
//!
//! Source: `include/uapi/linux/trace_mmap.h`, `Documentation/trace/ring-buffer-map.rst`. The first page describes the
//! buffer; the sub-buffers follow by number. One of them belongs to the reader. The kernel writes to the others, or
//! after the data that it has already passed to the reader.

use crate::RootError;
use crate::error::{OnPath, failed};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr::NonNull;

/// `TRACE_MMAP_IOCTL_GET_READER`, `_IO('R', 0x20)`: passes the data after the previously passed data to the reader.
const GET_READER: u64 = 0x5220;

/// Bytes of the first page that contain the sizes.
const LEAST: usize = 4_096;

/// The start of the first page; the rest is not needed here.
#[repr(C)]
#[derive(Clone, Copy)]
struct RingMetadata {
    meta_page_size: u32,
    meta_struct_len: u32,
    subbuf_size: u32,
    nr_subbufs: u32,
    lost_events: u64,
    reader_id: u32,
    reader_read: u32,
}

/// The mapped buffer. It must have only one reader: data passed to another reader is missing here.
#[derive(Debug)]
pub struct Ring {
    path: String,
    descriptor: OwnedFd,
    mapping: Mapping,
}

/// The data passed to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderPage {
    /// The sub-buffer.
    pub id: u32,
    /// The number of bytes of its data, from its start, that may be read.
    pub read: usize,
}

#[derive(Debug)]
struct Mapping {
    at: NonNull<c_void>,
    len: usize,
}

// SAFETY: the memory is only read, and nothing else in this process uses it.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and nothing refers to it any more. It cannot fail for an existing mapping.
        let _ = unsafe { munmap(self.at.as_ptr(), self.len) };
    }
}

impl Ring {
    /// Maps a `trace_pipe_raw`. `None` if the kernel does not support it, or not at present: reading works everywhere.
    ///
    /// # Errors
    /// The errno of open.
    pub fn open(path: &str) -> Result<Option<Ring>, RootError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty()).on(path, "open")?;
        let Ok(head) = Mapping::of(&descriptor, LEAST) else {
            return Ok(None);
        };
        let meta = head.meta();
        let (pages, page, first) = (meta.nr_subbufs, meta.subbuf_size, meta.meta_page_size);
        let len = (pages as usize)
            .checked_mul(page as usize)
            .and_then(|len| len.checked_add(first as usize));
        drop(head);
        let (Some(len), true) = (len, first as usize >= LEAST && page > 0) else {
            return Ok(None);
        };
        Ok(Mapping::of(&descriptor, len).ok().map(|mapping| Ring {
            path: path.to_owned(),
            descriptor,
            mapping,
        }))
    }

    /// Requests new data from the kernel, without blocking, and copies the reader's sub-buffer with its header, as much
    /// as fits. The result is unchanged if there is nothing new. Ignore the data after the readable bytes, except the
    /// count of lost events that the kernel puts after the data of a full page.
    ///
    /// # Errors
    /// The errno of ioctl; EIO for a position outside the buffer.
    pub fn take(&mut self, into: &mut [u8]) -> Result<ReaderPage, RootError> {
        let failed = |errno: Errno| failed(&self.path, "map", errno);
        loop {
            // SAFETY: this request has no argument and returns only its status.
            let done = unsafe { libc::ioctl(self.descriptor.as_raw_fd(), GET_READER as _, 0) };
            if done == 0 {
                break;
            }
            match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => {}
                errno => return Err(failed(Errno::from_raw_os_error(errno.unwrap_or(libc::EIO)))),
            }
        }
        let meta = self.mapping.meta();
        let size = meta.subbuf_size as usize;
        let from = (meta.reader_id as usize)
            .checked_mul(size)
            .and_then(|at| at.checked_add(meta.meta_page_size as usize));
        let len = size.min(into.len());
        match from {
            Some(from) if from + len <= self.mapping.len => {
                // SAFETY: the bytes are in the mapping, as was just checked; the destination has that length.
                unsafe {
                    let source = self.mapping.at.as_ptr().cast::<u8>().add(from);
                    std::ptr::copy_nonoverlapping(source, into.as_mut_ptr(), len);
                }
            }
            _ => return Err(failed(Errno::IO)),
        }
        Ok(ReaderPage {
            id: meta.reader_id,
            read: meta.reader_read as usize,
        })
    }
}

impl Mapping {
    fn of(descriptor: &OwnedFd, len: usize) -> Result<Mapping, Errno> {
        // SAFETY: a new mapping at an address that the kernel chooses, for reading only.
        let at = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ,
                MapFlags::SHARED,
                descriptor,
                0,
            )
        }?;
        let at = NonNull::new(at).ok_or(Errno::NOMEM)?;
        Ok(Mapping { at, len })
    }

    /// The kernel writes to it only in our calls, but the compiler does not know that.
    fn meta(&self) -> RingMetadata {
        // SAFETY: every mapping has at least the first page, which starts with these fields and is page-aligned.
        unsafe { self.at.as_ptr().cast::<RingMetadata>().read_volatile() }
    }
}
