//! Reads the masks of very many threads, by system call on the running machine: a file of `/proc` costs ten times as much.

use super::{Task, ThreadList};
use crate::CpuSet;
use root::{QueryResult, Root};

/// Reads the masks of threads, one at a time.
pub struct MaskReader<'a> {
    root: &'a Root,
    words: Vec<u64>,
    mask: CpuSet,
    /// The words of `mask`; empty before the first answer of the system call.
    mask_words: Vec<u64>,
}

impl<'a> MaskReader<'a> {
    /// For the threads of a machine.
    #[must_use]
    pub fn new(root: &'a Root) -> MaskReader<'a> {
        MaskReader {
            root,
            words: Vec::new(),
            mask: CpuSet::new(),
            mask_words: Vec::new(),
        }
    }

    /// The mask of a thread; `None` if it has ended. On the running machine it lacks the offline CPUs, which
    /// `Cpus_allowed_list` includes.
    pub fn mask(&mut self, tid: u32) -> Option<&CpuSet> {
        self.read(tid)?;
        Some(&self.mask)
    }

    /// Keeps the threads whose mask is wanted; those that have ended are dropped. Most tasks of a machine have the same mask:
    /// `is_wanted` is called only where the mask changes from one thread to the next.
    pub fn retain(&mut self, tids: &mut Vec<u32>, is_wanted: impl Fn(&CpuSet) -> bool) {
        let mut answer = None;
        tids.retain(|tid| match self.read(*tid) {
            None => false,
            Some(MaskChange::Same) => *answer.get_or_insert_with(|| is_wanted(&self.mask)),
            Some(MaskChange::Other) => *answer.insert(is_wanted(&self.mask)),
        });
    }

    /// Reads the mask of a thread into `mask`; `None` if it has ended.
    fn read(&mut self, tid: u32) -> Option<MaskChange> {
        match self.root.affinity(tid, &mut self.words) {
            QueryResult::Answered if self.words == self.mask_words => return Some(MaskChange::Same),
            QueryResult::Answered => {
                self.mask.set_words(&self.words);
                std::mem::swap(&mut self.words, &mut self.mask_words);
            }
            QueryResult::Missing => return None,
            QueryResult::Cannot => {
                self.mask = super::read_one(self.root, tid)?.allowed?;
                self.mask_words.clear();
            }
        }
        Some(MaskChange::Other)
    }
}

/// Whether a mask is the one that was read before.
enum MaskChange {
    Same,
    Other,
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

/// The movable ones of these threads whose mask is none of `usual`, read individually, by number; of all threads if there is
/// no list. On a machine with ten thousand unpinned tasks these are few.
#[must_use]
pub fn unusual(root: &Root, threads: Option<&ThreadList>, usual: impl Fn(&CpuSet) -> bool) -> Option<Vec<Task>> {
    let Some(threads) = threads else {
        return super::read(root);
    };
    let mut tids = threads.tids().to_vec();
    MaskReader::new(root).retain(&mut tids, |mask| !usual(mask));
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
    use crate::{TaskKey, Version};
    use root::Live;
    use std::collections::BTreeSet;

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
        let threads = ThreadList::read(&root, "/cg", Version::V2);
        let found = unusual(&root, threads.as_ref(), |mask| *mask == CpuSet::range(0, 3)).unwrap();
        let masks: Vec<_> = found
            .iter()
            .map(|task| (task.key.tid, task.pid, task.allowed.clone()))
            .collect();
        assert_eq!(masks, [(8, 5, Some(CpuSet::range(1, 1)))]);
    }

    #[test]
    fn each_thread_is_judged_by_its_own_mask() {
        let dir = tempfile::tempdir().unwrap();
        for (tid, mask) in [(4, "0-1"), (5, "0-1"), (6, "1"), (7, "0-1")] {
            let place = dir.path().join(format!("proc/{tid}"));
            std::fs::create_dir_all(&place).unwrap();
            let rest = "0 ".repeat(40);
            std::fs::write(place.join("stat"), format!("{tid} (x) S 1 1 1 0 -1 0 {rest}")).unwrap();
            std::fs::write(place.join("status"), format!("Cpus_allowed_list:\t{mask}\n")).unwrap();
        }
        let root = Root::of(&Live::rehearsal(dir.path()));
        let mut tids = vec![4, 5, 6, 7, 8];
        MaskReader::new(&root).retain(&mut tids, |mask| *mask == CpuSet::range(0, 1));
        assert_eq!(tids, [4, 5, 7]);
    }

    /// The kernel threads of this machine have several masks. A task counts if its files say the same before and afterwards.
    #[test]
    fn masks_by_system_call_are_those_of_the_files() {
        let root = Root::of(&Live::host());
        let of_files = || -> BTreeSet<(TaskKey, CpuSet)> {
            let tasks = super::super::read(&root).unwrap().into_iter();
            tasks.filter_map(|task| Some((task.key, task.allowed?))).collect()
        };
        let before = of_files();
        let mut tids: Vec<u32> = before.iter().map(|(key, _)| key.tid).collect();
        MaskReader::new(&root).retain(&mut tids, |mask| *mask == CpuSet::range(0, 0));
        let after = of_files();
        let steady: Vec<_> = before.intersection(&after).collect();
        tids.retain(|tid| steady.iter().any(|(key, _)| key.tid == *tid));
        let first = steady.iter().filter(|(_, mask)| *mask == CpuSet::range(0, 0));
        let expected: Vec<u32> = first.map(|(key, _)| key.tid).collect();
        assert!(!expected.is_empty() && expected.len() < steady.len());
        assert_eq!(tids, expected);
    }
}
