//! Moves tasks back to where the journal recorded them, and tasks that started since to their parent's place.

use crate::error::refusal;
use crate::masks::IntendedMasks;
use crate::threads::{domain_of, members_file, threads_of};
use crate::{ApplyError, System, census};
use machine::{TaskKey, Version};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

/// Where our sets are, and how tasks are moved in this hierarchy.
pub(crate) struct CgroupMap<'a> {
    /// The machine.
    pub system: &'a dyn System,
    /// Mount of the cpuset hierarchy.
    pub mount: &'a str,
    /// v1 moves threads, v2 moves processes.
    pub version: Version,
    /// Directories of our sets that are removed.
    pub sets: &'a [String],
    /// Home cgroup of the root's tasks: `/`, or the housekeeping set (v1) while other partitions stay.
    pub default_cgroup: &'a str,
    /// Cgroups of the remaining partitions, below the mount.
    pub stay: &'a [String],
    /// The state from the journal.
    pub intended_masks: &'a IntendedMasks,
}

impl CgroupMap<'_> {
    /// The file of a cgroup that accepts tasks: threads on v1, processes on v2.
    pub fn list(&self, dir: &str) -> String {
        match self.version {
            Version::V1 => format!("{dir}/tasks"),
            Version::V2 => format!("{dir}/cgroup.procs"),
        }
    }

    /// Moves one task to its original cgroup; `Ok(false)` if it has ended.
    ///
    /// # Errors
    /// The errno with which the kernel refused both its original cgroup and the root.
    pub fn return_task(&self, tid: u32) -> Result<bool, i32> {
        let original = self.original_cgroup_path(tid);
        let sent = match self.enter(tid, &original) {
            // Its former cgroup is gone, or may no longer hold processes; the root always may.
            Err(libc::ENOENT | libc::EBUSY | libc::ENODEV | libc::EOPNOTSUPP) if original != self.default_cgroup => {
                let hearth = format!("{}{}", self.mount, self.default_cgroup.trim_end_matches('/'));
                self.attach(&self.list(&hearth), tid)
            }
            other => other,
        };
        if sent == Ok(true) && self.version == Version::V2 && !self.stay.is_empty() {
            self.remove_partition_cpus(tid);
        }
        sent
    }

    /// Removes the CPUs of the remaining partitions, which the root gives every arriving task before 6.2.
    fn remove_partition_cpus(&self, tid: u32) {
        let root = self.system.root();
        let room = machine::cpu_list(root, &format!("{}/cpuset.cpus.effective", self.mount)).unwrap_or_default();
        let cgroup = machine::tasks::cgroup_of(root, tid, self.version);
        let task = machine::tasks::read_one(root, tid);
        let Some(mask) = task.and_then(|task| task.allowed) else {
            return;
        };
        let rest = mask.and(&room);
        if cgroup.as_deref() == Some("/") && rest != mask && !rest.is_empty() {
            // Refused only if the task has ended, or the kernel has bound it.
            let _ = self.system.set_affinity(tid, &rest);
        }
    }

    /// Moves one task to a cgroup, or to its original one if that is gone.
    ///
    /// # Errors
    /// As for [`CgroupMap::return_task`].
    pub fn send_to(&self, tid: u32, cgroup: &str) -> Result<bool, i32> {
        match self.enter(tid, cgroup) {
            Err(libc::ENOENT | libc::EBUSY | libc::ENODEV | libc::EOPNOTSUPP) => self.return_task(tid),
            other => other,
        }
    }

    /// Moves those members of one of our sets back that were recorded as a crowd, and returns their number.
    /// [`CgroupMap::evacuate`] handles those that do not move.
    pub fn return_unpinned(&self, dir: &str) -> usize {
        let Ok(members) = census::members(self.system, &self.list(dir)) else {
            return 0;
        };
        let mut ways: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for tid in members {
            let original = self
                .intended_masks
                .original_cgroup_of_unpinned(tid)
                .filter(|home| !self.is_ours(home));
            if let Some(original) = original {
                let cgroup = self.or_default_cgroup(original);
                ways.entry(cgroup).or_default().push(tid);
            }
        }
        let mut sent = 0;
        for (cgroup, tids) in ways {
            let list = self.list(&format!("{}{}", self.mount, cgroup.trim_end_matches('/')));
            let mut answer = |_: u32, moved: Result<(), root::RootError>| {
                sent += usize::from(moved.is_ok());
                ControlFlow::Continue(())
            };
            // If the original cgroup is gone, all are refused; then each is moved by itself.
            let _ = self.system.attach_each(&list, &mut tids.into_iter(), &mut answer);
        }
        sent
    }

    /// Moves a task into a cgroup. On v2 its whole process moves, except that threads move one by one within their
    /// domain. A process with a thread in a remaining partition keeps waiting in its domain.
    fn enter(&self, tid: u32, cgroup: &str) -> Result<bool, i32> {
        let dir = |cgroup: &str| format!("{}{}", self.mount, cgroup.trim_end_matches('/'));
        let root = self.system.root();
        let now = match self.version {
            Version::V1 => None,
            Version::V2 => machine::tasks::cgroup_of(root, tid, self.version),
        };
        let Some(now) = now else {
            return self.attach(&self.list(&dir(cgroup)), tid);
        };
        let theirs = domain_of(root, self.mount, &now);
        let domain = domain_of(root, self.mount, cgroup);
        let thread = |cgroup: &str| self.attach(&format!("{}/cgroup.threads", dir(cgroup)), tid);
        if theirs == domain && theirs != now {
            return thread(cgroup);
        }
        if theirs != now && self.is_divided(tid) {
            return thread(&theirs);
        }
        // The thread joins its process before the process leaves: see `threads::gather`.
        if theirs != now {
            thread(&theirs)?;
        }
        match domain == cgroup {
            true => self.attach(&self.list(&dir(cgroup)), tid),
            // The process moves into the domain first, and then the thread to its place there.
            false => match self.attach(&self.list(&dir(&domain)), tid)? {
                true => thread(cgroup),
                false => Ok(false),
            },
        }
    }

    /// Whether another thread of its process is in a remaining partition.
    pub fn is_divided(&self, tid: u32) -> bool {
        let root = self.system.root();
        let pid = machine::tasks::read_one(root, tid).map(|task| task.pid);
        let others = pid.map(|pid| threads_of(root, pid)).unwrap_or_default();
        others.into_iter().filter(|other| *other != tid).any(|other| {
            let cgroup = machine::tasks::cgroup_of(root, other, self.version);
            cgroup.is_some_and(|cgroup| self.stay.iter().any(|stay| machine::is_within(&cgroup, stay)))
        })
    }

    /// Empties one of our sets, until no new task appears in it.
    ///
    /// Returns the tasks that could not be moved, with the reason.
    ///
    /// # Errors
    /// The error of reading the set's list.
    pub fn evacuate(&self, dir: &str) -> Result<Vec<String>, ApplyError> {
        const PASSES: usize = 200;
        let list = members_file(self.system.root(), dir, self.version);
        let mut blocked = Vec::new();
        for _ in 0..PASSES {
            let mut moved = self.return_unpinned(dir);
            let members = census::members(self.system, &list)?;
            blocked.clear();
            for tid in &members {
                match self.return_task(*tid) {
                    Ok(_) => moved += 1,
                    Err(errno) => blocked.push(format!(
                        "task {tid} ({}) cannot leave {dir}: {}",
                        comm_of(self.system, *tid),
                        std::io::Error::from_raw_os_error(errno)
                    )),
                }
            }
            if moved == 0 {
                break;
            }
        }
        Ok(blocked)
    }

    /// Removes one of our sets. The kernel returns EBUSY for a moment after the last task left.
    ///
    /// # Errors
    /// The errno after a bounded wait.
    pub fn remove(&self, dir: &str) -> Result<(), i32> {
        const TRIES: u32 = 100;
        let mut last = libc::EBUSY;
        for _ in 0..TRIES {
            match self.system.remove_dir(dir) {
                Ok(()) => return Ok(()),
                Err(error) => match error.errno().unwrap_or(libc::EIO) {
                    libc::ENOENT => return Ok(()),
                    libc::EBUSY => {
                        last = libc::EBUSY;
                        // A new task may have started in it since.
                        let _ = self.evacuate(dir);
                        self.system.pause(Duration::from_millis(20));
                    }
                    errno => return Err(errno),
                },
            }
        }
        Err(last)
    }

    fn attach(&self, list: &str, tid: u32) -> Result<bool, i32> {
        match self.system.write(list, &tid.to_string()).map_err(refusal) {
            Ok(()) => Ok(true),
            Err(Ok(libc::ESRCH)) => Ok(false),
            Err(Ok(errno)) => Err(errno),
            Err(Err(_)) => Err(libc::EIO),
        }
    }

    /// Path of a task's original cgroup below the mount.
    fn original_cgroup_path(&self, tid: u32) -> String {
        const GENERATIONS: usize = 64;
        let mut tid = tid;
        for _ in 0..GENERATIONS {
            let Some(task) = machine::tasks::read_one(self.system.root(), tid) else {
                break;
            };
            if let Some(original) = self.recorded_cgroup(task.key) {
                return original;
            }
            // A thread's own process takes precedence over its parent.
            let next = if task.pid == tid { task.ppid } else { task.pid };
            if next == 0 || next == tid {
                break;
            }
            let cgroup = machine::tasks::cgroup_of(self.system.root(), next, self.version);
            if let Some(cgroup) = cgroup.filter(|cgroup| !self.is_ours(cgroup)) {
                return self.or_default_cgroup(&cgroup);
            }
            tid = next;
        }
        self.default_cgroup.to_owned()
    }

    fn or_default_cgroup(&self, cgroup: &str) -> String {
        if cgroup == "/" { self.default_cgroup } else { cgroup }.to_owned()
    }

    fn recorded_cgroup(&self, key: TaskKey) -> Option<String> {
        self.intended_masks
            .original_cgroup(key)
            .filter(|cgroup| !self.is_ours(cgroup))
            .map(|cgroup| self.or_default_cgroup(cgroup))
    }

    fn is_ours(&self, cgroup: &str) -> bool {
        let dir = format!("{}{cgroup}", self.mount);
        self.sets.iter().any(|set| machine::is_within(&dir, set))
    }
}

fn comm_of(system: &dyn System, tid: u32) -> String {
    machine::tasks::read_one(system.root(), tid).map_or_else(|| "gone".to_owned(), |task| task.comm)
}
