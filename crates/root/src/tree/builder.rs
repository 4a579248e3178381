//! Builds a [`ArchiveTree`] from the entries of an archive, in any order, and sorts them when all are known.

use super::ArchiveTree;
use super::nodes::{ArchiveNode, NodeContent, Nodes};
use super::store::{Store, StoreSpan};
use crate::RootError;
use crate::error::OnPath;
use crate::files::{TOP_NAMES, hostile};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;

/// Collects the entries of an archive one at a time.
pub(crate) struct TreeBuilder {
    store: Store,
    nodes: Nodes,
    /// Folders by a hash of their parent folder and name; on a collision, by the next free number.
    dirs: HashMap<u64, u32>,
    hasher: RandomState,
    last_dir: (Vec<u8>, u32),
}

impl TreeBuilder {
    pub(crate) fn new() -> TreeBuilder {
        TreeBuilder {
            store: Store::default(),
            nodes: Nodes::new(),
            dirs: HashMap::new(),
            hasher: RandomState::new(),
            last_dir: (Vec::new(), 0),
        }
    }

    /// The number of entries so far, including folders that are only implied by names.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() as usize
    }

    /// Adds a directory and its parents.
    pub(crate) fn dir(&mut self, path: &[u8]) -> u32 {
        // Entries come folder by folder, so the last one is needed repeatedly.
        let (last, node) = &self.last_dir;
        if last == path {
            return *node;
        }
        let mut at = 0;
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            at = match self.find_dir(at, name) {
                Ok(known) => known,
                Err(free) => {
                    let dir = self.nodes.push(at, 0o755, name, NodeContent::Dir(StoreSpan::default()));
                    self.dirs.insert(free, dir);
                    dir
                }
            };
        }
        self.last_dir.0.clear();
        self.last_dir.0.extend_from_slice(path);
        self.last_dir.1 = at;
        at
    }

    /// A folder by its name; else the free number for it.
    fn find_dir(&self, parent: u32, name: &[u8]) -> Result<u32, u64> {
        let mut key = self.hasher.hash_one((parent, name));
        loop {
            let Some(&known) = self.dirs.get(&key) else {
                return Err(key);
            };
            let node = self.nodes.get(known);
            if node.is_some_and(|node| node.parent == parent && self.nodes.text(node.name) == name) {
                return Ok(known);
            }
            key = key.wrapping_add(1);
        }
    }

    /// Adds a symbolic link.
    pub(crate) fn link(&mut self, path: &[u8], target: &[u8]) {
        let target = self.nodes.store(target);
        self.add(path, 0o777, NodeContent::Link(target));
    }

    /// Adds a second name of a file whose path in the archive is `target`.
    pub(crate) fn same(&mut self, path: &[u8], target: &[u8]) {
        let target = self.nodes.store(target);
        self.add(path, 0o644, NodeContent::Same(target));
    }

    /// Adds a file of at most `size` bytes, and returns how many `content` had. The size is only a claim until the
    /// bytes are read, so nothing is reserved for it.
    ///
    /// # Errors
    /// Those of `content` and of the store.
    pub(crate) fn file(&mut self, path: &[u8], mode: u32, size: u64, content: &mut impl Read) -> std::io::Result<u64> {
        let span = self.store.append_from(content, size)?;
        self.add(path, mode, NodeContent::File(span));
        Ok(span.len.into())
    }

    fn add(&mut self, path: &[u8], mode: u32, what: NodeContent) {
        let end = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let parent = self.dir(path.get(..end).unwrap_or_default());
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        self.nodes.push(parent, mode, name, what);
    }

    /// Sorts all entries. `None` if they contain no captured machine.
    ///
    /// # Errors
    /// [`RootError::Hostile`] for a hard link whose target is not a file of the archive; those of the store.
    pub(crate) fn finish(mut self) -> Result<Option<ArchiveTree>, RootError> {
        self.dirs = HashMap::new();
        self.nodes.sort();
        self.resolve_hard_links()?;
        let Some(base) = self.base() else {
            return Ok(None);
        };
        self.store.finish().on("the unpacked archive", "store")?;
        Ok(Some(ArchiveTree {
            store: self.store,
            nodes: self.nodes,
            base,
        }))
    }

    fn resolve_hard_links(&mut self) -> Result<(), RootError> {
        for place in 0..self.nodes.len() {
            let Some(NodeContent::Same(target)) = self.nodes.get(place).map(|node| node.what) else {
                continue;
            };
            let path = self.nodes.text(target);
            let mut names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
            let found = names.try_fold(0, |at, name| self.nodes.child(at, name));
            match found.and_then(|node| self.nodes.get(node)).map(|node| node.what) {
                Some(what @ NodeContent::File(_)) => self.nodes.set(place, what),
                _ => {
                    return Err(hostile(
                        &String::from_utf8_lossy(path),
                        "a hard link refers to it, but it is not a file of the archive",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The folder that is the captured `/`: the top, or the only folder there.
    fn base(&self) -> Option<u32> {
        let is_dir = |node| self.nodes.get(node).is_some_and(ArchiveNode::is_dir);
        let is_machine = |node: u32| {
            let mut tops = TOP_NAMES.iter();
            tops.any(|name| self.nodes.child(node, name.as_bytes()).is_some_and(is_dir))
        };
        if is_machine(0) {
            return Some(0);
        }
        let mut folders = self.nodes.children(0).iter().copied().filter(|&node| is_dir(node));
        match (folders.next(), folders.next()) {
            (Some(folder), None) if is_machine(folder) => Some(folder),
            _ => None,
        }
    }
}
