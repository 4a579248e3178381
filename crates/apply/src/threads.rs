//! Single threads on cgroup v2: a thread can be in another cgroup than its process only below the same domain.
//!
//! A partition that reads `threaded` belongs to the domain of the root (`cgroup_enable_threaded`). So the process of a
//! thread that goes in has to wait in the root cgroup as a whole, outside of its slice, until the last of its threads
//! comes out again. That is journalled with its place, and taken back with the partition.

use crate::parcel::{Ground, Parcel};
use machine::Version;
use root::Root;

/// What a file says that does not limit anything.
const NO_LIMIT: &str = "max";

/// Files of a cgroup whose limits hold for the tasks below it. `pids.max` comes last: systemd gives one to every unit.
const LIMITS: &[&str] = &[
    "memory.max",
    "memory.high",
    "memory.swap.max",
    "cpu.max",
    "io.max",
    "pids.max",
];

/// A limit that no longer holds for a process when it leaves its cgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The file.
    pub path: String,
    /// What it says.
    pub value: String,
}

impl Limit {
    /// Whether somebody chose it for this very place. Every unit of systemd has a limit of tasks.
    #[must_use]
    pub fn is_chosen(&self) -> bool {
        !self.path.ends_with("/pids.max")
    }
}

/// What stands between a single thread and a place on cgroup v2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Nothing: the place takes it as it is.
    Open,
    /// The place is no threaded cgroup, and cannot become one while tasks are in it.
    Populated,
    /// The process has to leave its cgroup, with these limits, and waits in the domain's.
    Leaves {
        /// Its cgroup, below the mount.
        cgroup: String,
        /// Limits that no longer hold for it then.
        limits: Vec<Limit>,
    },
}

/// Whether a cgroup takes single threads of a process that is elsewhere.
#[must_use]
pub fn is_threaded(root: &Root, dir: &str) -> bool {
    matches!(cgroup_type(root, dir).as_deref(), Some("threaded"))
}

/// The lists of a cgroup's members that can be read whatever its type: `cgroup.procs` of a threaded one cannot.
pub(crate) fn members_file(root: &Root, dir: &str, version: Version) -> String {
    match version {
        Version::V1 => format!("{dir}/tasks"),
        Version::V2 if is_threaded(root, dir) => format!("{dir}/cgroup.threads"),
        Version::V2 => format!("{dir}/cgroup.procs"),
    }
}

/// The domain that a cgroup belongs to, as a path below the mount: itself, or the nearest above it that is not
/// threaded.
pub(crate) fn domain_of(root: &Root, mount: &str, cgroup: &str) -> String {
    let mut path = cgroup.trim_end_matches('/');
    while is_threaded(root, &format!("{mount}{path}")) {
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    if path.is_empty() { "/" } else { path }.to_owned()
}

/// Whether a task of this cgroup may go to a directory without its process.
pub(crate) fn is_same_domain(root: &Root, mount: &str, cgroup: Option<&str>, to: &str) -> bool {
    let below = to.strip_prefix(mount).filter(|below| !below.is_empty());
    let there = domain_of(root, mount, below.unwrap_or("/"));
    cgroup.is_some_and(|cgroup| domain_of(root, mount, cgroup) == there)
}

/// Threads of a process, by number.
#[must_use]
pub fn threads_of(root: &Root, pid: u32) -> Vec<u32> {
    let names = root.names(&format!("/proc/{pid}/task")).ok().flatten();
    let numbers = names.unwrap_or_default();
    numbers.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Whether a thread of the process, other than those that leave, is in a threaded cgroup.
#[must_use]
pub fn has_others_inside(ground: &Ground, pid: u32, leaving: &[u32]) -> bool {
    let root = ground.system.root();
    let others = threads_of(root, pid);
    let mut others = others.iter().filter(|tid| !leaving.contains(tid));
    others.any(|tid| {
        let cgroup = machine::tasks::cgroup_of(root, *tid, Version::V2);
        cgroup.is_some_and(|cgroup| is_threaded(root, &dir_of(&ground.hierarchy.mount, &cgroup)))
    })
}

/// The domain above a threaded cgroup, as a directory.
#[must_use]
pub fn domain_dir(ground: &Ground, dir: &str) -> String {
    let mount = &ground.hierarchy.mount;
    let cgroup = dir.strip_prefix(mount.as_str()).unwrap_or(dir);
    dir_of(mount, &domain_of(ground.system.root(), mount, cgroup))
}

/// What has to be known before a single thread is moved into a partition on v2.
#[must_use]
pub fn threshold(ground: &Ground, tid: u32, to: &str) -> Threshold {
    let root = ground.system.root();
    let mount = &ground.hierarchy.mount;
    if !is_threaded(root, to) && is_populated(root, to) {
        return Threshold::Populated;
    }
    let Some(cgroup) = machine::tasks::cgroup_of(root, tid, Version::V2) else {
        return Threshold::Open;
    };
    let wanted = domain_after(root, mount, to);
    let theirs = domain_of(root, mount, &cgroup);
    if theirs == wanted {
        return Threshold::Open;
    }
    Threshold::Leaves {
        limits: limits(root, mount, &theirs, &wanted),
        cgroup: theirs,
    }
}

/// Brings threads of a process that are in threaded cgroups to their leader before it is moved as a whole. The kernel
/// looks at the cpuset of the first one only (`cpuset_attach`, from 6.2 on): where that changes no CPUs, threads that
/// came from elsewhere keep the CPUs that they had there. What it refuses shows when the process is moved.
pub(crate) fn gather(ground: &Ground, parcel: &Parcel) {
    let root = ground.system.root();
    let mount = &ground.hierarchy.mount;
    let place = |tid: u32| machine::tasks::cgroup_of(root, tid, Version::V2);
    let Some(leader) = place(parcel.tid).filter(|_| parcel.tasks.len() > 1) else {
        return;
    };
    for passenger in &parcel.tasks {
        let apart = place(passenger.tid).filter(|cgroup| *cgroup != leader);
        if apart.is_some_and(|cgroup| is_threaded(root, &dir_of(mount, &cgroup))) {
            let list = format!("{}/cgroup.threads", dir_of(mount, &leader));
            let _ = ground.system.write(&list, &passenger.tid.to_string());
        }
    }
}

/// Limits of a cgroup and of those above it, below the domain that its tasks go to.
fn limits(root: &Root, mount: &str, cgroup: &str, domain: &str) -> Vec<Limit> {
    let mut found = Vec::new();
    let mut path = cgroup.trim_end_matches('/');
    while !path.is_empty() && path != domain {
        for name in LIMITS {
            let file = format!("{mount}{path}/{name}");
            let value = root.value(&file).ok().flatten().unwrap_or_default();
            let is_limit = !value.is_empty() && value.split_whitespace().next() != Some(NO_LIMIT);
            if is_limit {
                found.push(Limit { path: file, value });
            }
        }
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    found
}

fn cgroup_type(root: &Root, dir: &str) -> Option<String> {
    root.value(&format!("{dir}/cgroup.type")).ok().flatten()
}

/// Whether tasks are in a cgroup or below it.
pub(crate) fn is_populated(root: &Root, dir: &str) -> bool {
    let text = root.text(&format!("{dir}/cgroup.events")).ok().flatten();
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
