//! Checks whether the control groups of partitions still exist. The kernel reports no event when one is removed (`rmdir`): it
//! is not a write, and cgroup file systems report nothing else. Each check costs one system call.

use machine::{Machine, MapEntries};
use plan::Intent;
use root::Root;
use std::collections::BTreeMap;
use std::time::Duration;

/// The time between two checks.
const PAUSE: Duration = Duration::from_secs(1);

/// The folders, and whether each existed.
#[derive(Default)]
pub struct Folders {
    known: BTreeMap<String, bool>,
    next_check: Duration,
}

impl Folders {
    /// Takes these partitions. Keeps the state of those that it already had.
    pub fn know<'a>(&mut self, root: &Root, machine: &Machine, intents: impl Iterator<Item = &'a Intent>) {
        let Some(hierarchy) = &machine.cgroups.cpuset else {
            return self.known.clear();
        };
        self.retain(root, intents.map(|intent| intent.cgroup_path(hierarchy)));
    }

    fn retain(&mut self, root: &Root, paths: impl Iterator<Item = String>) {
        let mut before = std::mem::take(&mut self.known);
        self.known = paths
            .map(|path| {
                let was = before.remove(&path).unwrap_or_else(|| is_there(root, &path));
                (path, was)
            })
            .into_map();
    }

    /// The time of the next check; `None` without folders.
    pub fn next_check(&self) -> Option<Duration> {
        (!self.known.is_empty()).then_some(self.next_check)
    }

    /// Checks if it is time. Returns whether a folder has appeared or disappeared since the last check.
    pub fn check(&mut self, root: &Root, now: Duration) -> bool {
        if now < self.next_check {
            return false;
        }
        self.next_check = now.saturating_add(PAUSE);
        let mut is_other = false;
        for (path, was) in &mut self.known {
            let is = is_there(root, path);
            is_other |= is != *was;
            *was = is;
        }
        is_other
    }
}

/// A folder that cannot be read counts as existing, as in `check`.
fn is_there(root: &Root, path: &str) -> bool {
    !matches!(root.kind(path), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_appears_or_disappears_is_reported_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cpuset/rt");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let root = Root::open(dir.path()).unwrap();
        let mut folders = Folders::default();
        assert_eq!(folders.next_check(), None);
        let names = || std::iter::once("/cpuset/rt".to_owned());
        folders.retain(&root, names());
        let mut seconds = (1..).map(Duration::from_secs);
        let mut next = || seconds.next().unwrap();
        assert!(!folders.check(&root, next()));
        std::fs::remove_dir(&path).unwrap();
        // A check in between reads the machine again and must not hide the change.
        folders.retain(&root, names());
        let at = next();
        assert!(folders.check(&root, at));
        assert!(!folders.check(&root, next()), "once");
        std::fs::create_dir(&path).unwrap();
        assert!(!folders.check(&root, at), "not before it is time");
        assert!(folders.check(&root, next() + PAUSE));
    }
}
