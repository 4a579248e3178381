//! Builds a [`Tree`] from the entries of an archive, in any order: small records in memory while entries are added,
//! sorted listings in the store when all are known.

use super::Tree;
use super::listing::{Record, Sort, encode, u32_of};
use super::store::{Span, Store};
use crate::RootError;
use crate::capture_rules::{TOP_NAMES, hostile};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;

#[derive(Clone, Copy)]
enum What {
    /// Nothing while entries are added; then the range of its children in the order; finally its listing.
    Dir(Span),
    File(Span),
    Link(Span),
    /// A hard link, until all entries are known: the name of its target.
    Same(Span),
}

struct Node {
    parent: u32,
    /// In the names.
    name: Span,
    mode: u16,
    what: What,
}

/// Collects the entries of an archive one at a time.
pub(crate) struct TreeBuilder {
    store: Store,
    names: Vec<u8>,
    nodes: Vec<Node>,
    /// Folders by a hash of their parent folder and name; on a collision, by the next free number.
    dirs: HashMap<u64, u32>,
    hasher: RandomState,
    last_dir: (Vec<u8>, u32),
}

impl TreeBuilder {
    pub(crate) fn new() -> TreeBuilder {
        let top = Node {
            parent: 0,
            name: Span::default(),
            mode: 0o755,
            what: What::Dir(Span::default()),
        };
        TreeBuilder {
            store: Store::default(),
            names: Vec::new(),
            nodes: vec![top],
            dirs: HashMap::new(),
            hasher: RandomState::new(),
            last_dir: (Vec::new(), 0),
        }
    }

