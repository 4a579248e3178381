//! Accesses the running machine, or a writable directory that represents it in tests.
//!
//! Every kernel file is written with exactly one `write(2)`: the kernel treats each write as one command.

use crate::error::{OnPath, failed, is_absence};
use crate::files::FileQueries;
use crate::{DirectoryEntry, DirectoryEntryType, Ownership, PathKind, RootError};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A machine that can be changed. Only `apply` may call the changing methods; a test enforces it.
#[derive(Clone, Debug)]
pub struct Live {
    base: PathBuf,
}

impl Live {
    /// The machine that we run on.
    #[must_use]
    pub fn host() -> Live {
        Live {
            base: PathBuf::from("/"),
        }
    }

    /// A directory that represents a machine: the journal's tests apply and undo there.
    #[must_use]
    pub fn rehearsal(base: impl Into<PathBuf>) -> Live {
        Live { base: base.into() }
    }

    /// Whether this is the machine itself and not a rehearsal.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.base.as_os_str() == "/"
    }

    /// The path in the file system for a path of the machine.
    #[must_use]
    pub fn locate(&self, path: &str) -> PathBuf {
        self.base.join(path.trim_start_matches('/'))
    }

    /// Writes a value to an existing kernel file, with one `write(2)`.
    ///
    /// # Errors
    /// The errno of open or write, as [`RootError::Denied`] or [`RootError::Io`].
    pub fn write(&self, path: &str, value: &[u8]) -> Result<(), RootError> {
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(!self.is_host())
            .open(self.locate(path))
            .on(path, "open")?;
        let written = loop {
            match file.write(value) {
                // Interrupted before the kernel accepted anything: a retry is still one command.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => break outcome.on(path, "write")?,
            }
        };
        if written == value.len() {
            Ok(())
        } else {
            Err(RootError::Io {
                path: path.to_owned(),
                operation: "write all of",
                errno: libc::EIO,
            })
        }
    }

    /// Writes values to one kernel file, each with one `write(2)` as [`Live::write`] does, and opens it only once.
    /// `answer` receives each result in order, and can stop with `Break`.
    ///
    /// # Errors
    /// The errno of open; the results of the writes go to `answer`.
    pub fn write_each(
        &self,
        path: &str,
        values: &mut dyn Iterator<Item = u32>,
        answer: &mut dyn FnMut(u32, Result<(), RootError>) -> ControlFlow<()>,
    ) -> Result<(), RootError> {
        let mut file = OpenOptions::new()
            .write(true)
            .open(self.locate(path))
            .on(path, "open")?;
        let mut text = String::new();
        for value in values {
            text.clear();
            // Writing to a string cannot fail.
            let _ = write!(text, "{value}");
            let written = loop {
                match file.write(text.as_bytes()) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    outcome => break outcome,
                }
            };
            let written = written.map(|_| ()).on(path, "write");
            if answer(value, written).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The ownership of a file, links followed; `None` if it does not exist.
    ///
    /// # Errors
    /// The errno of stat.
    pub fn ownership(&self, path: &str) -> Result<Option<Ownership>, RootError> {
        Ok(self.stat(path)?.map(|stat| Ownership {
            uid: stat.st_uid,
            gid: stat.st_gid,
            mode: stat.st_mode & 0o7777,
        }))
    }

    /// Sets the owner and group of a file, then its permission bits: `chown` may clear some.
    ///
    /// # Errors
    /// The errno of chown or chmod.
    pub fn set_ownership(&self, path: &str, ownership: Ownership) -> Result<(), RootError> {
        let (uid, gid) = (Uid::from_raw(ownership.uid), Gid::from_raw(ownership.gid));
        rustix::fs::chown(self.locate(path), Some(uid), Some(gid)).on(path, "chown")?;
        rustix::fs::chmod(self.locate(path), Mode::from_raw_mode(ownership.mode)).on(path, "chmod")
    }

    /// Creates a directory (a cgroup) whose parent exists.
    ///
    /// # Errors
    /// The errno of mkdir.
    pub fn make_dir(&self, path: &str) -> Result<(), RootError> {
        std::fs::create_dir(self.locate(path)).on(path, "create")
    }

    /// Removes a directory (a cgroup).
    ///
    /// # Errors
    /// The errno of rmdir: EBUSY while tasks or children remain.
    pub fn remove_dir(&self, path: &str) -> Result<(), RootError> {
        std::fs::remove_dir(self.locate(path)).on(path, "remove")
    }

    fn open(&self, path: &str) -> Result<Option<OwnedFd>, RootError> {
        // NONBLOCK: some kernel files (`trace_pipe`, `kmsg`) wait for new data instead of ending.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        rustix::fs::open(self.locate(path), flags, Mode::empty()).if_there(path, "open")
    }

    fn stat(&self, path: &str) -> Result<Option<Stat>, RootError> {
        rustix::fs::stat(self.locate(path)).if_there(path, "stat")
    }
}

impl FileQueries for Live {
    fn record_into(&self, path: &str, content: &mut Vec<u8>) -> Result<bool, RootError> {
        let Some(file) = self.open(path)? else {
            return Ok(false);
        };
        read_record(&file, path, content)
    }

    fn bytes_into(&self, path: &str, limit: u64, content: &mut Vec<u8>) -> Result<bool, RootError> {
        let Some(file) = self.open(path)? else {
            return Ok(false);
        };
        read_whole(&file, path, limit, content)
    }

    fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError> {
        let Some(file) = self.open(path)? else {
            return Ok(false);
        };
        each_line(File::from(file), path, each)
    }

