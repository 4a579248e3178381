//! Reads a machine that was captured earlier: a directory, or an archive that is unpacked when it is opened.
//!
//! The author of the capture is not trusted. Nothing outside the root is ever opened. Links are resolved inside it (an absolute
//! target starts at the root, as it did on the machine). A link that leaves the root or forms a loop is refused when it is
//! followed, and devices and pipes are never read. A dangling link counts as absence, because captures are incomplete.

use crate::archive;
use crate::folder::Folder;
use crate::tree::Tree;
use crate::{Entry, Kind, RootError};
use std::path::Path;

pub(crate) enum Captured {
    Folder(Folder),
    Tree(Tree),
}

impl Captured {
    pub(crate) fn open(path: &Path) -> Result<Captured, RootError> {
        let shown = path.display().to_string();
        let meta = std::fs::metadata(path).map_err(|error| RootError::from_io(&shown, "open", &error))?;
        if meta.is_dir() {
            return Folder::open(path).map(Captured::Folder);
        }
        archive::unpack(path).map(Captured::Tree)
    }

    pub(crate) fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, RootError> {
        match self {
            Captured::Folder(folder) => folder.bytes(path),
            Captured::Tree(tree) => {
                let mut content = Vec::new();
                Ok(tree.bytes_into(path, u64::MAX, &mut content)?.then_some(content))
            }
        }
    }

    pub(crate) fn bytes_into(
        &self,
        path: &str,
        limit: u64,
        content: &mut Vec<u8>,
    ) -> Result<bool, RootError> {
        content.clear();
        match self {
            Captured::Folder(folder) => folder.bytes_into(path, limit, content),
            Captured::Tree(tree) => tree.bytes_into(path, limit, content),
        }
    }

    pub(crate) fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError> {
        match self {
            Captured::Folder(folder) => folder.lines(path, each),
            Captured::Tree(tree) => tree.lines(path, each),
        }
    }

    pub(crate) fn entries(&self, dir: &str) -> Result<Option<Vec<Entry>>, RootError> {
        match self {
            Captured::Folder(folder) => folder.entries(dir),
            Captured::Tree(tree) => tree.entries(dir),
        }
    }

    pub(crate) fn mode(&self, path: &str) -> Result<Option<u32>, RootError> {
        match self {
            Captured::Folder(folder) => folder.mode(path),
            Captured::Tree(tree) => tree.mode(path),
        }
    }

    pub(crate) fn kind(&self, path: &str) -> Result<Option<Kind>, RootError> {
        match self {
            Captured::Folder(folder) => folder.kind(path),
            Captured::Tree(tree) => tree.kind(path),
        }
    }

    pub(crate) fn link(&self, path: &str) -> Result<Option<String>, RootError> {
        match self {
            Captured::Folder(folder) => folder.link(path),
            Captured::Tree(tree) => tree.link(path),
        }
    }
}
