//! Checks whether the control groups of partitions still exist. The kernel reports no event when one is removed (`rmdir`): it
//! is not a write, and cgroup file systems report nothing else. Each check costs one system call.

use machine::Machine;
use plan::partition_path;
use root::Root;
use std::collections::BTreeMap;
use std::time::Duration;

/// The time between two checks.
const PAUSE: Duration = Duration::from_secs(1);

/// The folders, and whether each existed.
#[derive(Default)]
pub struct Folders {
    known: BTreeMap<String, bool>,
    due: Duration,
}

impl Folders {
    /// Takes the partitions of these names. Keeps the state of those that it already had.
    pub fn know<'a>(&mut self, root: &Root, machine: &Machine, names: impl Iterator<Item = &'a str>) {
        let Some(hierarchy) = &machine.cgroups.cpuset else {
            return self.known.clear();
        };
        self.keep(root, names.map(|name| partition_path(hierarchy, name)));
    }

    fn keep(&mut self, root: &Root, paths: impl Iterator<Item = String>) {
        let mut before = std::mem::take(&mut self.known);
        self.known = paths
            .map(|path| {
                let was = before.remove(&path).unwrap_or_else(|| is_there(root, &path));
                (path, was)
            })
            .collect();
    }

    /// The time of the next check; `None` without folders.
    pub fn due(&self) -> Option<Duration> {
        (!self.known.is_empty()).then_some(self.due)
    }

    /// Checks if it is time. Returns whether a folder has appeared or disappeared since the last check.
    pub fn look(&mut self, root: &Root, now: Duration) -> bool {
        if now < self.due {
            return false;
        }
        self.due = now.saturating_add(PAUSE);
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
    fn a_folder_that_goes_or_comes_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cpuset/rt");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let root = Root::open(dir.path()).unwrap();
        let mut folders = Folders::default();
        assert_eq!(folders.due(), None);
        let names = || std::iter::once("/cpuset/rt".to_owned());
        folders.keep(&root, names());
        let mut seconds = (1..).map(Duration::from_secs);
        let mut next = || seconds.next().unwrap();
        assert!(!folders.look(&root, next()));
        std::fs::remove_dir(&path).unwrap();
        // A check in between reads the machine again and must not hide the change.
        folders.keep(&root, names());
        let at = next();
        assert!(folders.look(&root, at));
        assert!(!folders.look(&root, next()), "once");
        std::fs::create_dir(&path).unwrap();
        assert!(!folders.look(&root, at), "not before it is time");
        assert!(folders.look(&root, next() + PAUSE));
    }
}
