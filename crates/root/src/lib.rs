//! Gives access to a machine's files: the running system, a captured directory, or an archive.
//!
//! This crate is the only one that opens files of the machine. Reading commands take a [`Root`] and behave the same on
//! all three kinds. Changing commands need a [`Live`], which cannot be created from a captured machine, so "apply to an
//! archive" does not compile. The tool's own state (journal, results) goes through [`state`].

mod archive;
mod attributes;
pub mod datagram;
pub mod descriptor;
mod destination;
mod efi;
mod error;
mod failure;
mod files;
pub mod first;
mod folder;
mod gzip;
pub mod inherited;
pub mod input;
mod kmsg;
pub mod latency;
mod live;
pub mod log;
pub mod mapped;
pub mod notification;
pub mod output;
mod ownership;
mod path_state;
pub mod pipe;
mod place;
pub mod process;
mod process_group;
mod registers;
pub mod ring;
pub mod sched;
pub mod snapshot;
mod socket_query;
mod spinner;
pub mod spool;
pub mod state;
mod tracefs;
mod tree;
mod zstd;

pub use error::{RootError, errno_text};
pub use failure::{Failure, Status};
pub use gzip::MAX_INFLATED;
pub use live::Live;
pub use ownership::{Ownership, changeable_by_others};
pub use path_state::{Content, PathState, RenameAtomicity};
pub use place::DirectoryHandle;
pub use process_group::ProcessGroup;
pub use socket_query::Address;
pub use spinner::Spinner;
pub use tracefs::Tracefs;

use crate::error::OnPath;
use files::FileQueries;
use folder::Folder;
use std::path::Path;
use tree::ArchiveTree;

/// Whether the files describe the machine that we run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The running machine.
    Live,
    /// A directory or archive that was captured earlier, possibly on another machine.
    #[default]
    Captured,
}

/// What exists at a path, after links were followed inside the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
}

/// The result of a query to the running kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryResult {
    /// It answered.
    Answered,
    /// The subject of the query no longer exists.
    Missing,
    /// There is no kernel to query, or it does not answer: read the files instead.
    Cannot,
}

/// One name in a directory, links not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name.
    pub name: String,
    /// The type of the name itself.
    pub kind: DirectoryEntryType,
}

/// The type of a name in a directory, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryEntryType {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// The kernel log of a captured machine; Debian's `dmesg` writes there too.
pub const KERNEL_LOG: &str = "/var/log/dmesg";

/// A tree of kernel files that can be read. Paths are absolute inside the root (`/proc/cpuinfo`).
///
/// Absence is `None`, never an error: a missing kernel file is an unknown. The error of every read is
/// [`RootError::Denied`] without permission, [`RootError::Io`] with the errno otherwise. Reads are safe to call from several
/// threads at once.
pub struct Root {
    backend: Backend,
}

enum Backend {
    Live(Live),
    Folder(Folder),
    Archive(ArchiveTree),
}

impl Root {
    /// The running machine.
    #[must_use]
    pub fn live() -> Root {
        Root {
            backend: Backend::Live(Live::host()),
        }
    }

    /// The read-only view of a machine that may also be changed.
    #[must_use]
    pub fn of(live: &Live) -> Root {
        Root {
            backend: Backend::Live(live.clone()),
        }
    }

    /// A captured machine: a directory, or a tar archive (plain, gz, bz2, xz or zst, detected by content).
    ///
    /// A single top folder is taken as the root. Symbolic links are resolved inside the root.
    ///
    /// # Errors
    /// [`RootError::Hostile`] for names that are absolute or leave the root, link loops, links that leave the root,
    /// device nodes and fifos; [`RootError::Archive`] for truncated or corrupt archives and decompression bombs.
    pub fn open(path: &Path) -> Result<Root, RootError> {
        let meta = std::fs::metadata(path).on(path, "open")?;
        let backend = match meta.is_dir() {
            true => Backend::Folder(Folder::open(path)?),
            false => Backend::Archive(archive::unpack(path)?),
        };
        Ok(Root { backend })
    }

    /// Live or captured.
    #[must_use]
    pub fn origin(&self) -> Origin {
        match self.backend {
            Backend::Live(_) => Origin::Live,
            Backend::Folder(_) | Backend::Archive(_) => Origin::Captured,
        }
    }

    fn files(&self) -> &dyn FileQueries {
        match &self.backend {
            Backend::Live(live) => live,
            Backend::Folder(folder) => folder,
            Backend::Archive(tree) => tree,
        }
    }

    /// The whole content of a file; `None` if it does not exist.
    pub fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, RootError> {
        let mut content = Vec::new();
        Ok(self.bytes_into(path, &mut content)?.then_some(content))
    }

    /// As [`Root::bytes`], into a reusable buffer that is cleared first; `false` if the file does not exist.
    pub fn bytes_into(&self, path: &str, content: &mut Vec<u8>) -> Result<bool, RootError> {
        self.bytes_at_most(path, u64::MAX, content)
    }

    /// As [`Root::bytes_into`], for a file that is one record to the kernel, as all one-value files and most files of a
    /// task are: these need no second read.
    pub fn record_into(&self, path: &str, content: &mut Vec<u8>) -> Result<bool, RootError> {
        content.clear();
        self.files().record_into(path, content)
    }

