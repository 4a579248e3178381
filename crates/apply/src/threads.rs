//! Handles single threads on cgroup v2.
//!
//! A thread can be in another cgroup than its process only below the same domain. A partition of type `threaded`
//! belongs to the domain of the root (`cgroup_enable_threaded`). So the process of a thread in such a partition has to
//! wait as a whole in the root cgroup, outside of its slice, until the last of its threads leaves the partition. The
//! journal records this with its former place, and it is undone with the partition.

use crate::parcel::{MoveContext, PlannedMove};
use machine::Version;
use root::Root;

/// The value of a limit file without a limit.
const NO_LIMIT: &str = "max";

/// Limit files of a cgroup that apply to the tasks below it. `pids.max` comes last: systemd sets it for every unit.
const LIMITS: &[&str] = &[
    "memory.max",
    "memory.high",
    "memory.swap.max",
    "cpu.max",
    "io.max",
    "pids.max",
];

/// A limit that stops applying to a process when it leaves its cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupLimit {
    /// The file.
    pub path: String,
    /// Its value.
    pub value: String,
}

impl CgroupLimit {
    /// Whether it was set for this very cgroup. Every unit of systemd has a task limit.
    #[must_use]
    pub fn is_chosen(&self) -> bool {
        !self.path.ends_with("/pids.max")
    }
}

/// What prevents a single thread from moving to a cgroup on v2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadMoveObstacle {
    /// Nothing: the cgroup accepts the thread.
    Open,
    /// The cgroup is not threaded, and cannot become so while it has tasks.
    Populated,
    /// The process has to leave its cgroup, with these limits, and wait in that of the domain.
    Leaves {
        /// Its cgroup, below the mount.
        cgroup: String,
        /// Limits that then stop applying to it.
        limits: Vec<CgroupLimit>,
    },
}

/// Whether a cgroup accepts single threads of a process in another cgroup.
#[must_use]
pub fn is_threaded(root: &Root, dir: &str) -> bool {
    let kind = root.readable_value(&format!("{dir}/cgroup.type"));
    kind.as_deref() == Some("threaded")
}

/// The file with a cgroup's members that is readable for every type: `cgroup.procs` of a threaded cgroup is not.
pub(crate) fn members_file(root: &Root, dir: &str, version: Version) -> String {
    match version {
        Version::V1 => format!("{dir}/tasks"),
        Version::V2 if is_threaded(root, dir) => format!("{dir}/cgroup.threads"),
        Version::V2 => format!("{dir}/cgroup.procs"),
    }
}

