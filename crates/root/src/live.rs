//! The running machine, or a writable directory that stands in for it in tests.
//!
//! Every kernel file is written with exactly one `write(2)`: the kernel takes each write as one command.

use crate::{Kind, RootError};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
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

    /// A directory that stands in for a machine: the journal's tests apply and undo there.
    #[must_use]
    pub fn rehearsal(base: impl Into<PathBuf>) -> Live {
        Live { base: base.into() }
    }

    /// Whether this is the machine itself and not a rehearsal.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.base.as_os_str() == "/"
    }

    /// Where a path of the machine stands in the file system.
    #[must_use]
    pub fn locate(&self, path: &str) -> PathBuf {
        self.base.join(path.trim_start_matches('/'))
    }

    pub(crate) fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, RootError> {
        let Some(mut file) = self.open(path)? else {
            return Ok(None);
        };
        let mut content = Vec::new();
        match file.read_to_end(&mut content) {
            Ok(_) => Ok(Some(content)),
            // A task that exits while we read gives ESRCH; a directory is not a file.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ESRCH | libc::EISDIR | libc::ENODEV)
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(RootError::from_io(path, "read", &error)),
        }
    }

    pub(crate) fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError> {
        let Some(file) = self.open(path)? else {
            return Ok(false);
        };
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.read_until(b'\n', &mut line) {
                Ok(0) => return Ok(true),
                Ok(_) => each(line.strip_suffix(b"\n").unwrap_or(&line)),
                Err(error) => return Err(RootError::from_io(path, "read", &error)),
            }
        }
    }

    pub(crate) fn names(&self, dir: &str) -> Result<Option<Vec<String>>, RootError> {
        let entries = match std::fs::read_dir(self.locate(dir)) {
            Ok(entries) => entries,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(RootError::from_io(dir, "list", &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => names.push(entry.file_name().to_string_lossy().into_owned()),
                // The directory of a task vanishes with the task.
                Err(error) if is_absence(&error) => break,
                Err(error) => return Err(RootError::from_io(dir, "list", &error)),
            }
        }
        names.sort_unstable();
        Ok(Some(names))
    }

    pub(crate) fn kind(&self, path: &str) -> Result<Option<Kind>, RootError> {
        match std::fs::metadata(self.locate(path)) {
            Ok(meta) if meta.is_dir() => Ok(Some(Kind::Dir)),
            Ok(meta) if meta.is_file() => Ok(Some(Kind::File)),
            Ok(_) => Ok(None),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(RootError::from_io(path, "stat", &error)),
        }
    }

    pub(crate) fn link(&self, path: &str) -> Result<Option<String>, RootError> {
        match std::fs::read_link(self.locate(path)) {
            Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
            Err(error) if is_absence(&error) || error.kind() == ErrorKind::InvalidInput => Ok(None),
            Err(error) => Err(RootError::from_io(path, "readlink", &error)),
        }
    }

    /// Writes a value to a kernel file that exists, with one `write(2)`.
    ///
    /// # Errors
    /// The errno of open or write, as [`RootError::Denied`] or [`RootError::Io`].
    pub fn write(&self, path: &str, value: &[u8]) -> Result<(), RootError> {
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(!self.is_host())
            .open(self.locate(path))
            .map_err(|error| RootError::from_io(path, "open", &error))?;
        let written = file
            .write(value)
            .map_err(|error| RootError::from_io(path, "write", &error))?;
        if written == value.len() {
            Ok(())
        } else {
            Err(RootError::Io {
                path: path.to_owned(),
                doing: "short write",
                errno: libc::EIO,
            })
        }
    }

    /// Makes a directory (a cgroup) whose parent exists.
    ///
    /// # Errors
    /// The errno of mkdir.
    pub fn make_dir(&self, path: &str) -> Result<(), RootError> {
        std::fs::create_dir(self.locate(path)).map_err(|error| RootError::from_io(path, "create", &error))
    }

    /// Removes a directory (a cgroup).
    ///
    /// # Errors
    /// The errno of rmdir: EBUSY while tasks or children remain.
    pub fn remove_dir(&self, path: &str) -> Result<(), RootError> {
        std::fs::remove_dir(self.locate(path)).map_err(|error| RootError::from_io(path, "remove", &error))
    }

    fn open(&self, path: &str) -> Result<Option<File>, RootError> {
        match File::open(self.locate(path)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(RootError::from_io(path, "open", &error)),
        }
    }
}

fn is_absence(error: &std::io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENOTDIR | libc::ESRCH | libc::ENXIO | libc::ENODEV)
    )
}
