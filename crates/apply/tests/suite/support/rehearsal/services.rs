//! Cgroups of services and containers on cgroup v2, with remote partitions as from 6.7 on.

use super::{Rules, SimKernel, SimTask, is_partition_root, set};
use machine::CpuSet;
use std::fs;

/// The files that a cgroup has while the cgroup above enables the cpuset controller for it.
const CPUSET_FILES: [(&str, &str); 4] = [
    ("cpuset.cpus", ""),
    ("cpuset.mems", ""),
    ("cpuset.cpus.exclusive", ""),
    ("cpuset.cpus.partition", "member"),
];

impl SimKernel {
    /// Boots a machine with cgroup v2 whose kernel has remote partitions.
    pub fn boot_with_remote_partitions() -> SimKernel {
        let kernel = SimKernel::boot(Rules::V2);
        kernel.have_remote_partitions();
        kernel
    }

    /// Makes it a kernel that has them.
    pub fn have_remote_partitions(&self) {
        self.put("/proc/sys/kernel/osrelease", "6.12.0-sim\n");
    }

    /// Makes a cgroup with the cgroups above it, as a manager of services does, and starts a process there.
    pub fn start_service(&self, cgroup: &str, pid: u32) {
        let ends = cgroup.match_indices('/').skip(1).map(|(end, _)| end);
        for end in ends.chain([cgroup.len()]) {
            let dir = self.dir_of(&cgroup[..end]);
            if !self.live.locate(&dir).exists() {
                self.put(&format!("{dir}/cgroup.subtree_control"), "\n");
                self.put(&format!("{dir}/cgroup.type"), "domain\n");
                let above = dir.rsplit_once('/').unwrap().0;
                self.hand_cpuset_files_down(above);
            }
        }
        let mask = self.effective(cgroup);
        self.tasks.borrow_mut().push(SimTask {
            tid: pid,
            pid,
            ppid: 1,
            comm: "service",
            flags: 0,
            mask,
            user_mask: None,
            cgroup: cgroup.to_owned(),
        });
        self.render();
    }

    /// Ends the processes of a cgroup and removes it, as a manager of services does.
    pub fn stop_service(&self, cgroup: &str) {
        let gone: Vec<u32> = {
            let mut tasks = self.tasks.borrow_mut();
            let gone = tasks
                .iter()
                .filter(|task| task.cgroup == cgroup)
                .map(|task| task.tid)
                .collect();
            tasks.retain(|task| task.cgroup != cgroup);
            gone
        };
        for pid in gone {
            fs::remove_dir_all(self.live.locate(&format!("/proc/{pid}"))).unwrap();
            self.shown
                .borrow_mut()
                .retain(|path, _| !path.starts_with(&format!("/proc/{pid}/")));
        }
        let dir = self.dir_of(cgroup);
        fs::remove_dir_all(self.live.locate(&dir)).unwrap();
        self.shown
            .borrow_mut()
            .retain(|path, _| !path.starts_with(&format!("{dir}/")));
        self.follow_cpusets(|_| true);
    }

    /// The CPUs of a cgroup that is a partition.
    pub fn partition_cpus(&self, cgroup: &str) -> Option<CpuSet> {
        let file = |name: &str| self.get(&format!("{}/cpuset.cpus{name}", self.dir_of(cgroup)));
        let exclusive = set(&file(".exclusive"));
        let cpus = if exclusive.is_empty() {
            set(&file(""))
        } else {
            exclusive
        };
        is_partition_root(&file(".partition")).then_some(cpus)
    }

    /// Whether the cgroup in this directory would be an invalid partition: a cgroup above does not list its CPUs as exclusive
    /// (`compute_effective_exclusive_cpumask`).
    pub fn cannot_be_partition(&self, dir: &str) -> bool {
        let own = set(&self.get(&format!("{dir}/cpuset.cpus.exclusive")));
        let cgroup = dir.strip_prefix(self.mount_point()).unwrap();
        let mut above = cgroup.match_indices('/').skip(1).map(|(end, _)| &cgroup[..end]);
        above.any(|above| {
            let list = set(&self.get(&format!("{}/cpuset.cpus.exclusive", self.dir_of(above))));
            own.is_empty() || !own.is_subset(&list)
        })
    }

    /// The children of a cgroup have cpuset files only while it enables the controller.
    pub fn hand_cpuset_files_down(&self, above: &str) {
        let control = self.get(&format!("{above}/cgroup.subtree_control"));
        let is_enabled = control.split_whitespace().any(|word| word == "cpuset");
        let mut was_partition = false;
        for entry in fs::read_dir(self.live.locate(above)).unwrap().flatten() {
            // Only services have the file here.
            let dir = format!("{above}/{}", entry.file_name().to_string_lossy());
            if !self.live.locate(&format!("{dir}/cgroup.subtree_control")).exists() {
                continue;
            }
            was_partition |= !is_enabled && self.get(&format!("{dir}/cpuset.cpus.partition")) == "isolated";
            for (name, value) in CPUSET_FILES {
                let file = format!("{dir}/{name}");
                match (is_enabled, self.live.locate(&file).exists()) {
                    (true, false) => self.put(&file, &format!("{value}\n")),
                    (false, true) => self.remove(&file),
                    _ => {}
                }
            }
        }
        self.follow_cpusets(|_| was_partition);
    }
}
