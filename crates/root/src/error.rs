//! What can go wrong with a file of the machine, always with its path.

use std::path::PathBuf;

/// An error while reading or writing the machine's files. Absence is not an error.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The kernel refused for lack of privilege (EACCES or EPERM).
    #[error("{path}: permission denied")]
    Denied {
        /// Path inside the root.
        path: String,
        /// The errno: EACCES or EPERM (a managed interrupt gives EPERM from 6.12 on).
        errno: i32,
    },
    /// Any other error of the operating system.
    #[error("{path}: {doing}: {}", std::io::Error::from_raw_os_error(*errno))]
    Io {
        /// Path inside the root.
        path: String,
        /// `read`, `write`, `create` ...
        doing: &'static str,
        /// The errno.
        errno: i32,
    },
    /// A captured root that tries to leave itself, or holds what a capture cannot hold.
    #[error("{path}: {what}; captured roots may hold only files, directories and links that stay inside")]
    Hostile {
        /// Name inside the archive or directory.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// An archive that cannot be read, or one (or a directory) that holds no machine.
    #[error("{}: not a captured machine: {why}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What the decoder said.
        why: String,
    },
    /// The name of an archive to be written, which says no format that we write.
    #[error(
        "{}: this name says no archive format; end it in .tar, .tar.gz, .tar.bz2, .tar.xz or .tar.zst",
        path.display()
    )]
    Ending {
        /// The name.
        path: PathBuf,
    },
    /// A file of the tool's own state that is not safe to use.
    #[error("{path}: {what}")]
    State {
        /// Path on the machine.
        path: String,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// A symbolic link on the way to a file that is to be written, of a user who must not decide where this process writes.
    #[error("{}: user {uid} owns a symbolic link in this path; links of root and of the user that runs quietcore are followed, no others", path.display())]
    ForeignLink {
        /// The path that was given.
        path: PathBuf,
        /// Who owns the link.
        uid: u32,
    },
    /// A pipe of another user in a directory where everybody may make files.
    #[error("{}: it is a pipe of user {uid} in a directory where everybody may place files", path.display())]
    ForeignPipe {
        /// The path that was given.
        path: PathBuf,
        /// Who owns the pipe.
        uid: u32,
    },
    /// A lock that another process has.
    #[error("another quietcore is changing this machine: {holder} has the lock {path}")]
    Busy {
        /// Path of the lock file on the machine.
        path: String,
        /// In words, which process has it.
        holder: String,
    },
}

impl RootError {
    /// The error number, where the operating system gave one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            RootError::Denied { errno, .. } | RootError::Io { errno, .. } => Some(*errno),
            _ => None,
        }
    }

    /// Whether a file has more bytes than were asked for.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.errno() == Some(libc::EFBIG)
    }

    /// From the standard library's error, sorted into `Denied` and `Io`.
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
                doing,
                errno,
            },
        }
    }
}
