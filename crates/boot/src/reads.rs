//! Records which files of a machine the loaders read, so that a snapshot can answer the same queries. No separate list is
//! needed: this module runs the loaders' queries and records every access.

use crate::limit::limit;
use crate::tools::DIRECTORIES;
use crate::tree::{FileKind, Tree};
use crate::trial::{MARK, OneBoot};
use crate::{LOADERS, Turn, choose, find, trial, tuned};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How much of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reads {
    /// Whether it exists: programs, kernels, images, and files next to a loader's own.
    Name,
    /// Its content.
    Content,
}

/// The maximum number of names read from one directory.
const MOST_NAMES: usize = 512;

/// All files that detect a loader, and that the `boot` commands read.
#[must_use]
pub fn reads(tree: &dyn Tree) -> BTreeMap<String, Reads> {
    let watched = Watched {
        under: tree,
        seen: RefCell::default(),
    };
    let found = find(&watched);
    // If there are several, the firmware's report decides.
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

/// A tree that records every access.
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
