//! A tree of files in memory, as unpacked from an archive: a few large buffers, not one allocation for each file.

use crate::captured::{CLIMBS_OUT, LOOPS, MAX_LINKS, TOP_NAMES, hostile};
use crate::{Entry, Kind, RootError, Stands};
use std::collections::HashMap;

/// Files up to this size share a buffer.
const SHARED_BUFFER: usize = 1 << 20;

/// Where bytes stand.
#[derive(Clone, Copy)]
struct Span {
    buffer: u32,
    start: u32,
    len: u32,
}

#[derive(Clone, Copy)]
enum What {
    /// The range of its children in `Tree::order`.
    Dir {
        first: u32,
        count: u32,
    },
    File(Span),
    Link(Span),
    /// A hard link, until all entries are known.
    Same(Span),
}

struct Node {
    parent: u32,
    mode: u16,
    name: Span,
    what: What,
}

/// An unpacked archive. Immutable, so any number of threads may read it.
pub(crate) struct Tree {
    buffers: Vec<Vec<u8>>,
    nodes: Vec<Node>,
    /// Numbers of nodes, sorted by directory and name.
    order: Vec<u32>,
    /// The node that is the captured `/`.
    base: u32,
}

/// Takes the entries of an archive one by one.
pub(crate) struct TreeBuilder {
    buffers: Vec<Vec<u8>>,
    nodes: Vec<Node>,
    /// Folders by the folder that they are in and their name.
    dirs: HashMap<(u32, Box<[u8]>), u32>,
    last_dir: Option<(Box<[u8]>, u32)>,
}

impl TreeBuilder {
    pub(crate) fn new() -> TreeBuilder {
        let mut builder = TreeBuilder {
            buffers: Vec::new(),
            nodes: Vec::new(),
            dirs: HashMap::new(),
            last_dir: None,
        };
        let name = builder.keep(&[]);
        builder.nodes.push(Node {
            parent: 0,
            mode: 0o755,
            name,
            what: What::Dir { first: 0, count: 0 },
        });
        builder
    }

    /// Adds a directory and those above it.
    pub(crate) fn dir(&mut self, path: &[u8]) -> u32 {
        // Entries come folder by folder, so the last one is asked for again and again.
        if let Some((last, node)) = &self.last_dir
            && **last == *path
        {
            return *node;
        }
        let mut at = 0;
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            at = match self.dirs.get(&(at, name.into())) {
                Some(&known) => known,
                None => {
                    let dir = self.push(at, 0o755, name, What::Dir { first: 0, count: 0 });
                    self.dirs.insert((at, name.into()), dir);
                    dir
                }
            };
        }
        self.last_dir = Some((path.into(), at));
        at
    }

    /// Entries so far, folders that are only implied by names among them.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn link(&mut self, path: &[u8], target: &[u8]) {
        let target = self.keep(target);
        self.add(path, 0o777, What::Link(target));
    }

    /// A second name of a file whose path in the archive is `target`.
    pub(crate) fn same(&mut self, path: &[u8], target: &[u8]) {
        let target = self.keep(target);
        self.add(path, 0o644, What::Same(target));
    }

    /// Adds a file whose content `fill` appends to the buffer that it gets.
    pub(crate) fn file<E>(
        &mut self,
        path: &[u8],
        mode: u32,
        size: u64,
        fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        // A size is only a claim until the bytes are there, so nothing is reserved for a large one.
        let small = usize::try_from(size).is_ok_and(|size| size <= SHARED_BUFFER / 4);
        if !small
            || self
                .buffers
                .last()
                .is_none_or(|last| last.len() as u64 + size > SHARED_BUFFER as u64)
        {
            self.buffers
                .push(Vec::with_capacity(if small { SHARED_BUFFER } else { 0 }));
        }
        let place = self.buffers.len() - 1;
        let mut start = 0;
        if let Some(buffer) = self.buffers.last_mut() {
            start = buffer.len();
            fill(buffer)?;
            if !small {
                buffer.shrink_to_fit();
            }
        }
        let len = self.buffers.last().map_or(0, Vec::len) - start;
        if !small {
            // The next small file must not make a large buffer grow.
            self.buffers.push(Vec::new());
        }
        self.add(path, mode, What::File(span(place, start, len)));
        Ok(())
    }

    fn add(&mut self, path: &[u8], mode: u32, what: What) {
        let end = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let parent = self.dir(path.get(..end).unwrap_or_default());
        self.push(parent, mode, last_name(path), what);
    }

    fn push(&mut self, parent: u32, mode: u32, name: &[u8], what: What) -> u32 {
        let name = self.keep(name);
        let mode = (mode & 0o7777) as u16;
        self.nodes.push(Node {
            parent,
            mode,
            name,
            what,
        });
        index_u32(self.nodes.len() - 1)
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        if self
            .buffers
            .last()
            .is_none_or(|last| last.len() + bytes.len() > SHARED_BUFFER)
        {
            self.buffers
                .push(Vec::with_capacity(SHARED_BUFFER.max(bytes.len())));
        }
        let place = self.buffers.len() - 1;
        let mut start = 0;
        if let Some(buffer) = self.buffers.last_mut() {
            start = buffer.len();
            buffer.extend_from_slice(bytes);
        }
        span(place, start, bytes.len())
    }

    /// Sorts it all. `None` when it holds no captured machine.
    ///
    /// # Errors
    /// [`RootError::Hostile`] for a hard link to what is not a file of the archive.
    pub(crate) fn finish(self) -> Result<Option<Tree>, RootError> {
        let TreeBuilder {
            buffers, nodes, dirs, ..
        } = self;
        drop(dirs);
        let mut tree = Tree {
            buffers,
            nodes,
            order: Vec::new(),
            base: 0,
        };
        tree.sort();
        tree.resolve_hard_links()?;
        let is_machine = |node: u32| {
            TOP_NAMES.iter().any(|name| {
                tree.child(node, name.as_bytes())
                    .is_some_and(|node| tree.is_dir(node))
            })
        };
        if is_machine(0) {
            return Ok(Some(tree));
        }
        let mut folders = tree.children(0).iter().copied().filter(|&node| tree.is_dir(node));
        let base = match (folders.next(), folders.next()) {
            (Some(folder), None) if is_machine(folder) => folder,
            _ => return Ok(None),
        };
        tree.base = base;
        Ok(Some(tree))
    }
}

