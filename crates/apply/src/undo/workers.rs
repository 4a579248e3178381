//! Reports what undo cannot restore: the masks of unbound kernel workers on older kernels.
//!
//! When a v2 partition is created or removed, 6.1 gives every kernel thread that is not bound to one CPU the mask of its cgroup
//! (`update_tasks_cpumask`, `kernel/cgroup/cpuset.c`). That includes the workers of a memory node's own pool. The kernel refuses
//! every mask for them (`PF_NO_SETAFFINITY`). Rewriting the workqueue mask does not help: it keeps the pools, and so the workers,
//! of nodes that it does not change. Seen on 6.1 with two nodes; not on 6.12-rt or 7.2.

use machine::{Machine, Version};

/// The first version on which it was not seen.
const ABSENT_SINCE: (u32, u32) = (6, 12);

/// The note for the user; `None` on machines that are not affected.
pub(super) fn note(machine: &Machine) -> Option<String> {
    let is_v2 = machine
        .cgroups
        .cpuset
        .as_ref()
        .is_some_and(|hierarchy| hierarchy.version == Version::V2);
    let is_old = machine.kernel.version.is_none_or(|version| version < ABSENT_SINCE);
    let nodes = machine.topology.nodes.iter();
    let has_nodes = nodes.filter(|node| !node.cpus.is_empty()).count() > 1;
    (is_v2 && is_old && has_nodes).then(|| {
        "when a partition is removed, this kernel gives workers of one memory node (kworker/u*) all CPUs and does not \
         allow narrowing them again; later workers have the former mask"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::{Live, Root};

    /// A machine with this number of nodes, kernel and cgroup layout, made of files.
    fn machine(nodes: usize, release: &str, layout: &str) -> Machine {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let place = dir.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        };
        put("proc/sys/kernel/osrelease", release);
        put("sys/devices/system/cpu/online", "0-3");
        put("sys/devices/system/cpu/possible", "0-3");
        for node in 0..nodes {
            let base = format!("sys/devices/system/node/node{node}");
            put(&format!("{base}/cpulist"), &format!("{}-{}", node * 2, node * 2 + 1));
        }
        match layout {
            "v2" => {
                put(
                    "proc/self/mountinfo",
                    "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                );
                put("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n");
            }
            _ => {
                put(
                    "proc/self/mountinfo",
                    "30 20 0:26 / /sys/fs/cgroup/cpuset rw - cgroup none rw,cpuset\n",
                );
                put("sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n");
            }
        }
        Machine::read(&Root::of(&Live::rehearsal(dir.path())))
    }

    #[test]
    fn only_old_v2_kernels_with_several_nodes_are_affected() {
        for (nodes, release, layout, concerned) in [
            (2, "6.1.0-56-amd64\n", "v2", true),
            (1, "6.1.0-56-amd64\n", "v2", false),
            (2, "6.1.0-56-amd64\n", "v1", false),
            (2, "6.12.117\n", "v2", false),
            (2, "7.2.13\n", "v2", false),
        ] {
            let machine = machine(nodes, release, layout);
            assert!(machine.cgroups.cpuset.is_some(), "{layout}");
            assert_eq!(note(&machine).is_some(), concerned, "{nodes} {release} {layout}");
        }
    }
}
