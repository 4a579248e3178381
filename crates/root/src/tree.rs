//! Holds the files unpacked from an archive. A machine with 100,000 threads has a million files and folders: their names
//! are in memory, their content is in a [`Store`], which puts large archives on the disk.

mod builder;
mod nodes;
mod store;

pub(crate) use builder::TreeBuilder;

use crate::error::OnPath;
use crate::files::{CLIMBS_OUT, FileQueries, LOOPS, MAX_LINKS, hostile};
use crate::live::{each_line, too_large};
use crate::{DirectoryEntry, DirectoryEntryType, PathKind, RootError};
use nodes::{ArchiveNode, NodeContent, Nodes};
use store::{Store, StoreSpan};

/// An unpacked archive. Immutable, so any number of threads may read it.
pub(crate) struct ArchiveTree {
    store: Store,
    nodes: Nodes,
    /// The folder that is the captured `/`.
    base: u32,
}

impl FileQueries for ArchiveTree {
    fn bytes_into(&self, path: &str, limit: u64, content: &mut Vec<u8>) -> Result<bool, RootError> {
        let Some(span) = self.file(path)? else {
            return Ok(false);
        };
        if u64::from(span.len) > limit {
            return Err(too_large(path));
        }
        let read = self.store.read_into(span, content);
        read.on(path, "read")?;
        Ok(true)
    }

    fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError> {
        match self.file(path)? {
            Some(span) => each_line(self.store.stream(span), path, each),
            None => Ok(false),
        }
    }

    fn entries(&self, path: &str) -> Result<Option<Vec<DirectoryEntry>>, RootError> {
        let Some(dir) = self.resolve(path)?.filter(|&found| self.is_dir(found)) else {
            return Ok(None);
        };
        let children = self.nodes.children(dir).iter();
        let entry = |node: &ArchiveNode| DirectoryEntry {
            name: String::from_utf8_lossy(self.nodes.text(node.name)).into_owned(),
            kind: match node.what {
                NodeContent::Dir(_) => DirectoryEntryType::Dir,
                NodeContent::File(_) | NodeContent::Same(_) => DirectoryEntryType::File,
                NodeContent::Link(_) => DirectoryEntryType::Link,
            },
        };
        let nodes = children.filter_map(|&child| self.nodes.get(child));
        Ok(Some(nodes.map(entry).collect()))
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, RootError> {
        Ok(self.found(path)?.map(|found| found.mode.into()))
    }

    fn kind(&self, path: &str) -> Result<Option<PathKind>, RootError> {
        Ok(self.found(path)?.and_then(|found| match found.what {
            NodeContent::File(_) => Some(PathKind::File),
            NodeContent::Dir(_) => Some(PathKind::Dir),
            NodeContent::Link(_) | NodeContent::Same(_) => None,
        }))
    }

    fn link(&self, path: &str) -> Result<Option<String>, RootError> {
        let trimmed = path.trim_end_matches('/');
        let (dir, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        let dir = self.resolve(dir)?;
        let found = dir.and_then(|dir| self.nodes.get(self.nodes.child(dir, name.as_bytes())?));
        Ok(match found.map(|found| found.what) {
            Some(NodeContent::Link(target)) => Some(String::from_utf8_lossy(self.nodes.text(target)).into_owned()),
            _ => None,
        })
    }
}

impl ArchiveTree {
    fn is_dir(&self, node: u32) -> bool {
        self.nodes.get(node).is_some_and(ArchiveNode::is_dir)
    }

    fn found(&self, path: &str) -> Result<Option<&ArchiveNode>, RootError> {
        Ok(self.resolve(path)?.and_then(|found| self.nodes.get(found)))
    }

    fn file(&self, path: &str) -> Result<Option<StoreSpan>, RootError> {
        Ok(match self.found(path)?.map(|found| found.what) {
            Some(NodeContent::File(span)) => Some(span),
            _ => None,
        })
    }

    /// The target of a path, all links followed.
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
            let Some(child) = self.nodes.child(at, name) else {
                return Ok(None);
            };
            let Some(NodeContent::Link(target)) = self.nodes.get(child).map(|node| node.what) else {
                way.push(child);
                continue;
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(hostile(path, LOOPS));
            }
            let target = self.nodes.text(target);
            if target.starts_with(b"/") {
                way.truncate(1);
            }
            pending.extend(components(target));
        }
        Ok(way.last().copied())
    }
}

/// The names in a path, the last one first, without empty ones and `.`.
fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.rsplit(|&byte| byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
}
