//! Selects the tasks for `move`: by number, by name, with their children.

use super::owners::Owners;
use crate::comm_pattern::Glob;
use machine::{MapEntries, Task};
use root::Root;
use std::collections::{BTreeMap, BTreeSet};

/// Tasks by number or name: those that match at least one of the lists.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Whole processes by number.
    pub pid: Vec<u32>,
    /// Single threads by number.
    pub tid: Vec<u32>,
    /// Whole processes by name.
    pub name: Vec<Glob>,
    /// Single threads by name.
    pub thread: Vec<Glob>,
}

/// Which children of selected processes are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Children {
    /// All descendants.
    All,
    /// Those created during the move.
    CreatedDuringMove,
}

/// A process, or single threads of one, moved together.
#[derive(Clone, Debug)]
pub(super) struct MoveSelection {
    /// The number that identifies it: the process's or the thread's.
    pub leader: u32,
    /// Whether it is a process with all its threads.
    pub whole: bool,
    /// The threads.
    pub tasks: Vec<Task>,
    /// Whether its number was given.
    pub by_number: bool,
}

impl Selection {
    /// The options as text.
    pub fn text(&self) -> String {
        let numbers = |what: &str, list: &[u32]| {
            let list: Vec<String> = list.iter().map(u32::to_string).collect();
            (!list.is_empty()).then(|| format!("{what} {}", list.join(", ")))
        };
        let globs = |what: &str, list: &[Glob]| {
            let list: Vec<&str> = list.iter().map(Glob::text).collect();
            (!list.is_empty()).then(|| format!("{what} `{}`", report::safe(&list.join("`, `"))))
        };
        let parts = [
            numbers("process", &self.pid),
            numbers("thread", &self.tid),
            globs("a process named", &self.name),
            globs("a thread named", &self.thread),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" or ")
    }

    /// Whether it selects by name, which any user can choose.
    pub fn has_names(&self) -> bool {
        !self.name.is_empty() || !self.thread.is_empty()
    }

    /// The current tasks of the machine, by process. Never this process itself.
    pub(super) fn choose(&self, root: &Root, owners: &Owners, children: Children) -> Vec<MoveSelection> {
        let tasks = machine::tasks::read(root).unwrap_or_default();
        self.out_of(tasks, std::process::id(), children, &|pid| owners.mean(pid))
    }

    /// `is_meant` returns whether a matching process has the right user. Its children are included whatever their user.
    fn out_of(
        &self,
        tasks: Vec<Task>,
        myself: u32,
        children: Children,
        is_meant: &dyn Fn(u32) -> bool,
    ) -> Vec<MoveSelection> {
        let started = tasks
            .iter()
            .find(|task| task.key.tid == myself)
            .map_or(u64::MAX, |task| task.key.start_time);
        let born_since = match children {
            Children::All => 0,
            Children::CreatedDuringMove => started,
        };
        let mut processes: BTreeMap<u32, Vec<Task>> = BTreeMap::new();
        for task in tasks.into_iter().filter(|task| task.pid != myself) {
            processes.entry(task.pid).or_default().push(task);
        }
        let whole = self.processes(&processes, born_since, is_meant);
        let mut chosen = Vec::new();
        for (pid, threads) in processes {
            if whole.contains(&pid) {
                chosen.push(MoveSelection {
                    leader: pid,
                    whole: true,
                    by_number: self.pid.contains(&pid),
                    tasks: threads,
                });
                continue;
            }
            let count = threads.len();
            let single: Vec<Task> = threads
                .into_iter()
                .filter(|task| {
                    let fits =
                        self.tid.contains(&task.key.tid) || self.thread.iter().any(|glob| glob.matches(&task.comm));
                    fits && is_meant(pid)
                })
                .collect();
            let by_number = single.iter().any(|task| self.tid.contains(&task.key.tid));
            if !single.is_empty() && single.len() == count {
                // Selecting all threads selects the process.
                chosen.push(MoveSelection {
                    leader: pid,
                    whole: true,
                    tasks: single,
                    by_number,
                });
                continue;
            }
            chosen.extend(single.into_iter().map(|task| MoveSelection {
                leader: task.key.tid,
                whole: false,
                by_number: self.tid.contains(&task.key.tid),
                tasks: vec![task],
            }));
        }
        chosen
    }

