//! Answers which tasks may run on which CPUs without reading every task. On the running machine the kernel lists all threads
//! in the cgroups and gives a mask by one system call; the files of a task in `/proc` cost more than ten times as much.

use super::{MaskReader, Task, ThreadList, glance, read, thread_list};
use crate::{CpuSet, Version};
use root::{Origin, Root};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The tasks with the same mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskCount {
    /// Their mask.
    pub allowed: CpuSet,
    /// Whether they are kernel threads.
    pub is_kernel: bool,
    /// Whether the kernel allows to move them.
    pub is_movable: bool,
    /// How many there are.
    pub count: usize,
}

/// The tasks that may run on some CPUs.
#[derive(Clone, Debug)]
pub struct CpuTasks {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The tasks, by number.
    pub tasks: Vec<Task>,
    /// The number of all tasks of the machine.
    pub total: usize,
    /// Whether `/proc` hides the tasks of other users (`hidepid=`, `proc(5)`).
    pub is_hidden: bool,
}

/// The place where a machine lists its threads: the mount point of a cgroup hierarchy, and its version.
#[derive(Clone, Copy)]
pub(crate) struct TaskListLocation<'a> {
    pub mount: &'a str,
    pub version: Version,
}

/// Groups tasks by their masks.
pub(crate) fn count_masks(tasks: &[Task]) -> Vec<MaskCount> {
    let mut groups = Groups::default();
    for task in tasks {
        if let Some(allowed) = &task.allowed {
            groups.add(allowed, task.is_kernel(), task.is_movable());
        }
    }
    groups.finish()
}

/// Counts the masks of all tasks by system call; `None` where that is not possible. Only kernel threads and threads that are
/// not the first of their process can be unmovable (`create_worker` of workqueues, `io_init_new_worker`): their `stat` is read.
pub(crate) fn read_mask_counts(root: &Root, lists: TaskListLocation) -> Option<Vec<MaskCount>> {
    let threads = listed(root, lists)?;
    let leaders = thread_list::processes(root, lists.mount);
    let of_kernel: BTreeSet<u32> = glance::kernel_threads(root)?.into_iter().collect();
    let mut masks = MaskReader::new(root);
    let mut groups = Groups::default();
    for tid in threads.tids().iter().copied() {
        let is_program = leaders.binary_search(&tid).is_ok() && !of_kernel.contains(&tid);
        let stat = match is_program {
            true => None,
            false => match read::read_stat(root, tid) {
                Some(task) => Some(task),
                // It has ended.
                None => continue,
            },
        };
        if let Some(mask) = masks.mask(tid) {
            let is_kernel = stat.as_ref().is_some_and(Task::is_kernel);
            groups.add(mask, is_kernel, stat.as_ref().is_none_or(Task::is_movable));
        }
    }
    Some(groups.finish())
}

/// Reads the tasks that may run on the CPUs; `None` where masks cannot be read by system call.
pub(crate) fn read_tasks_on(root: &Root, lists: TaskListLocation, cpus: &CpuSet) -> Option<CpuTasks> {
    let threads = listed(root, lists)?;
    let mut tids = threads.tids().to_vec();
    MaskReader::new(root).retain(&mut tids, |mask| mask.intersects(cpus));
    Some(CpuTasks {
        cpus: cpus.clone(),
        tasks: tids.into_iter().filter_map(|tid| read::read_one(root, tid)).collect(),
        total: threads.tids().len(),
        is_hidden: read::read_stat(root, 1).is_none(),
    })
}

fn listed(root: &Root, lists: TaskListLocation) -> Option<ThreadList> {
    match root.origin() {
        Origin::Live => ThreadList::read(root, lists.mount, lists.version),
        Origin::Captured => None,
    }
}

/// By kind (of the kernel, movable) and mask. Ten thousand tasks have few masks: each is copied once.
#[derive(Default)]
struct Groups(BTreeMap<(bool, bool), HashMap<CpuSet, usize>>);

impl Groups {
    fn add(&mut self, allowed: &CpuSet, is_kernel: bool, is_movable: bool) {
        let masks = self.0.entry((is_kernel, is_movable)).or_default();
        match masks.get_mut(allowed) {
            Some(count) => *count += 1,
            None => {
                masks.insert(allowed.clone(), 1);
            }
        }
    }

