//! Reads the masks of very many threads, by system call on the running machine: a file of `/proc` costs ten times as much.

use super::Task;
use crate::{CpuSet, Version};
use root::{DirectoryEntryType, QueryResult, Root};

/// Reads the masks of threads, one at a time.
pub struct MaskReader<'a> {
    root: &'a Root,
    words: Vec<u64>,
    mask: CpuSet,
}

impl<'a> MaskReader<'a> {
    /// For the threads of a machine.
    #[must_use]
    pub fn new(root: &'a Root) -> MaskReader<'a> {
        MaskReader {
            root,
            words: Vec::new(),
            mask: CpuSet::new(),
        }
    }

    /// The mask of a thread; `None` if it has ended. On the running machine it lacks the offline CPUs, which
    /// `Cpus_allowed_list` includes.
    pub fn mask(&mut self, tid: u32) -> Option<&CpuSet> {
        match self.root.affinity(tid, &mut self.words) {
            QueryResult::Answered => self.mask.set_words(&self.words),
            QueryResult::Missing => return None,
            QueryResult::Cannot => self.mask = super::read_one(self.root, tid)?.allowed?,
        }
        Some(&self.mask)
    }
}

/// `kthreadd` and the kernel threads that it created; `None` if the kernel does not list children.
#[must_use]
pub fn kernel_threads(root: &Root) -> Option<Vec<u32>> {
    let mut tids = children(root, super::KTHREADD)?;
    tids.push(super::KTHREADD);
    Some(tids)
}

/// The children of a process; `None` if the kernel does not list them (`CONFIG_PROC_CHILDREN`).
#[must_use]
pub fn children(root: &Root, pid: u32) -> Option<Vec<u32>> {
    let text = root.readable_text(&format!("/proc/{pid}/task/{pid}/children"))?;
    Some(
        text.split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect(),
    )
}

/// The number of every thread, as listed by the cgroups of a hierarchy; `None` if this process or task 1 is not in the lists,
/// which are therefore incomplete: a container that shares the process namespace of its host sees its own cgroups alone.
#[must_use]
pub fn listed(root: &Root, mount: &str, version: Version) -> Option<Vec<u32>> {
    let name = match version {
        Version::V1 => "tasks",
        Version::V2 => "cgroup.threads",
    };
    let tids = numbers(root, mount, name);
    (tids.contains(&std::process::id()) && tids.contains(&1)).then_some(tids)
}

/// The number of every process, as listed by the cgroups of a hierarchy. The cgroups below a threaded one list none.
pub(super) fn processes(root: &Root, mount: &str) -> Vec<u32> {
    numbers(root, mount, "cgroup.procs")
}

/// The numbers in the files of this name in a hierarchy.
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
    all
}

/// The movable threads whose mask is none of `usual`, read individually, by number; all threads if no cheap query is
/// possible. On a machine with ten thousand unpinned tasks these are few.
#[must_use]
pub fn unusual(root: &Root, mount: &str, version: Version, usual: impl Fn(&CpuSet) -> bool) -> Option<Vec<Task>> {
    let Some(tids) = listed(root, mount, version) else {
        return super::read(root);
    };
    let mut glance = MaskReader::new(root);
    let is_unusual = |tid: &u32| glance.mask(*tid).is_some_and(|mask| !usual(mask));
    let mut tids: Vec<u32> = tids.into_iter().filter(is_unusual).collect();
    tids.sort_unstable();
    // Most of them are bound kernel threads: their `stat` shows that, and more is not needed.
    let movable = tids
        .into_iter()
        .filter_map(|tid| super::read_stat(root, tid))
        .filter(Task::is_movable);
    Some(movable.map(|task| super::with_status(root, task)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::Live;

    /// An unmovable thread has no pin that could be removed or restored.
    #[test]
    fn bound_threads_do_not_count_as_pinned() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let own = std::process::id();
        for (tid, flags, mask) in [
            (1, 0, "0-3"),
            (7, Task::PF_KTHREAD | Task::PF_NO_SETAFFINITY, "1"),
            (8, 0, "1"),
            (own, 0, "0-3"),
        ] {
            let rest = "0 ".repeat(40);
            write(
                &format!("proc/{tid}/stat"),
                &format!("{tid} (x) S 1 1 1 0 -1 {flags} {rest}"),
            );
            write(
                &format!("proc/{tid}/status"),
                &format!("Tgid:\t5\nCpus_allowed_list:\t{mask}\n"),
            );
        }
        write("cg/cgroup.threads", &format!("1\n7\n8\n{own}\n"));
        let root = Root::of(&Live::rehearsal(dir.path()));
        let found = unusual(&root, "/cg", Version::V2, |mask| *mask == CpuSet::range(0, 3)).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|task| (task.key.tid, task.pid, task.allowed.clone()))
            .collect();
        assert_eq!(told, [(8, 5, Some(CpuSet::range(1, 1)))]);
    }
}
