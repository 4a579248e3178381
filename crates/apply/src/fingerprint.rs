//! Reads the state that an undo must restore: every file and every task's place that isolation changes.

use machine::{Cgroups, CpuSet, MapEntries, Task, TaskKey, Version};
use root::Root;
use std::collections::BTreeMap;

/// The CPUs that are online.
pub(crate) const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The machine's state, as far as isolation can change it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Path -> text.
    pub files: BTreeMap<String, String>,
    /// Task -> place.
    pub tasks: BTreeMap<TaskKey, TaskPlacement>,
}

/// Where a task is and may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPlacement {
    /// Its name.
    pub comm: String,
    /// Its cgroup in the cpuset hierarchy.
    pub cgroup: Option<String>,
    /// Its mask.
    pub mask: Option<CpuSet>,
}

impl Fingerprint {
    /// Reads the state now.
    #[must_use]
    pub fn take(root: &Root) -> Fingerprint {
        let cgroups = Cgroups::read(root);
        let version = cgroups.cpuset.as_ref().map(|hierarchy| hierarchy.version);
        let tasks = machine::tasks::read(root)
            .unwrap_or_default()
            .into_iter()
            .filter(is_compared)
            .map(|task| {
                let cgroup = version.and_then(|version| machine::tasks::cgroup_of(root, task.key.tid, version));
                (
                    task.key,
                    TaskPlacement {
                        comm: task.comm,
                        cgroup,
                        mask: task.allowed,
                    },
                )
            });
        Fingerprint {
            files: files(root, &cgroups),
            tasks: tasks.into_map(),
        }
    }

    /// The differences in `after`, one line each. Tasks and interrupts that appeared or disappeared do not count.
    #[must_use]
    pub fn differences(&self, after: &Fingerprint) -> Vec<String> {
        let mut lines = file_differences(&self.files, &after.files);
        for (key, before) in &self.tasks {
            let Some(now) = after.tasks.get(key) else { continue };
            if before.mask != now.mask {
                let text = |mask: &Option<CpuSet>| mask.as_ref().map_or("unknown".to_owned(), ToString::to_string);
                lines.push(format!(
                    "task {} ({}): may run on {}, previously {}",
                    key.tid,
                    now.comm,
                    text(&now.mask),
                    text(&before.mask)
                ));
            }
            if before.cgroup != now.cgroup {
                let text = |cgroup: &Option<String>| cgroup.clone().unwrap_or_else(|| "unknown".to_owned());
                lines.push(format!(
                    "task {} ({}): in cgroup {}, previously {}",
                    key.tid,
                    now.comm,
                    text(&now.cgroup),
                    text(&before.cgroup)
                ));
            }
        }
        lines
    }
}

/// Not compared: the process that compares, because it moves while it measures; rescuers of workqueues
/// (`rescuer_thread`), because the kernel binds them to whichever pool they help; and interrupt threads, because the
/// kernel makes them follow the effective affinity.
fn is_compared(task: &Task) -> bool {
    let is_rescuer = task.flags & Task::PF_WQ_WORKER != 0
        && (!task.comm.starts_with("kworker/") || task.comm.starts_with("kworker/R-"));
    !is_rescuer && !task.is_irq_thread() && task.pid != std::process::id()
}

/// Reads only the files.
pub(crate) fn files(root: &Root, cgroups: &Cgroups) -> BTreeMap<String, String> {
    const GLOBAL: [&str; 4] = [
        ONLINE,
        "/proc/irq/default_smp_affinity",
        "/sys/devices/virtual/workqueue/cpumask",
        "/sys/devices/virtual/workqueue/cpumask_requested",
    ];
    let mut files = BTreeMap::new();
    let mut keep = |path: String| {
        if let Ok(Some(text)) = root.value(&path) {
            files.insert(path, text);
        }
    };
    GLOBAL.iter().for_each(|path| keep((*path).to_owned()));
    for name in root.readable_names("/proc/irq").unwrap_or_default() {
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            keep(format!("/proc/irq/{name}/smp_affinity_list"));
        }
    }
    if let Some(hierarchy) = &cgroups.cpuset {
        let names: &[&str] = match hierarchy.version {
            Version::V1 => &[
                "cpus",
                "mems",
                "cpu_exclusive",
                "mem_exclusive",
                "sched_load_balance",
                "memory_migrate",
            ],
            Version::V2 => &["cpus", "mems", "cpus.exclusive", "cpus.partition"],
        };
        for set in &hierarchy.sets {
            let dir = format!("{}{}", hierarchy.mount, set.name.trim_end_matches('/'));
            names
                .iter()
                .for_each(|name| keep(format!("{dir}/{}{name}", hierarchy.prefix)));
            keep(format!("{dir}/cgroup.subtree_control"));
        }
    }
    files
}

/// The differences between two sets of files. A file that exists in only one is no difference: interrupts and other
/// owners' cgroups come and go by themselves. Whether our own cgroups are gone is checked when they are removed.
pub(crate) fn file_differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let changed = before
        .iter()
        .filter_map(|(path, then)| after.get(path).map(|now| (path, then, now)));
    changed
        .filter(|(_, then, now)| then != now)
        .map(|(path, then, now)| format!("{path}: `{now}`, previously `{then}`"))
        .collect()
}
