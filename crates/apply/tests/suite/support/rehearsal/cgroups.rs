//! How tasks enter a cgroup, and which ones a threaded cgroup accepts.

use super::{Rules, SimKernel, SimTask};
use machine::CpuSet;

/// What one write to a list of tasks moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachUnit {
    Process,
    Thread,
}

impl SimKernel {
    /// Simulates a write to `tasks`, `cgroup.procs` or `cgroup.threads`: any thread's number identifies its process.
    pub fn attach(&self, tid: u32, group: &str, moves: AttachUnit) -> Result<(), i32> {
        let effective = self.effective(group);
        let (theirs, ours) = {
            let tasks = self.tasks.borrow();
            let task = tasks.iter().find(|task| task.tid == tid).ok_or(libc::ESRCH)?;
            // `cgroup_init_kthreadd` keeps kthreadd in the root.
            if task.flags & 0x0400_0000 != 0 || task.comm == "kthreadd" {
                return Err(libc::EINVAL);
            }
            (self.domain_of(&task.cgroup), self.domain_of(group))
        };
        // `cgroup_attach_permissions`: a thread leaves its domain only with its process.
        if moves == AttachUnit::Thread && self.rules == Rules::V2 && theirs != ours {
            return Err(libc::EOPNOTSUPP);
        }
        if effective.is_empty() {
            return Err(libc::ENOSPC);
        }
        let mut tasks = self.tasks.borrow_mut();
        let pid = tasks.iter().find(|task| task.tid == tid).map(|task| task.pid);
        let comes = |task: &&mut SimTask| match moves {
            AttachUnit::Process => Some(task.pid) == pid,
            AttachUnit::Thread => task.tid == tid,
        };
        // `cgroup_migrate_add_task` skips exiting tasks.
        let is_alive = |task: &&mut SimTask| task.flags & machine::Task::PF_EXITING == 0;
        for task in tasks.iter_mut().filter(comes).filter(is_alive) {
            task.mask = self.mask_in(task, &effective);
            task.cgroup = group.to_owned();
        }
        Ok(())
    }

    /// Returns the mask of a task in a cgroup with these CPUs: its requested CPUs in the set, or the whole set if there
    /// are none or the request was forgotten.
    pub fn mask_in(&self, task: &SimTask, effective: &CpuSet) -> CpuSet {
        let requested = task.user_mask.as_ref().filter(|_| self.rules != Rules::V1DropsPins);
        let wanted = requested
            .map(|requested| requested.and(effective))
            .filter(|mask| !mask.is_empty());
        wanted.unwrap_or_else(|| effective.clone())
    }

    pub fn dir_of(&self, group: &str) -> String {
        format!("{}{}", self.mount_point(), group.trim_end_matches('/'))
    }

    pub fn is_threaded(&self, group: &str) -> bool {
        self.get(&format!("{}/cgroup.type", self.dir_of(group))) == "threaded"
    }

    fn domain_of(&self, group: &str) -> String {
        let mut group = group;
        while self.is_threaded(group) {
            group = group.rsplit_once('/').map_or("/", |(above, _)| above);
        }
        if group.is_empty() { "/" } else { group }.to_owned()
    }

    /// Simulates a write to `cgroup.type` (`cgroup_enable_threaded`): only the word `threaded`, once, to an empty
    /// cgroup.
    pub fn make_threaded(&self, group: &str, word: &str) -> Result<(), i32> {
        let is_populated = self.tasks.borrow().iter().any(|task| task.cgroup == group);
        match (word, self.is_threaded(group), is_populated) {
            ("threaded", true, _) => Ok(()),
            ("threaded", false, true) => Err(libc::EOPNOTSUPP),
            ("threaded", false, false) => {
                self.put(&format!("{}/cgroup.type", self.dir_of(group)), "threaded\n");
                Ok(())
            }
            _ => Err(libc::EINVAL),
        }
    }
}
