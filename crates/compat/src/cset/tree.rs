//! Reads the machine's cpusets under cset's names.
//!
//! On v2 our own sets are called `quietcore-NAME`, next to the slices of systemd. This module calls them NAME, as on v1,
//! so that scripts find `user` and `system` on both.

use super::CsetError;
use machine::{CpuId, CpuSet, Hierarchy, Machine, Task, Version};
use root::Root;
use session::Session;

/// The prefix of our sets on v2 ([`plan::partition_path`]).
const OWN_PREFIX: &str = "quietcore-";

/// One cpuset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpusetNode {
    /// Its last path component; `root` for the root.
    pub name: String,
    /// Its path in cset's syntax.
    pub path: String,
    /// Its path below the mount.
    pub place: String,
    /// Its CPUs; empty for a set that has none yet.
    pub cpus: CpuSet,
    /// Whether its CPUs are exclusive: v1 `cpu_exclusive`, v2 a partition.
    pub cpu_exclusive: bool,
    /// Its memory nodes.
    pub mems: CpuSet,
    /// v1 `mem_exclusive`; v2 has no equivalent.
    pub mem_exclusive: bool,
    /// Threads in it.
    pub tasks: usize,
    /// Direct child sets.
    pub subsets: usize,
}

/// All sets, the root first, parents before children.
pub struct CpusetTree<'s> {
    /// The session that read it.
    pub session: &'s Session,
    /// The machine, with every thread and its cgroup.
    pub machine: Machine,
    /// The hierarchy.
    pub hierarchy: Hierarchy,
    /// The sets.
    pub sets: Vec<CpusetNode>,
}

