//! Reads the files of boot loaders from a machine, live or captured, optionally with pending edits on top.

use crate::{BootError, FileEdit};
use machine::MapEntries;
use root::{Origin, PathKind, Root};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A readable file tree. A path that does not exist or may not be read is `None`.
pub trait FileTree {
    /// The content of a file; follows links.
    fn bytes(&self, path: &str) -> Option<Vec<u8>>;
    /// The sorted names in a directory; none if it does not exist.
    fn names(&self, dir: &str) -> Vec<String>;
    /// The target of a symbolic link.
    fn link(&self, path: &str) -> Option<String>;
    /// What a path resolves to; follows links. `None` if that is unknown here.
    fn kind(&self, _path: &str) -> Option<FileKind> {
        None
    }

    /// Whether the path is readable.
    fn is_there(&self, path: &str) -> bool {
        self.bytes(path).is_some()
    }

    /// A file as text for reading: invalid UTF-8 is replaced.
    fn read_text(&self, path: &str) -> Option<String> {
        self.bytes(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file as text for editing: every byte counts.
    ///
    /// # Errors
    /// Invalid UTF-8.
    fn text(&self, path: &str) -> Result<Option<String>, BootError> {
        let text = self.bytes(path).map(String::from_utf8).transpose();
        text.map_err(|_| {
            BootError::unable(
                format!("{path} was not changed"),
                "it is not UTF-8 text, so an edit could damage it",
                "convert it to plain text first",
            )
        })
    }

    /// The real path of a file: RHEL's `/boot/grub2/grubenv` is a link into the EFI system partition, and must stay a link
    /// when the file is replaced.
    fn resolved(&self, path: &str) -> String {
        const MOST: usize = 8;
        let mut path = path.to_owned();
        for _ in 0..MOST {
            let Some(target) = self.link(&path) else {
                break;
            };
            let above = path.rsplit_once('/').map_or("", |(above, _)| above);
            let joined = match target.starts_with('/') {
                true => target,
                false => format!("{above}/{target}"),
            };
            path = plain(&joined);
        }
        path
    }

    /// The real path of a file, and its text for editing: empty if it does not exist.
    ///
    /// # Errors
    /// Invalid UTF-8.
    fn resolved_text(&self, path: &str) -> Result<(String, String), BootError> {
        let path = self.resolved(path);
        let text = self.text(&path)?.unwrap_or_default();
        Ok((path, text))
    }
}

/// What a path resolves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing.
    Missing,
    /// A directory.
    Dir,
    /// A regular file, and whether its size is 0; `None` where the size is not known.
    File {
        /// Whether its size is 0.
        is_empty: Option<bool>,
    },
}

/// Directories whose content changes while a machine runs: their current content does not predict the next boot's.
const VOLATILE: &[&str] = &["/dev", "/proc", "/run", "/tmp", "/var/lock", "/var/run", "/var/tmp"];

/// A machine, live or captured. It records what it was not allowed to read.
pub struct MachineTree<'a> {
    root: &'a Root,
    refused: RefCell<Vec<String>>,
}

impl<'a> MachineTree<'a> {
    /// The files of a machine.
    #[must_use]
    pub fn of(root: &'a Root) -> MachineTree<'a> {
        MachineTree {
            root,
            refused: RefCell::default(),
        }
    }

    /// The paths that could not be read so far, with the reason.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.refused.borrow().clone()
    }

    fn known<T>(&self, read: Result<Option<T>, root::RootError>) -> Option<T> {
        read.unwrap_or_else(|error| {
            let message = error.to_string();
            let mut refused = self.refused.borrow_mut();
            if !refused.contains(&message) {
                refused.push(message);
            }
            None
        })
    }
}

impl FileTree for MachineTree<'_> {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.known(self.root.bytes(path))
    }

    fn names(&self, dir: &str) -> Vec<String> {
        self.known(self.root.names(dir)).unwrap_or_default()
    }

    fn link(&self, path: &str) -> Option<String> {
        // `readlink` on a plain file is not a denied access.
        self.root.link(path).ok().flatten()
    }

    fn kind(&self, path: &str) -> Option<FileKind> {
        if VOLATILE.iter().any(|dir| machine::is_within(path, dir)) {
            return None;
        }
        // An archive holds some files of the machine, and only the names of some of them.
        let is_live = self.root.origin() == Origin::Live;
        match self.root.kind(path).ok()? {
            Some(PathKind::Dir) => Some(FileKind::Dir),
            // The size of a sysfs file is independent of its content.
            Some(PathKind::File) if !is_live || machine::is_within(path, "/sys") => {
                Some(FileKind::File { is_empty: None })
            }
            Some(PathKind::File) => Some(FileKind::File {
                is_empty: self.root.bytes(path).ok().flatten().map(|bytes| bytes.is_empty()),
            }),
            None if is_live => {
                // A name that resolves to neither is a device, a socket, or a broken link.
                let (above, name) = path.rsplit_once('/')?;
                let above = if above.is_empty() { "/" } else { above };
                let names = self.root.names(above).ok()?.unwrap_or_default();
                (!names.iter().any(|other| other == name)).then_some(FileKind::Missing)
            }
            None => None,
        }
    }
}

/// A tree with pending edits applied.
pub struct EditedTree<'a> {
    under: &'a dyn FileTree,
    changed: BTreeMap<String, Option<String>>,
}

impl<'a> EditedTree<'a> {
    /// A tree with edits on top.
    #[must_use]
    pub fn new(under: &'a dyn FileTree, edits: &[FileEdit]) -> EditedTree<'a> {
        let changed = edits
            .iter()
            .map(|edit| (edit.path.clone(), edit.after.clone()))
            .into_map();
        EditedTree { under, changed }
    }
}

impl FileTree for EditedTree<'_> {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        match self.changed.get(path) {
            Some(content) => content.clone().map(String::into_bytes),
            None => self.under.bytes(path),
        }
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let mut names = self.under.names(dir);
        for (path, content) in &self.changed {
            let Some((above, name)) = path.rsplit_once('/') else {
                continue;
            };
            if above == dir.trim_end_matches('/') {
                names.retain(|other| other != name);
                names.extend(content.is_some().then(|| name.to_owned()));
            }
        }
        names.sort_unstable();
        names
    }

    fn link(&self, path: &str) -> Option<String> {
        self.under.link(path)
    }

    fn kind(&self, path: &str) -> Option<FileKind> {
        match self.changed.get(path) {
            Some(Some(text)) => Some(FileKind::File {
                is_empty: Some(text.is_empty()),
            }),
            Some(None) => Some(FileKind::Missing),
            None => self.under.kind(path),
        }
    }
}

/// A path without `.` and `..`.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