    fn finish(self) -> Vec<MaskCount> {
        let of_kind = |((is_kernel, is_movable), masks): ((bool, bool), HashMap<CpuSet, usize>)| {
            masks.into_iter().map(move |(allowed, count)| MaskCount {
                allowed,
                is_kernel,
                is_movable,
                count,
            })
        };
        self.0.into_iter().flat_map(of_kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::Live;

    const KERNEL: u32 = Task::PF_KTHREAD;
    const FIXED: u32 = Task::PF_NO_SETAFFINITY;
    const LISTS: TaskListLocation = TaskListLocation {
        mount: "/cg",
        version: Version::V2,
    };

    /// Process, thread, flags and mask: kernel threads, programs, and a worker of io_uring, which is a thread of a program.
    fn tasks() -> [(u32, u32, u32, &'static str); 7] {
        [
            (1, 1, 0, "0-3"),
            (2, 2, KERNEL, "0-3"),
            (7, 7, KERNEL | FIXED, "1"),
            (8, 8, 0, "1"),
            (8, 9, FIXED, "1"),
            (10, 10, 0, "0,2-3"),
            (std::process::id(), std::process::id(), 0, "0-3"),
        ]
    }

    fn machine() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let (mut threads, mut processes) = (String::new(), String::new());
        for (pid, tid, flags, mask) in tasks() {
            let rest = "0 ".repeat(40);
            for place in [format!("proc/{tid}"), format!("proc/{pid}/task/{tid}")] {
                let alive = format!("{tid} (x) S 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 2 {rest}");
                write(&format!("{place}/stat"), &alive);
                write(
                    &format!("{place}/status"),
                    &format!("Tgid:\t{pid}\nCpus_allowed_list:\t{mask}\n"),
                );
            }
            threads.push_str(&format!("{tid}\n"));
            if pid == tid {
                processes.push_str(&format!("{pid}\n"));
            }
        }
        write("proc/2/task/2/children", "7");
        write("cg/cgroup.threads", "");
        write("cg/inside/cgroup.threads", &threads);
        write("cg/inside/cgroup.procs", &processes);
        dir
    }

    fn sorted(mut counts: Vec<MaskCount>) -> Vec<MaskCount> {
        counts.sort_by_key(|group| (group.is_kernel, group.is_movable, group.allowed.to_string()));
        counts
    }

    #[test]
    fn counts_equal_those_over_all_tasks() {
        let dir = machine();
        let root = Root::of(&Live::rehearsal(dir.path()));
        let counts = sorted(read_mask_counts(&root, LISTS).unwrap());
        let shown: Vec<(String, bool, bool, usize)> = counts
            .iter()
            .map(|group| {
                (
                    group.allowed.to_string(),
                    group.is_kernel,
                    group.is_movable,
                    group.count,
                )
            })
            .collect();
        let expected = [
            ("1", false, false, 1),
            ("0,2-3", false, true, 1),
            ("0-3", false, true, 2),
            ("1", false, true, 1),
            ("1", true, false, 1),
            ("0-3", true, true, 1),
        ];
        let expected = expected.map(|(mask, kernel, movable, count)| (mask.to_owned(), kernel, movable, count));
        assert_eq!(shown, expected);
    }

    #[test]
    fn tasks_on_a_cpu_are_those_whose_mask_contains_it() {
        let dir = machine();
        let root = Root::of(&Live::rehearsal(dir.path()));
        let on = read_tasks_on(&root, LISTS, &CpuSet::range(1, 1)).unwrap();
        let tids: Vec<u32> = on.tasks.iter().map(|task| task.key.tid).collect();
        let expected: BTreeSet<u32> = [1, 2, 7, 8, 9, std::process::id()].into();
        assert_eq!(tids, Vec::from_iter(expected));
        assert_eq!((on.total, on.is_hidden), (7, false));
    }

    /// A container that shares the process namespace of its host lists its own cgroups alone.
    #[test]
    fn incomplete_lists_are_not_used() {
        let dir = machine();
        let own = format!("{}\n", std::process::id());
        std::fs::write(dir.path().join("cg/inside/cgroup.threads"), own).unwrap();
        let root = Root::of(&Live::rehearsal(dir.path()));
        assert!(read_mask_counts(&root, LISTS).is_none());
        assert!(read_tasks_on(&root, LISTS, &CpuSet::range(1, 1)).is_none());
    }
}
