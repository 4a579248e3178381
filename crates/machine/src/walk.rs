//! Finds files by patterns. Links are not followed blindly: each is recorded as a link, and the search continues at its
//! target. So the capture has the same structure as the machine, and loops end.

use crate::UnreadableFile;
use crate::links::{join, real};
use root::{DirectoryEntryType, Root, RootError};
use std::collections::HashSet;

/// Maximum number of consecutive links at one name of a pattern.
const MAX_HOPS: u32 = 8;

/// A file, link or directory that matches a pattern.
pub(crate) enum WalkEntry<'a> {
    File(&'a str),
    Dir(&'a str),
    Link(&'a str, &'a str),
}

pub(crate) struct Walk<'a> {
    root: &'a Root,
    /// Paths that were already found, by this pattern or another.
    seen: HashSet<Box<str>>,
    unreadable: Vec<UnreadableFile>,
}

/// A place that is still to be searched.
struct PendingDirectory<'p> {
    path: String,
    kind: DirectoryEntryType,
    /// The remaining names of the pattern.
    rest: &'p [&'p str],
    hops: u32,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(root: &'a Root) -> Walk<'a> {
        Walk {
            root,
            seen: HashSet::new(),
            unreadable: Vec::new(),
        }
    }

    pub(crate) fn into_unreadable(self) -> impl Iterator<Item = (String, String)> {
        self.unreadable.into_iter().map(Into::into)
    }

    /// Calls `take` for every match of a pattern: names with `*` at most once each, `{a,b}` for alternatives of a whole
    /// name, a trailing `/` for directories themselves.
    pub(crate) fn each(
        &mut self,
        pattern: &str,
        take: &mut dyn FnMut(WalkEntry<'_>) -> Result<(), RootError>,
    ) -> Result<(), RootError> {
        let names: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
        let wants_dir = pattern.ends_with('/');
        let begin = PendingDirectory {
            path: String::new(),
            kind: DirectoryEntryType::Dir,
            rest: &names,
            hops: 0,
        };
        let mut pending = vec![begin];
        while let Some(at) = pending.pop() {
            match (at.kind, at.rest.split_first()) {
                (DirectoryEntryType::Dir, Some((name, rest))) => self.descend(&at.path, name, rest, &mut pending),
                (DirectoryEntryType::Dir, None) if wants_dir && self.is_new(&at.path) => {
                    take(WalkEntry::Dir(&at.path))?
                }
                (DirectoryEntryType::File, None) if !wants_dir && self.is_new(&at.path) => {
                    take(WalkEntry::File(&at.path))?
                }
                (DirectoryEntryType::Link, _) => {
                    let Ok(Some(target)) = self.root.link(&at.path) else {
                        continue;
                    };
                    if self.is_new(&at.path) {
                        take(WalkEntry::Link(&at.path, &target))?;
                    }
                    let led_to = join(&at.path, &target).and_then(|path| real(self.root, path));
                    if let (Some(path), true) = (led_to, at.hops < MAX_HOPS)
                        && let Some(kind) = self.kind_of(&path)
                    {
                        pending.push(PendingDirectory {
                            path,
                            kind,
                            rest: at.rest,
                            hops: at.hops + 1,
                        });
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn descend<'p>(&mut self, dir: &str, name: &'p str, rest: &'p [&'p str], pending: &mut Vec<PendingDirectory<'p>>) {
        let is_plain = !name.contains(['*', '{']);
        if is_plain {
            let path = format!("{dir}/{name}");
            if let Some(kind) = self.kind_of(&path) {
                pending.push(PendingDirectory {
                    path,
                    kind,
                    rest,
                    hops: 0,
                });
            }
            return;
        }
        let entries = match self.root.entries(if dir.is_empty() { "/" } else { dir }) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(error) => {
                self.unreadable.push(UnreadableFile {
                    path: dir.to_owned(),
                    why: error.to_string(),
                });
                return;
            }
        };
        for entry in entries.into_iter().rev().filter(|entry| matches(name, &entry.name)) {
            let path = format!("{dir}/{}", entry.name);
            pending.push(PendingDirectory {
                path,
                kind: entry.kind,
                rest,
                hops: 0,
            });
        }
    }

    fn kind_of(&self, path: &str) -> Option<DirectoryEntryType> {
        if self.root.link(path).ok()?.is_some() {
            return Some(DirectoryEntryType::Link);
        }
        self.root.kind(path).ok()?.map(|kind| match kind {
            root::PathKind::File => DirectoryEntryType::File,
            root::PathKind::Dir => DirectoryEntryType::Dir,
        })
    }

    fn is_new(&mut self, path: &str) -> bool {
        self.seen.insert(path.into())
    }
}

/// Whether a name matches a pattern.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    if let Some(inner) = pattern.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')) {
        return inner.split(',').any(|one| matches(one, name));
    }
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_patterns_match_names() {
        let check =
            |pattern: &str, name: &str, expected| assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        check("*", "anything", true);
        check("rx-*", "rx-0", true);
        check("rx-*", "tx-0", false);
        check("a*a", "a", false);
        check("{level,size,id}", "size", true);
        check("{level,state*}", "state3", true);
        check("{level,size}", "siz", false);
    }
}
