//! Maps files of any length that the user names into memory, and reads them without a copy.
//!
//! A trace of several minutes exceeds the memory of many machines, and copying it takes as long as reading it.

use crate::RootError;
use crate::error::{OnPath, failed};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::ffi::c_void;
use std::ops::Deref;
use std::path::Path;
use std::sync::OnceLock;

/// A file in the address space of this process: it is read in place, and uses memory only while there is enough.
///
/// If another process truncates the file, this process ends by `SIGBUS`, as with any mapped file; see [`when_cut`].
pub struct MappedFile {
    at: *mut c_void,
    len: usize,
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: that many bytes are mapped for reading until this is dropped, and nothing here writes to them.
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.len) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: mapped by `mapped` with this length, and no slice of it outlives its owner.
            // A range that was mapped can be unmapped.
            unsafe { rustix::mm::munmap(self.at, self.len) }.ok();
        }
    }
}

/// Maps the content of a regular file of at most `most` bytes, without a copy.
///
/// # Errors
/// As [`input::bytes`](crate::input::bytes).
pub fn mapped(path: &Path, most: u64) -> Result<MappedFile, RootError> {
    let file = crate::input::regular(path)?;
    let len = file.metadata().on(path, "stat")?.len();
    let fits = usize::try_from(len).ok().filter(|_| len <= most);
    let len = fits.ok_or_else(|| failed(path, "read", Errno::FBIG))?;
    if len == 0 {
        let at = std::ptr::null_mut();
        return Ok(MappedFile { at, len });
    }
    // SAFETY: a new, unused range of addresses, for reading only.
    let at = unsafe { rustix::mm::mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::PRIVATE, &file, 0) };
    let at = at.on(path, "map")?;
    Ok(MappedFile { at, len })
}

/// Sets the message and the exit status of this process for the case that a mapped file is truncated while it is read.
/// Without it the only message would be `Bus error`.
pub fn when_cut(says: &'static [u8], status: i32) {
    CUT.get_or_init(|| (says, status));
    // SAFETY: the handler makes only calls that a handler may make, and never returns.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = cut as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

static CUT: OnceLock<(&[u8], i32)> = OnceLock::new();

extern "C" fn cut(_: i32) {
    let (says, status) = CUT.get().copied().unwrap_or((b"", 70));
    // SAFETY: plain calls. Whether the message is delivered makes no difference.
    unsafe {
        libc::write(libc::STDERR_FILENO, says.as_ptr().cast(), says.len());
        libc::_exit(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_has_its_content_and_a_size_limit() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("trace");
        std::fs::write(&file, b"pages").unwrap();
        assert_eq!(&*mapped(&file, 5).unwrap(), b"pages");
        assert!(mapped(&file, 4).is_err(), "longer than allowed");
        std::fs::write(&file, b"").unwrap();
        assert_eq!(&*mapped(&file, 5).unwrap(), b"");
        assert!(mapped(dir.path(), 5).is_err(), "a directory");
    }
}