    /// The number of entries so far, including folders that are only implied by names.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
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
                    let dir = self.push(at, 0o755, name, What::Dir(Span::default()));
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
            let node = self.nodes.get(known as usize);
            if node.is_some_and(|node| node.parent == parent && self.name(node) == name) {
                return Ok(known);
            }
            key = key.wrapping_add(1);
        }
    }

    /// Adds a symbolic link.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn link(&mut self, path: &[u8], target: &[u8]) -> std::io::Result<()> {
        let start = u32_of64(self.store.len());
        self.store.append(target)?;
        let len = u32_of(target.len());
        self.add(path, 0o777, What::Link(Span { start, len }));
        Ok(())
    }

    /// Adds a second name of a file whose path in the archive is `target`.
    pub(crate) fn same(&mut self, path: &[u8], target: &[u8]) {
        let target = self.keep(target);
        self.add(path, 0o644, What::Same(target));
    }

    /// Adds a file of at most `size` bytes, and returns how many `content` had. The size is only a claim until the
    /// bytes are read, so nothing is reserved for it.
    ///
    /// # Errors
    /// Those of `content` and of the store.
    pub(crate) fn file(
        &mut self,
        path: &[u8],
        mode: u32,
        size: u64,
        content: &mut impl Read,
    ) -> std::io::Result<u64> {
        let start = self.store.len();
        let len = self.store.append_from(content, size)?;
        let span = Span {
            start: u32_of64(start),
            len: u32_of64(len),
        };
        self.add(path, mode, What::File(span));
        Ok(len)
    }

    fn add(&mut self, path: &[u8], mode: u32, what: What) {
        let end = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let parent = self.dir(path.get(..end).unwrap_or_default());
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        self.push(parent, mode, name, what);
    }

    fn push(&mut self, parent: u32, mode: u32, name: &[u8], what: What) -> u32 {
        let name = self.keep(name);
        let mode = (mode & 0o7777) as u16;
        self.nodes.push(Node {
            parent,
            name,
            mode,
            what,
        });
        u32_of(self.nodes.len() - 1)
    }

    fn keep(&mut self, name: &[u8]) -> Span {
        let start = u32_of(self.names.len());
        self.names.extend_from_slice(name);
        let len = u32_of(name.len());
        Span { start, len }
    }

    fn name(&self, node: &Node) -> &[u8] {
        self.kept(node.name)
    }

    fn kept(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.names
            .get(start..start + span.len as usize)
            .unwrap_or_default()
    }

    /// Sorts all entries. `None` if they contain no captured machine.
    ///
    /// # Errors
    /// [`RootError::Hostile`] for a hard link whose target is not a file of the archive; those of the store.
    pub(crate) fn finish(mut self) -> Result<Option<Tree>, RootError> {
        self.dirs = HashMap::new();
        let order = self.sort();
        self.resolve_hard_links(&order)?;
        let Some(base) = self.base(&order) else {
            return Ok(None);
        };
        let stored = self.write_listings(&order).and_then(|()| self.store.finish());
        stored.map_err(|error| RootError::from_io("the unpacked archive", "store", &error))?;
        Ok(match self.nodes.get(base as usize).map(|node| node.what) {
            Some(What::Dir(listing)) => Some(Tree::new(self.store, listing)),
            _ => None,
        })
    }

    /// The numbers of all nodes, by folder and name; then folders know the range of their children.
    fn sort(&mut self) -> Vec<u32> {
        let mut order: Vec<u32> = (1..u32_of(self.nodes.len())).collect();
        let parent = |node: u32| self.nodes.get(node as usize).map_or(0, |node| node.parent);
        let name = |node: u32| {
            self.nodes
                .get(node as usize)
                .map_or(&[][..], |node| self.name(node))
        };
        let key = |node: u32| (parent(node), name(node));
        // Of a name that occurs twice the last one counts, as when tar unpacks; a folder stays because of its content.
        order.sort_unstable_by(|&a, &b| {
            key(a)
                .cmp(&key(b))
                .then_with(|| self.is_dir(b).cmp(&self.is_dir(a)))
                .then(b.cmp(&a))
        });
        order.dedup_by(|later, kept| key(*later) == key(*kept));
        let mut place = 0;
        while let Some(&first) = order.get(place) {
            let dir = self.nodes.get(first as usize).map_or(0, |node| node.parent);
            let rest = order.get(place..).unwrap_or_default();
            let same = |&&node: &&u32| {
                self.nodes
                    .get(node as usize)
                    .is_some_and(|node| node.parent == dir)
            };
            let count = rest.iter().take_while(same).count();
            let children = Span {
                start: u32_of(place),
                len: u32_of(count),
            };
            if let Some(node) = self.nodes.get_mut(dir as usize) {
                node.what = What::Dir(children);
            }
            place += count.max(1);
        }
        order
    }

    fn is_dir(&self, node: u32) -> bool {
        matches!(
            self.nodes.get(node as usize),
            Some(Node {
                what: What::Dir(_),
                ..
            })
        )
    }

    fn children<'a>(&self, order: &'a [u32], dir: u32) -> &'a [u32] {
        match self.nodes.get(dir as usize).map(|node| node.what) {
            Some(What::Dir(range)) => {
                let start = range.start as usize;
                order.get(start..start + range.len as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }

    fn child(&self, order: &[u32], dir: u32, name: &[u8]) -> Option<u32> {
        let children = self.children(order, dir);
        let named = |&node: &u32| {
            self.nodes
                .get(node as usize)
                .map_or(&[][..], |node| self.name(node))
        };
        let place = children.binary_search_by(|node| named(node).cmp(name)).ok()?;
        children.get(place).copied()
    }

    fn resolve_hard_links(&mut self, order: &[u32]) -> Result<(), RootError> {
        for place in 0..self.nodes.len() {
            let Some(What::Same(target)) = self.nodes.get(place).map(|node| node.what) else {
                continue;
            };
            let path = self.kept(target);
            let mut names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
            let found = names.try_fold(0, |at, name| self.child(order, at, name));
            match found
                .and_then(|node| self.nodes.get(node as usize))
                .map(|node| node.what)
            {
                Some(what @ What::File(_)) => {
                    if let Some(node) = self.nodes.get_mut(place) {
                        node.what = what;
                    }
                }
                _ => {
                    return Err(hostile(
                        &String::from_utf8_lossy(path),
                        "a hard link names it, but it is no file of the archive",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The folder that is the captured `/`: the top, or the only folder there.
    fn base(&self, order: &[u32]) -> Option<u32> {
        let is_machine = |node: u32| {
            TOP_NAMES.iter().any(|name| {
                let child = self.child(order, node, name.as_bytes());
                child.is_some_and(|node| self.is_dir(node))
            })
        };
        if is_machine(0) {
            return Some(0);
        }
        let mut folders = self
            .children(order, 0)
            .iter()
            .copied()
            .filter(|&node| self.is_dir(node));
        match (folders.next(), folders.next()) {
            (Some(folder), None) if is_machine(folder) => Some(folder),
            _ => None,
        }
    }

    /// Folders have higher numbers than their parents: in reverse order, a listing knows the positions of its children.
    fn write_listings(&mut self, order: &[u32]) -> std::io::Result<()> {
        let mut listing = Vec::new();
        for dir in (0..u32_of(self.nodes.len())).rev() {
            if !self.is_dir(dir) {
                continue;
            }
            let entry = |&node: &u32| {
                let node = self.nodes.get(node as usize);
                let (sort, span) = match node.map(|node| node.what) {
                    Some(What::Dir(span)) => (Sort::Dir, span),
                    Some(What::Link(span)) => (Sort::Link, span),
                    Some(What::File(span) | What::Same(span)) => (Sort::File, span),
                    None => (Sort::File, Span::default()),
                };
                let mode = node.map_or(0, |node| node.mode);
                (
                    node.map_or(&[][..], |node| self.name(node)),
                    Record { sort, mode, span },
                )
            };
            encode(self.children(order, dir).iter().map(entry), &mut listing);
            let span = Span {
                start: u32_of64(self.store.len()),
                len: u32_of(listing.len()),
            };
            self.store.append(&listing)?;
            if let Some(node) = self.nodes.get_mut(dir as usize) {
                node.what = What::Dir(span);
            }
        }
        Ok(())
    }
}

fn u32_of64(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
