//! Defines errors about the machine's files, always with the path.

use crate::{Failure, Status};
use rustix::io::Errno;
use std::fmt;
use std::io::Error;
use std::path::{Path, PathBuf};

/// An error while reading or writing the machine's files. Absence is not an error.
#[derive(Debug)]
pub enum RootError {
    /// The kernel refused for lack of privilege (EACCES or EPERM).
    Denied {
        /// Path inside the root.
        path: String,
        /// The errno: EACCES or EPERM (a managed interrupt gives EPERM from 6.12 on).
        errno: i32,
    },
    /// Any other error of the operating system.
    Io {
        /// Path inside the root.
        path: String,
        /// `read`, `write`, `create` ...
        operation: &'static str,
        /// The errno.
        errno: i32,
    },
    /// A captured root with a path that leaves it, or with forbidden content.
    Hostile {
        /// Name inside the archive or directory.
        path: String,
        /// The problem.
        what: String,
    },
    /// An archive that cannot be read, or one (or a directory) that contains no machine.
    Archive {
        /// The archive.
        path: PathBuf,
        /// The decoder's error.
        why: String,
    },
    /// The name of an output archive whose extension is not a supported format.
    Ending {
        /// The name.
        path: PathBuf,
    },
    /// A file of the tool's own state that is not safe to use.
    State {
        /// Path on the machine.
        path: String,
        /// The problem, and what to do.
        what: String,
    },
    /// A symbolic link on the way to an output file whose owner must not decide where this process writes.
    ForeignLink {
        /// The path that was given.
        path: PathBuf,
        /// The owner of the link.
        uid: u32,
    },
    /// A pipe of another user in a directory where all users may create files.
    ForeignPipe {
        /// The path that was given.
        path: PathBuf,
        /// The owner of the pipe.
        uid: u32,
    },
    /// A lock held by another process.
    Busy {
        /// Path of the lock file on the machine.
        path: String,
        /// The process that holds it, in words.
        holder: String,
    },
}

impl RootError {
    /// The error number, if the operating system reported one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            RootError::Denied { errno, .. } | RootError::Io { errno, .. } => Some(*errno),
            _ => None,
        }
    }

    /// Whether the error is that a file exceeds the size limit.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.errno() == Some(libc::EFBIG)
    }

    /// Converts the standard library's error to `Denied` or `Io`.
    #[must_use]
    pub fn from_io(path: &str, doing: &'static str, error: &std::io::Error) -> RootError {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        match errno {
            libc::EACCES | libc::EPERM => RootError::Denied {
                path: path.to_owned(),
                errno,
            },
            _ => RootError::Io {
                path: path.to_owned(),
                operation: doing,
                errno,
            },
        }
    }
}

/// The C library's text for an errno: `No such file or directory`.
#[must_use]
pub fn errno_text(errno: i32) -> String {
    let text = Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// The error of an operation on a path.
pub(crate) fn failed(path: impl AsRef<Path>, operation: &'static str, error: impl Into<Error>) -> RootError {
    RootError::from_io(&path.as_ref().display().to_string(), operation, &error.into())
}

/// Adds the path and the operation to an error of the system.
pub(crate) trait OnPath<T> {
    fn on(self, path: impl AsRef<Path>, operation: &'static str) -> Result<T, RootError>;

    /// `None` if nothing has that name.
    fn if_there(self, path: impl AsRef<Path>, operation: &'static str) -> Result<Option<T>, RootError>;
}

impl<T, E: Into<Error>> OnPath<T> for Result<T, E> {
    fn on(self, path: impl AsRef<Path>, operation: &'static str) -> Result<T, RootError> {
        self.map_err(|error| failed(path, operation, error))
    }

    fn if_there(self, path: impl AsRef<Path>, operation: &'static str) -> Result<Option<T>, RootError> {
        match self.map_err(Into::into) {
            Ok(found) => Ok(Some(found)),
            Err(error) if Errno::from_io_error(&error).is_some_and(is_absence) => Ok(None),
            Err(error) => Err(failed(path, operation, error)),
        }
    }
}

/// Whether an error means that nothing has that name.
pub(crate) fn is_absence(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::SRCH | Errno::NXIO | Errno::NODEV
    )
}

impl From<RootError> for Failure {
    fn from(error: RootError) -> Failure {
        Failure::from(&error)
    }
}

impl From<&RootError> for Failure {
    fn from(error: &RootError) -> Failure {
        const NOT_CAPTURED: &str = "specify a directory or an archive that `quietcore snapshot` wrote";
        const OWN_DIRECTORY: &str = "choose a file in a directory of your own";
        let shown = |path: &PathBuf| path.display().to_string();
        match error {
            RootError::Denied { path, .. } => Failure::new(
                Status::Denied,
                format!("cannot access {path}"),
                "permission denied",
                "run it as root (sudo quietcore ...)",
            ),
            RootError::Io { path, operation, errno } => Failure::unable(
                format!("cannot {operation} {path}"),
                errno_text(*errno),
                "check the path named above",
            ),
            RootError::Hostile { path, what } => Failure::usage(
                path,
                format!("{what}; a captured root may contain only files, directories and links that stay inside"),
                NOT_CAPTURED,
            ),
            RootError::Archive { path, why } => {
                Failure::usage(shown(path), format!("not a captured machine: {why}"), NOT_CAPTURED)
            }
            RootError::Ending { path } => Failure::usage(
                shown(path),
                "this name has no archive extension; end it in .tar, .tar.gz, .tar.bz2, .tar.xz or .tar.zst",
                "use a name with one of these extensions",
            ),
            RootError::State { path, what } => {
                Failure::unable(path, what, "move the file named above away, then try again")
            }
            RootError::ForeignLink { path, uid } => Failure::new(
                Status::Denied,
                shown(path),
                format!(
                    "user {uid} owns a symbolic link in this path; quietcore follows only links of root and of the \
                     user that runs it"
                ),
                OWN_DIRECTORY,
            ),
            RootError::ForeignPipe { path, uid } => Failure::new(
                Status::Denied,
                shown(path),
                format!("it is a pipe of user {uid} in a directory where every user may create files"),
                OWN_DIRECTORY,
            ),
            RootError::Busy { path, holder } => Failure::new(
                Status::Conflict,
                "another quietcore is changing this machine",
                format!("{holder} holds the lock {path}"),
                "wait until it has finished, then try again",
            ),
        }
    }
}

/// What and why, on one line.
impl fmt::Display for RootError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { what, why, .. } = Failure::from(self);
        write!(out, "{what}: {why}")
    }
}

impl std::error::Error for RootError {}
