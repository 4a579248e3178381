//! Defines what can be read of a machine, wherever its files are: on the running system, in a directory, in an archive. Also
//! what a captured machine must contain, what its links may do, and the errors for violations.
//!
//! The author of a capture is not trusted. Nothing outside the root is ever opened. Links are resolved inside it (an absolute
//! target starts at the root, as it did on the machine). A link that leaves the root or forms a loop is refused when it is
//! followed, and devices and pipes are never read. A dangling link counts as absence, because captures are incomplete.

use crate::{DirectoryEntry, PathKind, RootError};
use std::path::Path;

/// Maximum number of links on the way to one file, as in the kernel (`MAXSYMLINKS`).
pub(crate) const MAX_LINKS: u32 = 40;

/// Names that a capture must contain at its top (or in a single top folder).
pub(crate) const TOP_NAMES: [&str; 2] = ["proc", "sys"];

/// The error for a capture with forbidden content.
pub(crate) fn hostile(path: &str, what: &str) -> RootError {
    RootError::Hostile {
        path: path.to_owned(),
        what: what.to_owned(),
    }
}

/// Why a path is refused: a link on it leaves the root.
pub(crate) const CLIMBS_OUT: &str = "a link in this path leads out of the captured root";
/// Why a path is refused: its links form a loop.
pub(crate) const LOOPS: &str = "the links in this path form a loop";

/// The error for something readable that is not a captured machine.
pub(crate) fn not_a_machine(path: &Path) -> RootError {
    RootError::Archive {
        path: path.to_owned(),
        why: "it contains neither `proc` nor `sys`, at its top or in a single folder there; pass a directory or \
             archive from `quietcore snapshot`, or one with copies of /proc and /sys"
            .to_owned(),
    }
}

/// The queries of [`Root`](crate::Root), which documents them. Buffers for content are empty.
pub(crate) trait FileQueries {
    fn bytes_into(&self, path: &str, limit: u64, content: &mut Vec<u8>) -> Result<bool, RootError>;

    fn record_into(&self, path: &str, content: &mut Vec<u8>) -> Result<bool, RootError> {
        self.bytes_into(path, u64::MAX, content)
    }

    fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError>;

    fn entries(&self, dir: &str) -> Result<Option<Vec<DirectoryEntry>>, RootError>;

    fn mode(&self, path: &str) -> Result<Option<u32>, RootError>;

    fn kind(&self, path: &str) -> Result<Option<PathKind>, RootError>;

    fn inode(&self, _path: &str) -> Result<Option<u64>, RootError> {
        Ok(None)
    }

    fn link(&self, path: &str) -> Result<Option<String>, RootError>;
}
