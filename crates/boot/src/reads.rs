//! Records which files of a machine the loaders read, so that a snapshot can answer the same queries. No separate list is
//! needed: this module runs the loaders' queries and records every access.

use crate::limit::limit;
use crate::tools::DIRECTORIES;
use crate::tree::{FileKind, FileTree};
use crate::trial::{MARK, OneShotEntry};
use crate::{LOADERS, WordChange, choose, find, trial, tuned};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// How much of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadExtent {
    /// Whether it exists: programs, kernels, images, and files next to a loader's own.
    Name,
    /// Its content.
    Content,
}

/// The maximum number of names read from one directory.
const MOST_NAMES: usize = 512;

/// All files that detect a loader, and that the `boot` commands read.
#[must_use]
pub fn reads(tree: &dyn FileTree) -> BTreeMap<String, ReadExtent> {
    let watched = AccessRecorder {
        under: tree,
        seen: RefCell::default(),
    };
    let found = find(&watched);
    // If there are several, the firmware's report decides.
    let _ = choose(&watched, None, &[]);
    let _ = tuned(&watched);
    let turn = WordChange {
        removed: Vec::new(),
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
        let _ = trial(&watched, loader, &OneShotEntry::default(), &limit(None));
    }
    watched.seen.into_inner()
}

/// A tree that records every access.
struct AccessRecorder<'a> {
    under: &'a dyn FileTree,
    seen: RefCell<BTreeMap<String, ReadExtent>>,
}

impl AccessRecorder<'_> {
    fn note(&self, path: &str, reads: ReadExtent) {
        let is_program = DIRECTORIES.iter().any(|dir| path.starts_with(&format!("{dir}/")));
        let reads = if is_program { ReadExtent::Name } else { reads };
        let mut seen = self.seen.borrow_mut();
        let known = seen.entry(path.to_owned()).or_insert(reads);
        *known = reads.max(*known);
    }
}

impl FileTree for AccessRecorder<'_> {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.note(path, ReadExtent::Content);
        self.under.bytes(path)
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let names = self.under.names(dir);
        for name in names.iter().take(MOST_NAMES) {
            self.note(&format!("{}/{name}", dir.trim_end_matches('/')), ReadExtent::Name);
        }
        names
    }

    fn link(&self, path: &str) -> Option<String> {
        self.note(path, ReadExtent::Name);
        self.under.link(path)
    }

    fn kind(&self, path: &str) -> Option<FileKind> {
        self.note(path, ReadExtent::Name);
        self.under.kind(path)
    }
}