    /// As [`Root::bytes_into`], with a size limit.
    ///
    /// # Errors
    /// As [`Root::bytes`], and `EFBIG` for more than `limit` bytes.
    pub fn bytes_at_most(&self, path: &str, limit: u64, content: &mut Vec<u8>) -> Result<bool, RootError> {
        content.clear();
        self.files().bytes_into(path, limit, content)
    }

    /// The content of a gzip file (`/proc/config.gz`), unpacked as text.
    ///
    /// # Errors
    /// As [`Root::bytes`]; [`RootError::Io`] with `EILSEQ` for invalid data, or for more than [`MAX_INFLATED`] bytes of text.
    pub fn inflated(&self, path: &str) -> Result<Option<String>, RootError> {
        let Some(packed) = self.bytes(path)? else {
            return Ok(None);
        };
        let text = gzip::unpacked_text(&packed).ok_or_else(|| RootError::Io {
            path: path.to_owned(),
            operation: "unpack",
            errno: libc::EILSEQ,
        });
        text.map(Some)
    }

    /// The whole content of a file as text. Bytes that are not UTF-8 (a hostile comm) become U+FFFD.
    pub fn text(&self, path: &str) -> Result<Option<String>, RootError> {
        Ok(self.bytes(path)?.map(into_text))
    }

    /// As [`Root::text`], without the white space (and NUL) at both ends: for one-value files.
    pub fn value(&self, path: &str) -> Result<Option<String>, RootError> {
        let blank = |letter: char| letter.is_whitespace() || letter == '\0';
        let mut content = Vec::new();
        let found = self.record_into(path, &mut content)?;
        Ok(found.then(|| into_text(content).trim_matches(blank).to_owned()))
    }

    /// As [`Root::text`], for a caller that treats an unreadable file as missing.
    #[must_use]
    pub fn readable_text(&self, path: &str) -> Option<String> {
        self.text(path).ok().flatten()
    }

    /// As [`Root::value`], for a caller that treats an unreadable file as missing.
    #[must_use]
    pub fn readable_value(&self, path: &str) -> Option<String> {
        self.value(path).ok().flatten()
    }

    /// As [`Root::names`], for a caller that treats an unreadable directory as missing.
    #[must_use]
    pub fn readable_names(&self, dir: &str) -> Option<Vec<String>> {
        self.names(dir).ok().flatten()
    }

    /// Calls `each` with every line of a file that may be too large for memory. `false` if the file does not exist.
    pub fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError> {
        self.files().lines(path, each)
    }

    /// The first messages of the kernel since its boot, in order: of the running one from `/dev/kmsg` (never blocking),
    /// of a captured one from [`KERNEL_LOG`]. `None` if there are none, or if the first are lost.
    ///
    /// # Errors
    /// As [`Root::bytes`]; many machines show the log only to root.
    pub fn kernel_log(&self) -> Result<Option<Vec<String>>, RootError> {
        match &self.backend {
            Backend::Live(live) => kmsg::messages(&live.locate("/dev/kmsg")),
            _ => Ok(self.text(KERNEL_LOG)?.map(|text| kmsg::from_text(&text))),
        }
    }

    /// The names in a directory, sorted; `None` if it does not exist.
    pub fn names(&self, dir: &str) -> Result<Option<Vec<String>>, RootError> {
        Ok(self
            .entries(dir)?
            .map(|entries| entries.into_iter().map(|entry| entry.name).collect()))
    }

    /// The entries of a directory, sorted by name; `None` if it does not exist.
    pub fn entries(&self, dir: &str) -> Result<Option<Vec<DirectoryEntry>>, RootError> {
        self.files().entries(dir)
    }

    /// The permission bits of a file (`0o644`), links followed; `None` if it does not exist. They show which interrupts
    /// the kernel manages.
    pub fn mode(&self, path: &str) -> Result<Option<u32>, RootError> {
        self.files().mode(path)
    }

    /// The inode of a file, links followed: it distinguishes a cgroup from a later one of the same name, because kernfs
    /// does not reuse its numbers. `None` if the file does not exist, and on a captured machine.
    pub fn inode(&self, path: &str) -> Result<Option<u64>, RootError> {
        self.files().inode(path)
    }

    /// What exists at a path; `None` for nothing, and for anything that is neither file nor directory.
    pub fn kind(&self, path: &str) -> Result<Option<PathKind>, RootError> {
        self.files().kind(path)
    }

    /// The active CPUs that a thread may run on, by system call and without opening a file. This is for queries about
    /// ten thousand threads: each file of `/proc` costs ten times as much.
    pub fn affinity(&self, tid: u32, words: &mut Vec<u64>) -> QueryResult {
        match &self.backend {
            Backend::Live(live) if live.is_host() => match sched::affinity(tid, words) {
                Ok(()) => QueryResult::Answered,
                Err(libc::ESRCH) => QueryResult::Missing,
                Err(_) => QueryResult::Cannot,
            },
            _ => QueryResult::Cannot,
        }
    }

    /// The text of a symbolic link, not followed; `None` if there is no link.
    pub fn link(&self, path: &str) -> Result<Option<String>, RootError> {
        self.files().link(path)
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
