//! Stores a stream in an unnamed file and copies it at the end: a CPU's trace data for a file whose header needs the
//! final length. It is limited by the disk, not by memory, and disappears with its process.

use crate::RootError;
use crate::error::{OnPath, failed};
use crate::output::Draft;
use crate::pipe::Pipe;
use crate::state::write_all;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Bytes per read.
const PIECE: usize = 1 << 20;

/// The file and its size.
#[derive(Debug)]
pub struct Spool {
    display_path: String,
    file: OwnedFd,
    /// The pipe through which the kernel moves pages, without a copy in this process.
    through: (OwnedFd, OwnedFd),
    len: u64,
}

impl Spool {
    /// Creates one in the folder of the future output file, so that the same disk must have the space.
    ///
    /// # Errors
    /// The errno of open or pipe.
    pub fn beside(path: &Path) -> Result<Spool, RootError> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let shown = folder.display().to_string();
        let failed = |errno: Errno| failed(&shown, "create a file in", errno);
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        let file = match rustix::fs::open(folder, flags | OFlags::TMPFILE, mode) {
            Ok(file) => file,
            // The file system does not support unnamed files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR) => named(folder, flags, mode).map_err(failed)?,
            Err(errno) => return Err(failed(errno)),
        };
        let through = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        Ok(Spool {
            display_path: shown,
            file,
            through,
            len: 0,
        })
    }

    /// Its size in bytes.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes whole pages out of a pipe, at most `most` bytes, and never waits for more. 0 if there is no whole page.
    ///
    /// # Errors
    /// The errno of splice: ENOSPC for a full disk; EINVAL from a kernel that does not support it for this pipe.
    pub fn take(&mut self, from: &Pipe, most: usize) -> Result<usize, RootError> {
        let failed = |errno: Errno| failed(&self.display_path, "write to a file in", errno);
        let (out, into) = (self.through.0.as_fd(), self.through.1.as_fd());
        let quick = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let taken = loop {
            match rustix::pipe::splice(from.as_fd(), None, into, None, most, quick) {
                Ok(taken) => break taken,
                Err(Errno::AGAIN) => return Ok(0),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
        };
        let mut left = taken;
        while left > 0 {
            match rustix::pipe::splice(out, None, self.file.as_fd(), None, left, SpliceFlags::MOVE) {
                Ok(0) => return Err(failed(Errno::IO)),
                Ok(moved) => {
                    left = left.saturating_sub(moved);
                    self.len += moved as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        Ok(taken)
    }

    /// Appends to it.
    ///
    /// # Errors
    /// The errno of write.
    pub fn append(&mut self, content: &[u8]) -> Result<(), RootError> {
        write_all(&self.file, content, &self.display_path)?;
        self.len += content.len() as u64;
        Ok(())
    }

    /// Copies all of it.
    ///
    /// # Errors
    /// The errno of read or write.
    pub fn copy_into(&self, draft: &mut Draft) -> Result<(), RootError> {
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while at < self.len {
            let read = rustix::io::retry_on_intr(|| rustix::io::pread(&self.file, piece.as_mut_slice(), at))
                .on(&self.display_path, "read a file in")?;
            let Some(content) = piece.get(..read).filter(|content| !content.is_empty()) else {
                return Err(failed(&self.display_path, "read a file in", Errno::IO));
            };
            draft.append(content)?;
            at += read as u64;
        }
        Ok(())
    }
}

/// Creates one that has a name for a moment.
fn named(folder: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let path = folder.join(format!(".spool.{}", std::process::id()));
    let _ = rustix::fs::unlink(&path);
    let file = rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
    rustix::fs::unlink(&path)?;
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::output::ReadAccess;

    #[test]
    fn spooled_data_is_copied_back_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        let pages: Vec<u8> = (0..8 * 4096_usize).map(|at| (at / 4096) as u8).collect();
        std::fs::write(&source, &pages).unwrap();
        let pipe = Pipe::open(source.to_str().unwrap()).unwrap();
        let result = dir.path().join("result");
        let mut spool = Spool::beside(&result).unwrap();
        assert!(spool.is_empty());
        assert_eq!(spool.take(&pipe, 3 * 4096).unwrap(), 3 * 4096);
        assert_eq!(spool.take(&pipe, 5 * 4096).unwrap(), 5 * 4096);
        assert_eq!(spool.take(&pipe, 4096).unwrap(), 0);
        spool.append(b"the rest").unwrap();
        assert_eq!(spool.len(), 8 * 4096 + 8);
        let mut draft = Draft::create(&result, ReadAccess::Owner).unwrap();
        draft.append(b"head").unwrap();
        spool.copy_into(&mut draft).unwrap();
        draft.finish().unwrap();
        let all = std::fs::read(&result).unwrap();
        assert_eq!(all, [b"head".as_slice(), &pages, b"the rest"].concat());
        // Neither spool nor draft has a name any more.
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let error = Spool::beside(Path::new("/no/such/folder/trace.dat")).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOENT));
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
