//! Lists the threads of a machine by its cgroups: one file of a cgroup has thousands of numbers, and `/proc` is not read.

use crate::Version;
use root::{DirectoryEntryType, Root};

/// The highest number of new threads that are added to a list without reading it again.
const MOST_CREATED: u32 = 1_000;

/// Numbers below the one that was assigned last which are added again: a thread gets its number some time before the lists
/// and system calls know it (`copy_process`).
const IN_CREATION: u32 = 256;

/// The number that was assigned last in our process namespace (`pid_ns_ctl_handler`; needs `CONFIG_CHECKPOINT_RESTORE`).
const NEWEST: &str = "/proc/sys/kernel/ns_last_pid";

/// The threads of a machine, by number.
#[derive(Clone, Debug)]
pub struct ThreadList {
    mount: String,
    version: Version,
    tids: Vec<u32>,
    /// The number that was assigned last before the list was read.
    newest: Option<u32>,
}

impl ThreadList {
    /// Reads the lists of all cgroups of a hierarchy; `None` if this process or task 1 is not in the lists, which are
    /// therefore incomplete: a container that shares the process namespace of its host sees its own cgroups alone.
    #[must_use]
    pub fn read(root: &Root, mount: &str, version: Version) -> Option<ThreadList> {
        let newest = newest(root);
        let name = match version {
            Version::V1 => "tasks",
            Version::V2 => "cgroup.threads",
        };
        let tids = numbers(root, mount, name);
        let is_complete = [1, std::process::id()]
            .iter()
            .all(|tid| tids.binary_search(tid).is_ok());
        is_complete.then(|| ThreadList {
            mount: mount.to_owned(),
            version,
            tids,
            newest,
        })
    }

    /// The numbers, ascending. Some may belong to no thread.
    #[must_use]
    pub fn tids(&self) -> &[u32] {
        &self.tids
    }

    /// Adds the threads that were created since, and returns their numbers, with some of earlier threads; `None` if the
    /// lists can no longer be read. The kernel assigns ascending numbers (`alloc_pid`), so if these are few, no list is
    /// read. A process that is restored with the number that it had (`set_tid` of `clone3`) may be missing.
    pub fn update(&mut self, root: &Root) -> Option<Vec<u32>> {
        let now = newest(root);
        if let (Some(before), Some(now)) = (self.newest, now)
            && now.checked_sub(before).is_some_and(|created| created <= MOST_CREATED)
        {
            let created: Vec<u32> = (before.saturating_sub(IN_CREATION).max(1)..=now).collect();
            self.tids.extend(&created);
            self.tids.sort_unstable();
            self.tids.dedup();
            self.newest = Some(now);
            return Some(created);
        }
        let again = ThreadList::read(root, &self.mount, self.version)?;
        let before = std::mem::replace(self, again).tids;
        let is_new = |tid: &&u32| before.binary_search(tid).is_err();
        Some(self.tids.iter().filter(is_new).copied().collect())
    }
}

fn newest(root: &Root) -> Option<u32> {
    root.readable_value(NEWEST)?.parse().ok()
}

/// The number of every process, as listed by the cgroups of a hierarchy, ascending. The cgroups below a threaded one list none.
pub(super) fn processes(root: &Root, mount: &str) -> Vec<u32> {
    numbers(root, mount, "cgroup.procs")
}

/// The numbers in the files of this name in a hierarchy, ascending.
fn numbers(root: &Root, mount: &str, name: &str) -> Vec<u32> {
    let mut all = Vec::new();
    let mut dirs = vec![mount.trim_end_matches('/').to_owned()];
    while let Some(dir) = dirs.pop() {
        let list = root.readable_text(&format!("{dir}/{name}")).unwrap_or_default();
        let numbers = list.lines().filter_map(|line| line.parse::<u32>().ok());
        // A 0 is a task of an outer process namespace; in a system call it would mean the caller.
        all.extend(numbers.filter(|number| *number != 0));
        let below = root.entries(&dir).ok().flatten().unwrap_or_default();
        let below = below.into_iter().filter(|entry| entry.kind == DirectoryEntryType::Dir);
        dirs.extend(below.map(|entry| format!("{dir}/{}", entry.name)));
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::Live;
    use std::path::Path;

    /// Numbers above those of real processes, of which this one is in each list.
    const FAR: u32 = 5_000_000;

    /// A machine with these threads, of which the last assigned number is `newest`.
    fn write(dir: &Path, newest: Option<u32>, tids: &[u32]) {
        let write = |path: &str, text: String| {
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        if let Some(newest) = newest {
            write("proc/sys/kernel/ns_last_pid", format!("{newest}\n"));
        }
        let (own, inside): (Vec<u32>, Vec<u32>) = tids.iter().partition(|tid| **tid < 5);
        let text = |tids: &[u32]| tids.iter().map(|tid| format!("{tid}\n")).collect::<String>();
        write("cg/cgroup.threads", text(&own));
        write(
            "cg/inside/cgroup.threads",
            format!("0\n{}{}\n", text(&inside), std::process::id()),
        );
    }

    fn read(root: &Root) -> Option<ThreadList> {
        ThreadList::read(root, "/cg", Version::V2)
    }

    #[test]
    fn few_new_threads_are_added_without_a_list() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), Some(900), &[1, FAR + 80, FAR + 7]);
        let root = Root::of(&Live::rehearsal(dir.path()));
        let mut threads = read(&root).unwrap();
        let mut expected = vec![1, std::process::id(), FAR + 7, FAR + 80];
        expected.sort_unstable();
        assert_eq!(threads.tids(), expected);
        // Threads whose creation had not ended may be missing in the list.
        assert_eq!(threads.update(&root), Some((900 - IN_CREATION..=900).collect()));
        // 903 is not in a list, which shows that no list was read.
        write(dir.path(), Some(903), &[1, FAR + 80]);
        assert_eq!(threads.update(&root), Some((900 - IN_CREATION..=903).collect()));
        assert!(threads.tids().contains(&902) && threads.tids().is_sorted());
        assert_eq!(threads.update(&root), Some((903 - IN_CREATION..=903).collect()));
    }

    #[test]
    fn lists_are_read_again_when_numbers_do_not_show_what_is_new() {
        for (before, after) in [
            (None, None),
            (Some(90), None),
            // Numbers started again.
            (Some(90), Some(60)),
            (Some(90), Some(90 + MOST_CREATED + 1)),
        ] {
            let dir = tempfile::tempdir().unwrap();
            write(dir.path(), before, &[1, FAR + 80]);
            let root = Root::of(&Live::rehearsal(dir.path()));
            let mut threads = read(&root).unwrap();
            write(dir.path(), after, &[1, FAR + 60, FAR + 81]);
            if after.is_none() {
                let _ = std::fs::remove_file(dir.path().join("proc/sys/kernel/ns_last_pid"));
            }
            assert_eq!(
                threads.update(&root),
                Some(vec![FAR + 60, FAR + 81]),
                "{before:?} {after:?}"
            );
        }
    }

    #[test]
    fn incomplete_lists_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), None, &[1, FAR + 80]);
        let root = Root::of(&Live::rehearsal(dir.path()));
        let mut threads = read(&root).unwrap();
        write(dir.path(), None, &[FAR + 80]);
        assert!(read(&root).is_none() && threads.update(&root).is_none());
    }
}