impl Tree {
    pub(crate) fn content(&self, path: &str) -> Result<Option<&[u8]>, RootError> {
        let node = self.resolve(path)?.and_then(|node| self.nodes.get(node as usize));
        Ok(node.and_then(|node| match node.what {
            What::File(span) => Some(self.bytes(span)),
            _ => None,
        }))
    }

    pub(crate) fn kind(&self, path: &str) -> Result<Option<Kind>, RootError> {
        let node = self.resolve(path)?.and_then(|node| self.nodes.get(node as usize));
        Ok(node.and_then(|node| match node.what {
            What::File(_) => Some(Kind::File),
            What::Dir { .. } => Some(Kind::Dir),
            _ => None,
        }))
    }

    pub(crate) fn mode(&self, path: &str) -> Result<Option<u32>, RootError> {
        let node = self.resolve(path)?.and_then(|node| self.nodes.get(node as usize));
        Ok(node.map(|node| u32::from(node.mode)))
    }

    pub(crate) fn link(&self, path: &str) -> Result<Option<String>, RootError> {
        let trimmed = path.trim_end_matches('/');
        let (dir, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        let Some(dir) = self.resolve(dir)? else {
            return Ok(None);
        };
        let node = self
            .child(dir, name.as_bytes())
            .and_then(|node| self.nodes.get(node as usize));
        Ok(node.and_then(|node| match node.what {
            What::Link(target) => Some(String::from_utf8_lossy(self.bytes(target)).into_owned()),
            _ => None,
        }))
    }

    pub(crate) fn entries(&self, path: &str) -> Result<Option<Vec<Entry>>, RootError> {
        let Some(dir) = self.resolve(path)?.filter(|&node| self.is_dir(node)) else {
            return Ok(None);
        };
        let entry = |&node: &u32| {
            let node = self.nodes.get(node as usize)?;
            Some(Entry {
                name: String::from_utf8_lossy(self.bytes(node.name)).into_owned(),
                stands: match node.what {
                    What::Dir { .. } => Stands::Dir,
                    What::File(_) => Stands::File,
                    What::Link(_) | What::Same(_) => Stands::Link,
                },
            })
        };
        Ok(Some(self.children(dir).iter().filter_map(entry).collect()))
    }

    /// The node that a path leads to, all links followed.
    fn resolve(&self, path: &str) -> Result<Option<u32>, RootError> {
        let mut way = vec![self.base];
        let mut pending: Vec<&[u8]> = components(path.as_bytes()).collect();
        let mut links = 0;
        while let Some(name) = pending.pop() {
            let at = way.last().copied().unwrap_or(self.base);
            if name == b".." {
                if way.len() == 1 {
                    return Err(hostile(path, CLIMBS_OUT));
                }
                way.pop();
                continue;
            }
            let Some(child) = self.child(at, name) else {
                return Ok(None);
            };
            match self.nodes.get(child as usize).map(|node| node.what) {
                Some(What::Link(target)) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(hostile(path, LOOPS));
                    }
                    let target = self.bytes(target);
                    if target.starts_with(b"/") {
                        way.truncate(1);
                    }
                    pending.extend(components(target));
                }
                _ => way.push(child),
            }
        }
        Ok(way.last().copied())
    }

    fn child(&self, dir: u32, name: &[u8]) -> Option<u32> {
        let children = self.children(dir);
        let place = children
            .binary_search_by(|&node| self.name(node).cmp(name))
            .ok()?;
        children.get(place).copied()
    }

    fn children(&self, dir: u32) -> &[u32] {
        match self.nodes.get(dir as usize).map(|node| node.what) {
            Some(What::Dir { first, count }) => self
                .order
                .get(first as usize..(first + count) as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    fn is_dir(&self, node: u32) -> bool {
        matches!(
            self.nodes.get(node as usize).map(|node| node.what),
            Some(What::Dir { .. })
        )
    }

    fn name(&self, node: u32) -> &[u8] {
        self.nodes
            .get(node as usize)
            .map_or(&[], |node| self.bytes(node.name))
    }

    fn bytes(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        let buffer = self.buffers.get(span.buffer as usize);
        buffer
            .and_then(|buffer| buffer.get(start..start + span.len as usize))
            .unwrap_or_default()
    }

    fn sort(&mut self) {
        let mut order: Vec<u32> = (1..index_u32(self.nodes.len())).collect();
        let parent = |node: u32| self.nodes.get(node as usize).map_or(0, |node| node.parent);
        let key = |node: u32| (parent(node), self.name(node));
        // Of a name that comes twice the last counts, as when tar unpacks; a folder stays, for what is in it.
        order.sort_unstable_by(|&a, &b| {
            key(a)
                .cmp(&key(b))
                .then(self.is_dir(b).cmp(&self.is_dir(a)))
                .then(b.cmp(&a))
        });
        order.dedup_by(|later, kept| key(*later) == key(*kept));
        let mut ranges: Vec<(u32, u32, u32)> = Vec::new();
        for (place, &node) in order.iter().enumerate() {
            match ranges.last_mut() {
                Some((dir, _, count)) if *dir == parent(node) => *count += 1,
                _ => ranges.push((parent(node), index_u32(place), 1)),
            }
        }
        for (dir, first, count) in ranges {
            if let Some(node) = self.nodes.get_mut(dir as usize) {
                node.what = What::Dir { first, count };
            }
        }
        self.order = order;
    }

    fn resolve_hard_links(&mut self) -> Result<(), RootError> {
        for place in 0..self.nodes.len() {
            let Some(What::Same(target)) = self.nodes.get(place).map(|node| node.what) else {
                continue;
            };
            let path = self.bytes(target);
            let mut at = Some(0);
            for name in components(path).collect::<Vec<_>>().into_iter().rev() {
                at = at.and_then(|dir| self.child(dir, name));
            }
            let found = at
                .and_then(|node| self.nodes.get(node as usize))
                .map(|node| node.what);
            let shown = String::from_utf8_lossy(path).into_owned();
            match found {
                Some(what @ What::File(_)) => {
                    if let Some(node) = self.nodes.get_mut(place) {
                        node.what = what;
                    }
                }
                _ => {
                    return Err(hostile(
                        &shown,
                        "a hard link names it, but it is no file of the archive",
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The names in a path, the last one first; empty ones and `.` are left out.
fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.rsplit(|&byte| byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// Counts and places fit: the limits on entries and bytes of an archive are below 4 Gi.
fn index_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn span(buffer: usize, start: usize, len: usize) -> Span {
    Span {
        buffer: index_u32(buffer),
        start: index_u32(start),
        len: index_u32(len),
    }
}