    fn entries(&self, dir: &str) -> Result<Option<Vec<DirectoryEntry>>, RootError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(self.locate(dir), flags, Mode::empty()).if_there(dir, "list")? {
            Some(file) => list(file, dir),
            None => Ok(None),
        }
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, RootError> {
        Ok(self.stat(path)?.map(|stat| stat.st_mode & 0o7777))
    }

    fn kind(&self, path: &str) -> Result<Option<PathKind>, RootError> {
        Ok(self.stat(path)?.and_then(|stat| kind_of(stat.st_mode)))
    }

    fn inode(&self, path: &str) -> Result<Option<u64>, RootError> {
        Ok(self.stat(path)?.map(|stat| stat.st_ino))
    }

    fn link(&self, path: &str) -> Result<Option<String>, RootError> {
        match rustix::fs::readlink(self.locate(path), Vec::new()) {
            Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
            // EINVAL: it exists, but is not a link.
            Err(errno) if is_absence(errno) || errno == Errno::INVAL => Ok(None),
            Err(errno) => Err(failed(path, "readlink", errno)),
        }
    }
}

/// Reads a file that is one record. The kernel returns a record whole if it fits (`seq_read_iter`), so a short read has
/// reached the end, and no second read is needed.
pub(crate) fn read_record(file: &OwnedFd, path: &str, content: &mut Vec<u8>) -> Result<bool, RootError> {
    content.clear();
    content.reserve(4096);
    let room = content.capacity();
    match rustix::io::read(file, rustix::buffer::spare_capacity(content)) {
        Ok(_) if content.len() < room => Ok(true),
        Ok(_) | Err(Errno::INTR) => read_whole(file, path, u64::MAX, content),
        Err(errno) => no_content(errno, path, content),
    }
}

/// The meaning of a failed read.
fn no_content(errno: Errno, path: &str, content: &mut Vec<u8>) -> Result<bool, RootError> {
    // A task that exits while we read gives ESRCH; a directory is not a file.
    if is_absence(errno) || errno == Errno::ISDIR {
        content.clear();
        return Ok(false);
    }
    Err(failed(path, "read", errno))
}

/// Reads to the end. Files of `/proc` have no size, and a short read is not their end.
pub(crate) fn read_whole(file: &OwnedFd, path: &str, limit: u64, content: &mut Vec<u8>) -> Result<bool, RootError> {
    loop {
        if content.len() as u64 > limit {
            return Err(too_large(path));
        }
        // Most kernel files have less than a page; large ones double the buffer.
        if content.capacity() - content.len() < 2048 {
            content.reserve(content.len().max(4096));
        }
        match rustix::io::read(file, rustix::buffer::spare_capacity(content)) {
            Ok(0) => return Ok(true),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return no_content(errno, path, content),
        }
    }
}

pub(crate) fn each_line(source: impl Read, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError> {
    let mut reader = BufReader::with_capacity(1 << 17, source);
    let mut line = Vec::new();
    loop {
        line.clear();
        // The standard library repeats reads that a signal interrupted.
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(true),
            Ok(_) => each(line.strip_suffix(b"\n").unwrap_or(&line)),
            Err(error) => {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                if is_absence(errno) || errno == Errno::ISDIR {
                    return Ok(false);
                }
                return Err(failed(path, "read", error));
            }
        }
    }
}

pub(crate) fn list(dir: OwnedFd, path: &str) -> Result<Option<Vec<DirectoryEntry>>, RootError> {
    let failed = |errno: Errno| failed(path, "list", errno);
    let mut dir = rustix::fs::Dir::new(dir).map_err(failed)?;
    let mut entries = Vec::new();
    while let Some(entry) = dir.read() {
        let entry = match entry {
            Ok(entry) => entry,
            // The directory of a task vanishes with the task.
            Err(errno) if is_absence(errno) => break,
            Err(errno) => return Err(failed(errno)),
        };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let mut file_type = entry.file_type();
        if file_type == FileType::Unknown {
            let own = dir
                .fd()
                .and_then(|fd| rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW));
            file_type = own.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        let kind = match file_type {
            FileType::RegularFile => DirectoryEntryType::File,
            FileType::Directory => DirectoryEntryType::Dir,
            FileType::Symlink => DirectoryEntryType::Link,
            _ => DirectoryEntryType::Other,
        };
        entries.push(DirectoryEntry {
            name: name.to_string_lossy().into_owned(),
            kind,
        });
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Some(entries))
}

pub(crate) fn too_large(path: &str) -> RootError {
    RootError::Io {
        path: path.to_owned(),
        operation: "read",
        errno: libc::EFBIG,
    }
}

pub(crate) fn kind_of(mode: u32) -> Option<PathKind> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Some(PathKind::File),
        FileType::Directory => Some(PathKind::Dir),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Live, Root};

    /// A record is read like any file, whatever its length; so are files of the running kernel.
    #[test]
    fn record_into_reads_the_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let rehearsal = Root::of(&Live::rehearsal(dir.path()));
        let same = |root: &Root, path: &str| {
            let mut record = b"what was there before".to_vec();
            let found = root.record_into(path, &mut record).unwrap();
            assert_eq!(found.then_some(record), root.bytes(path).unwrap(), "{path}");
        };
        for length in [0, 1, 4095, 4096, 4097, 8191, 8192, 30_000] {
            std::fs::write(dir.path().join("file"), vec![b'x'; length]).unwrap();
            same(&rehearsal, "/file");
        }
        same(&rehearsal, "/");
        same(&rehearsal, "/none");
        let files = [
            "/proc/version",
            "/proc/cmdline",
            "/proc/self/comm",
            "/proc/self/cgroup",
            "/proc/sys/kernel/osrelease",
            "/sys/devices/system/cpu/online",
            "/proc/1073741824/stat",
        ];
        files.iter().for_each(|path| same(&Root::live(), path));
    }
}
