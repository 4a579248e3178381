//! Which CPUs are in a scheduling domain of the simulated kernel, and which were kept busy when they left.

use super::{Rules, SimKernel, is_partition_root, set};
use machine::CpuSet;

/// CPUs that left the domains by one write.
#[derive(Clone, Debug)]
pub struct DomainExit {
    #[allow(dead_code)] // Printed where a test fails.
    pub path: String,
    pub cpus: CpuSet,
    /// The CPUs to keep busy during this write only, and the cgroup file of the busy loops.
    pub busy: Option<(CpuSet, String)>,
    /// Whether that file existed.
    pub is_list: bool,
}

#[derive(Debug, Default)]
pub struct Domains {
    requested: Option<(CpuSet, String)>,
    /// How many writes had CPUs to keep busy.
    pub requests: usize,
    pub left: Vec<DomainExit>,
}

impl SimKernel {
    pub fn request_busy_cpus(&self, cpus: &CpuSet, list: &str) {
        let mut domains = self.domains.borrow_mut();
        domains.requested = Some((cpus.clone(), list.to_owned()));
        domains.requests += 1;
    }

    /// Performs one write and records the CPUs that left the domains.
    pub fn watching_domains<T>(&self, path: &str, write: impl FnOnce() -> T) -> T {
        let before = self.balanced();
        let done = write();
        let cpus = before.minus(&self.balanced());
        let kept = self.domains.borrow_mut().requested.take();
        if !cpus.is_empty() {
            let is_list = kept.as_ref().is_some_and(|(_, list)| self.live.locate(list).exists());
            self.domains.borrow_mut().left.push(DomainExit {
                path: path.to_owned(),
                cpus,
                busy: kept,
                is_list,
            });
        }
        done
    }

    /// The CPUs that `rebuild_sched_domains` would put into a domain (`generate_sched_domains` in
    /// `kernel/cgroup/cpuset.c`).
    fn balanced(&self) -> CpuSet {
        let all = set("0-3");
        let mount = self.mount_point();
        let groups = std::fs::read_dir(self.live.locate(mount)).into_iter().flatten();
        let dirs = groups.flatten().filter(|entry| entry.path().is_dir());
        let sets = dirs.map(|entry| format!("{mount}/{}", entry.file_name().to_string_lossy()));
        let value = |dir: &str, file: &str| self.get(&format!("{dir}/cpuset.{file}"));
        match self.rules {
            Rules::V2 => sets
                .filter(|dir| is_partition_root(&value(dir, "cpus.partition")))
                .fold(all, |rest, dir| rest.minus(&set(&value(&dir, "cpus")))),
            _ if value(mount, "sched_load_balance") == "1" => all,
            _ => sets
                .filter(|dir| value(dir, "sched_load_balance") == "1")
                .fold(CpuSet::default(), |some, dir| some.or(&set(&value(&dir, "cpus")))),
        }
    }
}