impl<'s> CpusetTree<'s> {
    /// Reads it.
    ///
    /// # Errors
    /// A machine without cpusets.
    pub fn read(session: &'s Session) -> Result<CpusetTree<'s>, CsetError> {
        let root = session.root();
        session.refresh();
        let machine = session.machine().with_task_cgroups(root);
        let Some(hierarchy) = machine.cgroups.cpuset.clone() else {
            return Err(CsetError::failed("no cpuset controller is mounted on this system"));
        };
        let sets = hierarchy
            .sets
            .iter()
            .map(|set| set_of(set, &hierarchy, &machine, root))
            .collect();
        Ok(CpusetTree {
            session,
            machine,
            hierarchy,
            sets,
        })
    }

    /// The unique set with a name or a path.
    ///
    /// # Errors
    /// None, or several.
    pub fn find(&self, name: &str) -> Result<&CpusetNode, CsetError> {
        let path = match name {
            "root" => "/".to_owned(),
            name if name.contains('/') => clean(name),
            _ => String::new(),
        };
        let mut found = self
            .sets
            .iter()
            .filter(|set| set.path == path || set.place == path || (path.is_empty() && set.name == name));
        match (found.next(), found.next()) {
            (Some(set), None) => Ok(set),
            (Some(_), Some(_)) => Err(CsetError::failed(format!(
                "cpuset \"{name}\" not unique, please specify by path"
            ))),
            (None, _) => Err(CsetError::failed(format!("cpuset \"{name}\" not found in cpusets"))),
        }
    }

    /// The direct children of a set.
    pub fn children(&self, set: &CpusetNode) -> impl Iterator<Item = &CpusetNode> {
        let above = set.path.trim_end_matches('/').to_owned();
        self.sets
            .iter()
            .filter(move |other| other.path != "/" && parent(&other.path) == above)
    }

    /// A set and all below it, parents first.
    pub fn below(&self, set: &CpusetNode) -> Vec<&CpusetNode> {
        let start = format!("{}/", set.path.trim_end_matches('/'));
        let is_in = |other: &&CpusetNode| other.path == set.path || other.path.starts_with(&start);
        self.sets.iter().filter(is_in).collect()
    }

    /// The threads in a set.
    pub fn members<'a>(&'a self, set: &'a CpusetNode) -> impl Iterator<Item = &'a Task> {
        let tasks = self.machine.tasks.iter().flatten();
        tasks.filter(|task| task.cgroup.as_deref() == Some(set.place.as_str()))
    }

    /// The set of a task.
    pub fn set_of_task(&self, task: &Task) -> Option<&CpusetNode> {
        self.sets
            .iter()
            .find(|set| Some(set.place.as_str()) == task.cgroup.as_deref())
    }

    /// A thread by its ID.
    pub fn task(&self, tid: u32) -> Option<&Task> {
        self.machine.tasks.iter().flatten().find(|task| task.key.tid == tid)
    }

    /// The path of a set that does not exist yet, below the mount.
    pub fn place_for(&self, name: &str) -> String {
        let path = clean(name);
        let above = parent(&path);
        match self.sets.iter().find(|set| set.path == above) {
            Some(set) if set.path != "/" => format!("{}/{}", set.place, last(&path)),
            _ if self.hierarchy.version == Version::V2 && above.is_empty() => {
                format!("/{OWN_PREFIX}{}", last(&path))
            }
            _ => path,
        }
    }
}

/// The number of the machine's highest CPU.
pub fn last_cpu(session: &Session) -> u32 {
    let topology = session.machine().topology;
    let present = topology.present_cpus().or(&topology.online);
    present.last().map_or(0, |last| last.0)
}

/// A path with one slash before each name.
pub fn clean(name: &str) -> String {
    let names: Vec<&str> = name.split('/').filter(|name| !name.is_empty()).collect();
    format!("/{}", names.join("/"))
}

/// The parent path; empty for the root's.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

fn last(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

fn set_of(set: &machine::Partition, hierarchy: &Hierarchy, machine: &Machine, root: &Root) -> CpusetNode {
    let value = |file: &str| root.readable_value(&hierarchy.file(&set.name, file));
    let flag = |file: &str| value(file).as_deref() == Some("1");
    let list = |text: Option<String>| text.and_then(|text| CpuSet::parse_list(&text).ok());
    let is_root = set.name == "/";
    let own = set.cpus.clone().unwrap_or_default();
    let (cpus, mems, cpu_exclusive, mem_exclusive) = match hierarchy.version {
        Version::V1 => {
            let mems = list(set.mems.clone()).unwrap_or_default();
            (own, mems, flag("cpu_exclusive"), flag("mem_exclusive"))
        }
        Version::V2 => {
            // An empty list means the parent's list; the root has none, and includes the CPUs of partitions.
            let effective = || set.effective_cpus.clone().unwrap_or_default();
            let cpus = match (is_root, own.is_empty()) {
                (true, _) => machine.topology.online.clone(),
                (_, true) => effective(),
                _ => own,
            };
            let mems = list(set.mems.clone()).filter(|mems| !mems.is_empty());
            let mems = mems
                .or_else(|| list(value("mems.effective")))
                .unwrap_or_else(|| [CpuId(0)].into_iter().collect());
            (cpus, mems, is_root || set.takes_cpus(), is_root)
        }
    };
    let subset =
        |other: &&machine::Partition| other.name != "/" && parent(&other.name) == set.name.trim_end_matches('/');
    let path = display_name(&set.name, hierarchy);
    let tasks = machine.tasks.iter().flatten();
    CpusetNode {
        name: if is_root { "root" } else { last(&path) }.to_owned(),
        place: set.name.clone(),
        cpus,
        cpu_exclusive,
        mems,
        mem_exclusive,
        tasks: tasks
            .filter(|task| task.cgroup.as_deref() == Some(set.name.as_str()))
            .count(),
        subsets: hierarchy.sets.iter().filter(subset).count(),
        path,
    }
}

/// A path without our prefix, unless another set has that name.
fn display_name(place: &str, hierarchy: &Hierarchy) -> String {
    let ours = match hierarchy.version {
        Version::V1 => None,
        Version::V2 => place.strip_prefix('/').and_then(|place| place.strip_prefix(OWN_PREFIX)),
    };
    let top = ours.map(|ours| format!("/{}", ours.split('/').next().unwrap_or(ours)));
    match (ours, top) {
        (Some(ours), Some(top)) if hierarchy.set(&top).is_none() => format!("/{ours}"),
        _ => place.to_owned(),
    }
}
