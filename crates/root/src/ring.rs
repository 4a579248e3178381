//! A CPU's trace buffer, mapped into this process as the kernel offers it since 6.10: its pages are read where they are.
//!
//! Facts: `include/uapi/linux/trace_mmap.h`, `Documentation/trace/ring-buffer-map.rst`. First comes a page about the
//! buffer, then its sub-buffers by their number. One of them is the reader's: the kernel writes to others, or further on
//! behind what it has handed over there.

use crate::RootError;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr::NonNull;

/// `TRACE_MMAP_IOCTL_GET_READER`, `_IO('R', 0x20)`: hands over what there is behind what was handed over before.
const GET_READER: u64 = 0x5220;

/// Bytes of the first page that say how large everything is.
const LEAST: usize = 4_096;

/// The beginning of the first page; what follows is not needed here.
#[repr(C)]
#[derive(Clone, Copy)]
struct Meta {
    meta_page_size: u32,
    meta_struct_len: u32,
    subbuf_size: u32,
    nr_subbufs: u32,
    lost_events: u64,
    reader_id: u32,
    reader_read: u32,
}

/// It. Whoever maps a buffer reads it alone: others would be given what this one is not.
#[derive(Debug)]
pub struct Ring {
    path: String,
    descriptor: OwnedFd,
    mapping: Mapping,
}

/// What was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The sub-buffer.
    pub id: u32,
    /// How many bytes of its data, from its beginning, may be read.
    pub read: usize,
}

#[derive(Debug)]
struct Mapping {
    at: NonNull<c_void>,
    len: usize,
}

// SAFETY: the memory is only read, and belongs to nobody else in this process.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and nothing refers to it any more. It cannot fail for a mapping that there is.
        let _ = unsafe { munmap(self.at.as_ptr(), self.len) };
    }
}

impl Ring {
    /// Maps a `trace_pipe_raw`. `None` where the kernel does not offer it, or not now: reading works everywhere.
    ///
    /// # Errors
    /// The errno of open.
    pub fn open(path: &str) -> Result<Option<Ring>, RootError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| RootError::from_io(path, "open", &errno.into()))?;
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

    /// Asks the kernel for what is new, without waiting, and copies the reader's sub-buffer, with its head: as much of it as
    /// there is room for. The same as before where nothing is new. What lies behind the bytes that may be read is not to be
    /// looked at, but for the count of lost events that the kernel puts behind the data of a full page.
    ///
    /// # Errors
    /// The errno of ioctl; EIO for a place outside of the buffer.
    pub fn take(&mut self, into: &mut [u8]) -> Result<Handed, RootError> {
        let failed = |errno: Errno| RootError::from_io(&self.path, "map", &errno.into());
        loop {
            // SAFETY: this request has no argument and gives nothing back but its status.
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
                // SAFETY: the bytes are in the mapping, as was just asked; the destination has that length.
                unsafe {
                    let source = self.mapping.at.as_ptr().cast::<u8>().add(from);
                    std::ptr::copy_nonoverlapping(source, into.as_mut_ptr(), len);
                }
            }
            _ => return Err(failed(Errno::IO)),
        }
        Ok(Handed {
            id: meta.reader_id,
            read: meta.reader_read as usize,
        })
    }
}

impl Mapping {
    fn of(descriptor: &OwnedFd, len: usize) -> Result<Mapping, Errno> {
        // SAFETY: a new mapping at an address that the kernel chooses, only for reading.
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

    /// The kernel writes to it in our calls only, but the compiler does not know that.
    fn meta(&self) -> Meta {
        // SAFETY: every mapping has at least the first page, which begins with these fields, aligned as a page is.
        unsafe { self.at.as_ptr().cast::<Meta>().read_volatile() }
    }
}
