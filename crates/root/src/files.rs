//! Defines what can be read of a machine, wherever its files are: on the running system, in a directory, in an archive.
//!
//! The author of a capture is not trusted. Nothing outside the root is ever opened. Links are resolved inside it (an absolute
//! target starts at the root, as it did on the machine). A link that leaves the root or forms a loop is refused when it is
//! followed, and devices and pipes are never read. A dangling link counts as absence, because captures are incomplete.

use crate::{DirectoryEntry, PathKind, RootError};

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

    fn link(&self, path: &str) -> Result<Option<String>, RootError>;
}
