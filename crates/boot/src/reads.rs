//! Which files of a machine everything here is taken from, so that a snapshot of it can be asked the same questions. Nobody
//! has to keep a list: the loaders are asked, and what they look at is noted.

use crate::limit::limit;
use crate::tools::DIRECTORIES;
use crate::tree::{FileKind, Tree};
use crate::trial::{MARK, OneBoot};
use crate::{LOADERS, Turn, choose, find, trial, tuned};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How much of something is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reads {
    /// Whether it is there: programs, kernels, images, and what stands beside a loader's files.
    Name,
    /// Its content.
    Content,
}

/// The most names of one directory that are looked at.
const MOST_NAMES: usize = 512;

/// What the loaders of a machine are known by and read, with what the verbs of `boot` would ask them.
#[must_use]
pub fn reads(tree: &dyn Tree) -> BTreeMap<String, Reads> {
    let watched = Watched {
        under: tree,
        seen: RefCell::default(),
    };
    let found = find(&watched);
    // Several are told apart by what the firmware was told.
    let _ = choose(&watched, None, &[]);
    let _ = tuned(&watched);
    let turn = Turn {
        gone: Vec::new(),
        new: vec![MARK.to_owned()],
    };
    for loader in LOADERS
        .iter()
        .filter(|loader| found.iter().any(|one| one.loader.name == loader.name))
    {
        let _ = (loader.lines)(&watched);
        let _ = (loader.entries)(&watched);
        let _ = (loader.fallback)(&watched);
        let _ = (loader.commit)(&watched, &turn);
        let _ = loader.all_remarks(&watched, &[]);
        let _ = loader.refusal(&watched, &[]);
        let _ = trial(&watched, loader, &OneBoot::default(), &limit(None));
    }
    watched.seen.into_inner()
}

/// A tree that notes what is looked at.
struct Watched<'a> {
    under: &'a dyn Tree,
    seen: RefCell<BTreeMap<String, Reads>>,
}

impl Watched<'_> {
    fn note(&self, path: &str, reads: Reads) {
        let is_program = DIRECTORIES.iter().any(|dir| path.starts_with(&format!("{dir}/")));
        let reads = if is_program { Reads::Name } else { reads };
        let mut seen = self.seen.borrow_mut();
        let known = seen.entry(path.to_owned()).or_insert(reads);
        *known = reads.max(*known);
    }
}

impl Tree for Watched<'_> {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.note(path, Reads::Content);
        self.under.bytes(path)
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let names = self.under.names(dir);
        for name in names.iter().take(MOST_NAMES) {
            self.note(&format!("{}/{name}", dir.trim_end_matches('/')), Reads::Name);
        }
        names
    }

    fn link(&self, path: &str) -> Option<String> {
        self.note(path, Reads::Name);
        self.under.link(path)
    }

    fn kind(&self, path: &str) -> Option<FileKind> {
        self.note(path, Reads::Name);
        self.under.kind(path)
    }
}