    /// Selected processes, then their children created after a time (clock ticks after boot).
    fn processes(
        &self,
        processes: &BTreeMap<u32, Vec<Task>>,
        born_since: u64,
        is_meant: &dyn Fn(u32) -> bool,
    ) -> BTreeSet<u32> {
        let leader = |pid: &u32, threads: &[Task]| threads.iter().find(|task| task.key.tid == *pid).cloned();
        let leaders: BTreeMap<u32, Task> = processes
            .iter()
            .filter_map(|(pid, threads)| Some((*pid, leader(pid, threads)?)))
            .into_map();
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (pid, task) in &leaders {
            if task.key.start_time >= born_since {
                children.entry(task.ppid).or_default().push(*pid);
            }
        }
        let meant = leaders.iter().filter(|(pid, task)| {
            let fits = self.pid.contains(pid) || self.name.iter().any(|glob| glob.matches(&task.comm));
            fits && is_meant(**pid)
        });
        let mut open: Vec<u32> = meant.map(|(pid, _)| *pid).collect();
        let mut whole = BTreeSet::new();
        while let Some(pid) = open.pop() {
            if whole.insert(pid) {
                open.extend(children.get(&pid).into_iter().flatten());
            }
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{CpuSet, Policy, TaskKey};

    fn task(pid: u32, tid: u32, ppid: u32, comm: &str, start_time: u64) -> Task {
        Task {
            pid,
            key: TaskKey { tid, start_time },
            ppid,
            comm: comm.to_owned(),
            state: 'S',
            flags: 0,
            cpu: None,
            allowed: Some(CpuSet::range(0, 3)),
            policy: Policy::Other,
            rt_priority: 0,
            nice: 0,
            cgroup: None,
        }
    }

    fn machine() -> Vec<Task> {
        vec![
            task(10, 10, 1, "app", 5),
            task(10, 11, 1, "io/0", 6),
            task(10, 12, 1, "io/1", 6),
            task(20, 20, 10, "old child", 7),
            task(21, 21, 10, "new child", 100),
            task(22, 22, 21, "grandchild", 101),
            task(30, 30, 1, "io/0", 8),
            task(90, 90, 10, "quietcore", 100),
        ]
    }

    fn numbers(selection: &Selection, children: Children) -> Vec<(u32, bool, usize)> {
        let chosen = selection.out_of(machine(), 90, children, &|_| true);
        chosen
            .iter()
            .map(|one| (one.leader, one.whole, one.tasks.len()))
            .collect()
    }

    fn none() -> Selection {
        Selection {
            pid: Vec::new(),
            tid: Vec::new(),
            name: Vec::new(),
            thread: Vec::new(),
        }
    }

    #[test]
    fn a_process_is_moved_with_its_threads_and_new_children() {
        let selection = Selection {
            pid: vec![10],
            ..none()
        };
        assert_eq!(
            numbers(&selection, Children::CreatedDuringMove),
            [(10, true, 3), (21, true, 1), (22, true, 1)]
        );
        assert_eq!(
            numbers(&selection, Children::All),
            [(10, true, 3), (20, true, 1), (21, true, 1), (22, true, 1)]
        );
    }

    #[test]
    fn processes_of_other_users_are_skipped_and_children_are_included() {
        let selection = Selection {
            name: vec![Glob::parse("app").unwrap()],
            thread: vec![Glob::parse("io/*").unwrap()],
            ..none()
        };
        let of_user = |user: u32| -> Vec<u32> {
            let chosen = selection.out_of(machine(), 90, Children::All, &|pid| pid == user);
            chosen.iter().map(|one| one.leader).collect()
        };
        assert_eq!(of_user(10), [10, 20, 21, 22]);
        assert_eq!(of_user(30), [30]);
        assert!(of_user(20).is_empty(), "a child alone was not asked for");
    }

    #[test]
    fn single_threads_are_moved_alone_unless_they_are_the_whole_process() {
        let glob = |text| vec![Glob::parse(text).unwrap()];
        let selection = Selection {
            thread: glob("io/*"),
            ..none()
        };
        assert_eq!(
            numbers(&selection, Children::CreatedDuringMove),
            [(11, false, 1), (12, false, 1), (30, true, 1)]
        );
        let selection = Selection {
            tid: vec![11],
            ..none()
        };
        assert_eq!(numbers(&selection, Children::CreatedDuringMove), [(11, false, 1)]);
        let selection = Selection {
            tid: vec![10, 11, 12],
            ..none()
        };
        assert_eq!(numbers(&selection, Children::CreatedDuringMove), [(10, true, 3)]);
        let selection = Selection {
            name: glob("quiet*"),
            pid: vec![11],
            ..none()
        };
        assert_eq!(
            numbers(&selection, Children::CreatedDuringMove),
            [],
            "not myself, and a thread is no process"
        );
        assert_eq!(selection.text(), "process 11 or a process named `quiet*`");
    }
}
