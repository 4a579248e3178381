//! Holds the files unpacked from an archive. A machine with 100,000 threads has a million files and folders, so memory
//! use must not grow with them. Everything is in a [`Store`], and folders are read from there on access.

mod builder;
mod listing;
mod store;

pub(crate) use builder::TreeBuilder;

use crate::capture_rules::{CLIMBS_OUT, LOOPS, MAX_LINKS, hostile};
use crate::live::{each_line, too_large};
use crate::{Entry, Kind, RootError, Stands};
use listing::{Listing, Record, Sort};
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use store::{Span, Store};

/// Number of cached folders: a path has fewer, and the next path shares all but the last of them.
const AT_HAND: usize = 16;

/// An unpacked archive. Immutable, so any number of threads may read it.
pub(crate) struct Tree {
    store: Store,
    /// The folder that is the captured `/`.
    base: Record,
    /// The most recently used folders, by position; the newest at the end.
    at_hand: Mutex<Vec<(u32, Listing)>>,
}

impl Tree {
    fn new(store: Store, listing: Span) -> Tree {
        Tree {
            store,
            base: Record {
                sort: Sort::Dir,
                mode: 0o755,
                span: listing,
            },
            at_hand: Mutex::new(Vec::new()),
        }
    }

    /// Reads the content of a file into an empty buffer; `false` if it does not exist.
    pub(crate) fn bytes_into(
        &self,
        path: &str,
        limit: u64,
        content: &mut Vec<u8>,
    ) -> Result<bool, RootError> {
        let Some(span) = self.file(path)? else {
            return Ok(false);
        };
        if u64::from(span.len) > limit {
            return Err(too_large(path));
        }
        let read = self.store.read_into(span, content);
        read.map_err(|error| RootError::from_io(path, "read", &error))?;
        Ok(true)
    }

    pub(crate) fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError> {
        match self.file(path)? {
            Some(span) => each_line(self.store.stream(span), path, each),
            None => Ok(false),
        }
    }

    pub(crate) fn kind(&self, path: &str) -> Result<Option<Kind>, RootError> {
        Ok(self.resolve(path)?.and_then(|found| match found.sort {
            Sort::File => Some(Kind::File),
            Sort::Dir => Some(Kind::Dir),
            Sort::Link => None,
        }))
    }

    pub(crate) fn mode(&self, path: &str) -> Result<Option<u32>, RootError> {
        Ok(self.resolve(path)?.map(|found| u32::from(found.mode)))
    }

    pub(crate) fn link(&self, path: &str) -> Result<Option<String>, RootError> {
        let trimmed = path.trim_end_matches('/');
        let (dir, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        let Some(dir) = self.resolve(dir)? else {
            return Ok(None);
        };
        match self.child(dir, name.as_bytes(), path)? {
            Some(Record {
                sort: Sort::Link,
                span,
                ..
            }) => {
                let target = self.target(span, path)?;
                Ok(Some(String::from_utf8_lossy(&target).into_owned()))
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn entries(&self, path: &str) -> Result<Option<Vec<Entry>>, RootError> {
        let Some(dir) = self.resolve(path)?.filter(|found| found.sort == Sort::Dir) else {
            return Ok(None);
        };
        let listing = self.listing(dir.span, path)?;
        let mut entries = Vec::with_capacity(listing.len());
        entries.extend(listing.entries().map(|(name, record)| Entry {
            name: String::from_utf8_lossy(name).into_owned(),
            stands: match record.sort {
                Sort::Dir => Stands::Dir,
                Sort::File => Stands::File,
                Sort::Link => Stands::Link,
            },
        }));
        Ok(Some(entries))
    }

    fn file(&self, path: &str) -> Result<Option<Span>, RootError> {
        let found = self.resolve(path)?.filter(|found| found.sort == Sort::File);
        Ok(found.map(|found| found.span))
    }

    /// The target of a path, all links followed.
    fn resolve(&self, path: &str) -> Result<Option<Record>, RootError> {
        let mut way = vec![self.base];
        let mut pending: Vec<Cow<'_, [u8]>> = components(path.as_bytes()).map(Cow::Borrowed).collect();
        let mut links = 0;
        while let Some(name) = pending.pop() {
            let at = way.last().copied().unwrap_or(self.base);
            if *name == *b".." {
                if way.len() == 1 {
                    return Err(hostile(path, CLIMBS_OUT));
                }
                way.pop();
                continue;
            }
            match self.child(at, &name, path)? {
                None => return Ok(None),
                Some(Record {
                    sort: Sort::Link,
                    span,
                    ..
                }) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(hostile(path, LOOPS));
                    }
                    let target = self.target(span, path)?;
                    if target.starts_with(b"/") {
                        way.truncate(1);
                    }
                    pending.extend(components(&target).map(|name| Cow::Owned(name.to_vec())));
                }
                Some(child) => way.push(child),
            }
        }
        Ok(way.last().copied())
    }

    fn child(&self, dir: Record, name: &[u8], path: &str) -> Result<Option<Record>, RootError> {
        match dir.sort {
            Sort::Dir => Ok(self.listing(dir.span, path)?.find(name)),
            Sort::File | Sort::Link => Ok(None),
        }
    }

    fn target(&self, span: Span, path: &str) -> Result<Vec<u8>, RootError> {
        let mut target = Vec::new();
        let read = self.store.read_into(span, &mut target);
        read.map_err(|error| RootError::from_io(path, "read", &error))?;
        Ok(target)
    }

    fn listing(&self, span: Span, path: &str) -> Result<Listing, RootError> {
        let mut at_hand = self.at_hand.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = at_hand.iter().position(|(start, _)| *start == span.start) {
            let found = at_hand.remove(place);
            let listing = found.1.clone();
            at_hand.push(found);
            return Ok(listing);
        }
        let listing = Listing::new(self.target(span, path)?);
        if at_hand.len() >= AT_HAND {
            at_hand.remove(0);
        }
        at_hand.push((span.start, listing.clone()));
        Ok(listing)
    }
}

/// The names in a path, the last one first, without empty ones and `.`.
fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.rsplit(|&byte| byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
}
