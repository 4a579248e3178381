//! Finds files by patterns. Links are not followed blindly: each is recorded as a link, and the search continues at its
//! target. So the capture has the same structure as the machine, and loops end.

use crate::Unreadable;
use crate::links::{join, real};
use root::{Root, RootError, Stands};
use std::collections::HashSet;

/// Maximum number of consecutive links at one name of a pattern.
const MAX_HOPS: u32 = 8;

/// A file, link or directory that matches a pattern.
pub(crate) enum Found<'a> {
    File(&'a str),
    Dir(&'a str),
    Link(&'a str, &'a str),
}

pub(crate) struct Walk<'a> {
    root: &'a Root,
    /// Paths that were already found, by this pattern or another.
    seen: HashSet<Box<str>>,
    unreadable: Vec<Unreadable>,
}

/// A place that is still to be searched.
struct Pending<'p> {
    path: String,
    stands: Stands,
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
        take: &mut dyn FnMut(Found<'_>) -> Result<(), RootError>,
    ) -> Result<(), RootError> {
        let names: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
        let wants_dir = pattern.ends_with('/');
        let begin = Pending {
            path: String::new(),
            stands: Stands::Dir,
            rest: &names,
            hops: 0,
        };
        let mut pending = vec![begin];
        while let Some(at) = pending.pop() {
            match (at.stands, at.rest.split_first()) {
                (Stands::Dir, Some((name, rest))) => self.descend(&at.path, name, rest, &mut pending),
                (Stands::Dir, None) if wants_dir && self.is_new(&at.path) => take(Found::Dir(&at.path))?,
                (Stands::File, None) if !wants_dir && self.is_new(&at.path) => take(Found::File(&at.path))?,
                (Stands::Link, _) => {
                    let Ok(Some(target)) = self.root.link(&at.path) else {
                        continue;
                    };
                    if self.is_new(&at.path) {
                        take(Found::Link(&at.path, &target))?;
                    }
                    let led_to = join(&at.path, &target).and_then(|path| real(self.root, path));
                    if let (Some(path), true) = (led_to, at.hops < MAX_HOPS)
                        && let Some(stands) = self.stands(&path)
                    {
                        pending.push(Pending {
                            path,
                            stands,
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

    fn descend<'p>(&mut self, dir: &str, name: &'p str, rest: &'p [&'p str], pending: &mut Vec<Pending<'p>>) {
        let is_plain = !name.contains(['*', '{']);
        if is_plain {
            let path = format!("{dir}/{name}");
            if let Some(stands) = self.stands(&path) {
                pending.push(Pending {
                    path,
                    stands,
                    rest,
                    hops: 0,
                });
            }
            return;
        }
        let entries = match self.root.entries(if dir.is_empty() { "/" } else { dir }) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(error) => {
                self.unreadable.push(Unreadable {
                    path: dir.to_owned(),
                    why: error.to_string(),
                });
                return;
            }
        };
        for entry in entries
            .into_iter()
            .rev()
            .filter(|entry| matches(name, &entry.name))
        {
            let path = format!("{dir}/{}", entry.name);
            pending.push(Pending {
                path,
                stands: entry.stands,
                rest,
                hops: 0,
            });
        }
    }

    fn stands(&self, path: &str) -> Option<Stands> {
        if self.root.link(path).ok()?.is_some() {
            return Some(Stands::Link);
        }
        self.root.kind(path).ok()?.map(|kind| match kind {
            root::Kind::File => Stands::File,
            root::Kind::Dir => Stands::Dir,
        })
    }

    fn is_new(&mut self, path: &str) -> bool {
        self.seen.insert(path.into())
    }
}

/// Whether a name matches a pattern.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    if let Some(inner) = pattern
        .strip_prefix('{')
        .and_then(|inner| inner.strip_suffix('}'))
    {
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
    fn patterns() {
        let check = |pattern: &str, name: &str, expected| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}")
        };
        check("*", "anything", true);
        check("rx-*", "rx-0", true);
        check("rx-*", "tx-0", false);
        check("a*a", "a", false);
        check("{level,size,id}", "size", true);
        check("{level,state*}", "state3", true);
        check("{level,size}", "siz", false);
    }
}