/// The domain of a cgroup, as a path below the mount: itself, or the nearest parent that is not threaded.
pub(crate) fn domain_of(root: &Root, mount: &str, cgroup: &str) -> String {
    let mut path = cgroup.trim_end_matches('/');
    while is_threaded(root, &format!("{mount}{path}")) {
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    if path.is_empty() { "/" } else { path }.to_owned()
}

/// Whether a task of this cgroup may move to a directory without its process.
pub(crate) fn is_same_domain(root: &Root, mount: &str, cgroup: Option<&str>, to: &str) -> bool {
    let below = to.strip_prefix(mount).filter(|below| !below.is_empty());
    let there = domain_of(root, mount, below.unwrap_or("/"));
    cgroup.is_some_and(|cgroup| domain_of(root, mount, cgroup) == there)
}

/// Thread IDs of a process.
#[must_use]
pub fn threads_of(root: &Root, pid: u32) -> Vec<u32> {
    let names = root.readable_names(&format!("/proc/{pid}/task"));
    let numbers = names.unwrap_or_default();
    numbers.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Whether a thread of the process, other than those in `leaving`, is in a threaded cgroup.
#[must_use]
pub fn has_others_inside(context: &MoveContext, pid: u32, leaving: &[u32]) -> bool {
    let root = context.system.root();
    let others = threads_of(root, pid);
    let mut others = others.iter().filter(|tid| !leaving.contains(tid));
    others.any(|tid| {
        let cgroup = machine::tasks::cgroup_of(root, *tid, Version::V2);
        cgroup.is_some_and(|cgroup| is_threaded(root, &dir_of(&context.hierarchy.mount, &cgroup)))
    })
}

/// The domain above a threaded cgroup, as a directory.
#[must_use]
pub fn domain_dir(context: &MoveContext, dir: &str) -> String {
    let mount = &context.hierarchy.mount;
    let cgroup = dir.strip_prefix(mount.as_str()).unwrap_or(dir);
    dir_of(mount, &domain_of(context.system.root(), mount, cgroup))
}

/// Checks what a move of a single thread into a partition on v2 requires.
#[must_use]
pub fn threshold(context: &MoveContext, tid: u32, to: &str) -> ThreadMoveObstacle {
    let root = context.system.root();
    let mount = &context.hierarchy.mount;
    if !is_threaded(root, to) && is_populated(root, to) {
        return ThreadMoveObstacle::Populated;
    }
    let Some(cgroup) = machine::tasks::cgroup_of(root, tid, Version::V2) else {
        return ThreadMoveObstacle::Open;
    };
    let destination = domain_after(root, mount, to);
    let theirs = domain_of(root, mount, &cgroup);
    if theirs == destination {
        return ThreadMoveObstacle::Open;
    }
    ThreadMoveObstacle::Leaves {
        limits: limits(root, mount, &theirs, &destination),
        cgroup: theirs,
    }
}

/// Moves threads of a process that are in threaded cgroups to their leader, before the process is moved as a whole. The
/// kernel looks only at the cpuset of the first thread (`cpuset_attach`, from 6.2 on). If the move does not change that
/// thread's CPUs, threads from other cgroups keep their former CPUs. Refusals show when the process is moved.
pub(crate) fn gather(context: &MoveContext, parcel: &PlannedMove) {
    let root = context.system.root();
    let mount = &context.hierarchy.mount;
    let place = |tid: u32| machine::tasks::cgroup_of(root, tid, Version::V2);
    let Some(leader) = place(parcel.tid).filter(|_| parcel.tasks.len() > 1) else {
        return;
    };
    for passenger in &parcel.tasks {
        let apart = place(passenger.tid).filter(|cgroup| *cgroup != leader);
        if apart.is_some_and(|cgroup| is_threaded(root, &dir_of(mount, &cgroup))) {
            let list = format!("{}/cgroup.threads", dir_of(mount, &leader));
            let _ = context.system.write(&list, &passenger.tid.to_string());
        }
    }
}

/// Limits of a cgroup and its parents, below the domain that its tasks move to.
fn limits(root: &Root, mount: &str, cgroup: &str, domain: &str) -> Vec<CgroupLimit> {
    let mut found = Vec::new();
    let mut path = cgroup.trim_end_matches('/');
    while !path.is_empty() && path != domain {
        for name in LIMITS {
            let file = format!("{mount}{path}/{name}");
            let value = root.readable_value(&file).unwrap_or_default();
            let is_limit = !value.is_empty() && value.split_whitespace().next() != Some(NO_LIMIT);
            if is_limit {
                found.push(CgroupLimit { path: file, value });
            }
        }
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    found
}

/// Whether a cgroup or one below it has tasks.
pub(crate) fn is_populated(root: &Root, dir: &str) -> bool {
    let text = root.readable_text(&format!("{dir}/cgroup.events"));
    text.is_some_and(|text| text.lines().any(|line| line.trim() == "populated 1"))
}

/// The domain of a cgroup once it is threaded.
fn domain_after(root: &Root, mount: &str, dir: &str) -> String {
    let cgroup = dir.strip_prefix(mount).unwrap_or(dir);
    match is_threaded(root, dir) {
        true => domain_of(root, mount, cgroup),
        false => {
            let above = cgroup
                .trim_end_matches('/')
                .rsplit_once('/')
                .map_or("", |(above, _)| above);
            domain_of(root, mount, above)
        }
    }
}

pub(crate) fn dir_of(mount: &str, cgroup: &str) -> String {
    format!("{mount}{}", cgroup.trim_end_matches('/'))
}
