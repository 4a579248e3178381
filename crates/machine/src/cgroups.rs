//! Reads the cpuset cgroups of the machine: where they are, which exist, and what manages the tree.

use crate::CpuSet;
use crate::reading::RootReader;
use root::Root;
use serde::{Deserialize, Serialize};

/// The cgroup layout as far as CPU isolation needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroups {
    /// The hierarchy with the cpuset controller; `None` if the kernel or the mounts provide none.
    pub cpuset: Option<Hierarchy>,
    /// Every mounted hierarchy: path and controllers (`["name=systemd"]`, `[]` for v2).
    pub mounts: Vec<(Version, String, Vec<String>)>,
    /// The managers of the tree, as far as they are visible.
    pub owners: Vec<Owner>,
}

impl Cgroups {
    /// Reads only the layout: just the files it needs, not the several hundred of [`crate::Machine::read`].
    #[must_use]
    pub fn read(root: &Root) -> Cgroups {
        read(&RootReader::new(root))
    }
}

/// cgroup version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// One hierarchy per controller.
    V1,
    /// The unified hierarchy.
    V2,
}

impl Version {
    /// The file of a cgroup that takes a task: one thread on v1, a process on v2.
    #[must_use]
    pub fn entry_file(self) -> &'static str {
        match self {
            Version::V1 => "tasks",
            Version::V2 => "cgroup.procs",
        }
    }
}

/// The hierarchy with the cpuset controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// v1 or v2.
    pub version: Version,
    /// Where it is mounted, for example `/sys/fs/cgroup/cpuset`.
    pub mount: String,
    /// The prefix of the file names: `cpuset.`, or empty for a v1 mount with `noprefix`.
    pub prefix: String,
    /// Whether the mount is read-only.
    pub read_only: bool,
    /// v1 mounted with `cpuset_v2_mode`.
    pub v2_mode: bool,
    /// Every cpuset cgroup, the root first, parents before children.
    pub sets: Vec<Partition>,
}

/// One cpuset cgroup. `name` is its path below the mount (`/` for the root, `/rt`, `/docker/abc`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Path below the mount.
    pub name: String,
    /// v1 or v2.
    pub version: Version,
    /// `cpuset.cpus`; empty on v2 means "as the parent"; `None` if the controller is not enabled.
    pub cpus: Option<CpuSet>,
    /// `cpuset.cpus.effective` or `cpuset.effective_cpus`.
    pub effective_cpus: Option<CpuSet>,
    /// `cpuset.mems` as text.
    pub mems: Option<String>,
    /// v1 `cpu_exclusive`.
    pub cpu_exclusive: Option<bool>,
    /// v1 `sched_load_balance`.
    pub sched_load_balance: Option<bool>,
    /// v2 `cpuset.cpus.partition` as read (`member`, `root`, `isolated`, `isolated invalid (reason)`).
    pub partition: Option<String>,
    /// v2 `cpuset.cpus.exclusive`.
    pub cpus_exclusive: Option<CpuSet>,
}

/// A manager of cgroups that we must cooperate with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// systemd as init.
    Systemd,
    /// Docker (`/docker`, `docker-*.scope`).
    Docker,
    /// libvirt (`/machine`, `machine.slice`).
    Libvirt,
    /// Kubernetes (`/kubepods`, `kubepods.slice`).
    Kubernetes,
    /// cset's `system` and `user` sets.
    Cset,
    /// partrt's `nrt` and `rt` sets that are not ours.
    Partrt,
}

/// Maximum number of cpuset cgroups to read; no machine has more.
const MAX_SETS: usize = 65_536;

/// A mounted file system, as listed in `/proc/self/mountinfo` or `/proc/mounts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The mount point.
    pub path: String,
    /// Type: `cgroup`, `cgroup2`, `cpuset` ...
    pub kind: String,
    /// Options of the mount and of the file system, joined.
    pub options: Vec<String>,
    /// Which part of the file system is mounted; `/` is all of it.
    pub root: String,
}

/// Parses `/proc/self/mountinfo` (`fs/proc_namespace.c: show_mountinfo`). Malformed lines are skipped.
#[must_use]
pub fn parse_mountinfo(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let (front, back) = line.split_once(" - ")?;
        let front: Vec<&str> = front.split(' ').collect();
        let mut back = back.split(' ');
        let kind = back.next()?.to_owned();
        let options = [*front.get(5)?, back.nth(1)?].join(",");
        Some(Mount {
            path: unescape(front.get(4)?),
            kind,
            options: options.split(',').map(str::to_owned).collect(),
            root: unescape(front.get(3)?),
        })
    };
    text.lines().filter_map(mount).collect()
}

/// Parses `/proc/mounts`.
#[must_use]
pub fn parse_mounts(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        Some(Mount {
            path: unescape(fields.next()?),
            kind: fields.next()?.to_owned(),
            options: fields.next()?.split(',').map(str::to_owned).collect(),
            root: "/".to_owned(),
        })
    };
    text.lines().filter_map(mount).collect()
}

/// Spaces and similar characters are written as `\040` in mount paths (`mangle_path`).
pub(crate) fn unescape(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after
            .get(..3)
            .filter(|code| byte == b'\\' && code.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        match code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 8).ok()) {
            Some(letter) => {
                plain.push(letter);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

impl Mount {
    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|one| one == option)
    }

    /// v1 controllers (and names) of a cgroup mount, without the generic mount options.
    fn controllers(&self) -> Vec<String> {
        const PLAIN: [&str; 8] = [
            "rw",
            "ro",
            "xattr",
            "clone_children",
            "noprefix",
            "all",
            "none",
            "cpuset_v2_mode",
        ];
        if self.kind == "cpuset" {
            return vec!["cpuset".to_owned()];
        }
        let is_controller = |option: &&String| {
            let is_general = option.contains('=') && !option.starts_with("name=")
                || option.starts_with("no") && !option.starts_with("none")
                || matches!(
                    option.as_str(),
                    "relatime" | "strictatime" | "seclabel" | "sync" | "dirsync" | "lazytime"
                )
                || PLAIN.contains(&option.as_str());
            !is_general
        };
        self.options.iter().filter(is_controller).cloned().collect()
    }
}

/// Reads the layout and all cpuset cgroups.
pub(crate) fn read(reader: &RootReader) -> Cgroups {
    let by_info = reader.text("/proc/self/mountinfo").map(|text| parse_mountinfo(&text));
    let mounts = by_info.filter(|mounts| !mounts.is_empty());
    let mounts = mounts
        .or_else(|| reader.text("/proc/mounts").map(|text| parse_mounts(&text)))
        .unwrap_or_default();
    let versions = |mount: &Mount| match mount.kind.as_str() {
        "cgroup" | "cpuset" => Some((Version::V1, mount.path.clone(), mount.controllers())),
        "cgroup2" => Some((Version::V2, mount.path.clone(), Vec::new())),
        _ => None,
    };
    let listed: Vec<(Version, String, Vec<String>)> = mounts.iter().filter_map(versions).collect();
    let cpuset = find_cpuset(reader, &mounts);
    let owners = find_owners(reader, &listed, cpuset.as_ref());
    Cgroups {
        cpuset,
        mounts: listed,
        owners,
    }
}

/// A controller is in one hierarchy only: if v1 has it mounted, v2 does not have it.
fn find_cpuset(reader: &RootReader, mounts: &[Mount]) -> Option<Hierarchy> {
    let has_cpuset = |mount: &&Mount| match mount.kind.as_str() {
        "cpuset" => true,
        "cgroup" => mount.has("cpuset"),
        _ => false,
    };
    // Several mounts may show it: prefer a writable one of the whole tree.
    let rank = |mount: &&Mount| (mount.has("ro"), mount.root != "/");
    let v1 = mounts
        .iter()
        .filter(has_cpuset)
        .min_by_key(rank)
        .map(|mount| Hierarchy {
            version: Version::V1,
            mount: mount.path.clone(),
            prefix: if mount.kind == "cpuset" || mount.has("noprefix") {
                ""
            } else {
                "cpuset."
            }
            .to_owned(),
            read_only: mount.has("ro"),
            v2_mode: mount.has("cpuset_v2_mode"),
            sets: Vec::new(),
        });
    let v2 = || {
        let offers = |mount: &&Mount| {
            let offered = reader
                .value(&format!("{}/cgroup.controllers", mount.path))
                .unwrap_or_default();
            offered.split_whitespace().any(|controller| controller == "cpuset")
        };
        let unified = mounts.iter().filter(|mount| mount.kind == "cgroup2");
        unified.filter(offers).min_by_key(rank).map(|mount| Hierarchy {
            version: Version::V2,
            mount: mount.path.clone(),
            prefix: "cpuset.".to_owned(),
            read_only: mount.has("ro"),
            v2_mode: false,
            sets: Vec::new(),
        })
    };
    let mut hierarchy = v1.or_else(v2)?;
    hierarchy.sets = read_sets(reader, &hierarchy);
    Some(hierarchy)
}

/// Walks the tree without recursion: an untrusted user may nest cgroups deeply.
fn read_sets(reader: &RootReader, hierarchy: &Hierarchy) -> Vec<Partition> {
    let mut sets = Vec::new();
    let mut pending = vec!["/".to_owned()];
    while let Some(name) = pending.pop() {
        let below = if name == "/" { "" } else { name.as_str() };
        let dir = format!("{}{below}", hierarchy.mount);
        let set = read_set(reader, hierarchy, name.clone(), &dir);
        // On v2, a cgroup without the controller has no cpuset below it either.
        let is_enabled = below.is_empty() || set.cpus.is_some();
        if !is_enabled {
            continue;
        }
        if sets.len() == MAX_SETS {
            reader.note(
                &dir,
                &format!("there are more than {MAX_SETS} cpusets; the rest was not read"),
            );
            break;
        }
        sets.push(set);
        let children = reader.dirs(&dir).unwrap_or_default();
        pending.extend(children.into_iter().rev().map(|child| format!("{below}/{child}")));
    }
    sets
}

/// Reads the files of one set, again after a change.
pub(crate) fn read_set(reader: &RootReader, hierarchy: &Hierarchy, name: String, dir: &str) -> Partition {
    let path = |file: &str| format!("{dir}/{}{file}", hierarchy.prefix);
    let mut set = Partition {
        name,
        version: hierarchy.version,
        cpus: reader.list(&path("cpus")),
        effective_cpus: None,
        mems: reader.value(&path("mems")),
        cpu_exclusive: None,
        sched_load_balance: None,
        partition: None,
        cpus_exclusive: None,
    };
    match hierarchy.version {
        Version::V1 => {
            set.effective_cpus = reader.list(&path("effective_cpus"));
            set.cpu_exclusive = reader.flag(&path("cpu_exclusive"));
            set.sched_load_balance = reader.flag(&path("sched_load_balance"));
        }
        Version::V2 => {
            set.effective_cpus = reader.list(&path("cpus.effective"));
            set.partition = reader.value(&path("cpus.partition"));
            set.cpus_exclusive = reader.list(&path("cpus.exclusive"));
        }
    }
    set
}

fn find_owners(
    reader: &RootReader,
    mounts: &[(Version, String, Vec<String>)],
    cpuset: Option<&Hierarchy>,
) -> Vec<Owner> {
    let mut owners = Vec::new();
    let is_init = reader.value("/proc/1/comm").as_deref() == Some("systemd");
    if is_init || reader.kind("/run/systemd/system").is_some() {
        owners.push(Owner::Systemd);
    }
    // Managers are recognized by the names of their groups, in the cpuset hierarchy or any other.
    let mut names: Vec<String> = Vec::new();
    for (_, mount, _) in mounts {
        for top in reader.dirs(mount).unwrap_or_default() {
            let nested = matches!(top.as_str(), "system.slice").then(|| reader.dirs(&format!("{mount}/{top}")));
            names.extend(nested.flatten().unwrap_or_default());
            names.push(top);
        }
    }
    let any = |test: &dyn Fn(&str) -> bool| names.iter().any(|name| test(name));
    if any(&|name| name == "docker" || name.starts_with("docker-") && name.ends_with(".scope")) {
        owners.push(Owner::Docker);
    }
    if any(&|name| name == "machine" || name == "machine.slice" || name == "libvirt") {
        owners.push(Owner::Libvirt);
    }
    if any(&|name| name == "kubepods" || name == "kubepods.slice") {
        owners.push(Owner::Kubernetes);
    }
    let has_sets = |set_names: [&str; 2]| {
        let has = |name: &&str| cpuset.is_some_and(|tree| tree.sets.iter().any(|set| set.name == **name));
        set_names.iter().all(has)
    };
    if has_sets(["/system", "/user"]) {
        owners.push(Owner::Cset);
    }
    if has_sets(["/nrt", "/rt"]) {
        owners.push(Owner::Partrt);
    }
    owners
}

impl Hierarchy {
    /// The file that takes a task into a set (`/`, `/rt`).
    #[must_use]
    pub fn door(&self, set: &str) -> String {
        format!("{}/{}", self.dir(set), self.version.entry_file())
    }

    /// A set by its name (`/`, `/rt`).
    #[must_use]
    pub fn set(&self, name: &str) -> Option<&Partition> {
        self.sets.iter().find(|set| set.name == name)
    }

    /// The path of a file of a set: `("/rt", "cpus")` gives `/sys/fs/cgroup/cpuset/rt/cpuset.cpus`. Not for files of
    /// the cgroup itself (`cgroup.procs`, `tasks`), which have no prefix.
    #[must_use]
    pub fn file(&self, name: &str, file: &str) -> String {
        format!("{}/{}{file}", self.dir(name), self.prefix)
    }

    /// The directory of a set.
    #[must_use]
    pub fn dir(&self, name: &str) -> String {
        format!("{}{}", self.mount, if name == "/" { "" } else { name })
    }
}

impl Partition {
    /// Its list of CPUs; without one, those that it has. A partition uses its exclusive list, if it has one.
    #[must_use]
    pub fn assigned_cpus(&self) -> Option<&CpuSet> {
        let exclusive = self.cpus_exclusive.as_ref().filter(|_| self.takes_cpus());
        let mut lists = [exclusive, self.cpus.as_ref()].into_iter().flatten();
        let own = lists.find(|cpus| !cpus.is_empty());
        own.or(self.effective_cpus.as_ref()).or(self.cpus.as_ref())
    }

    /// As [`Partition::assigned_cpus`]; empty if they are unknown.
    #[must_use]
    pub fn listed_cpus(&self) -> CpuSet {
        self.assigned_cpus().cloned().unwrap_or_default()
    }

    /// Whether it takes its CPUs from the rest, or should: a v2 partition, valid or not, or a v1 set below the root
    /// without load balancing.
    #[must_use]
    pub fn takes_cpus(&self) -> bool {
        match self.version {
            Version::V1 => self.name != "/" && self.sched_load_balance == Some(false),
            Version::V2 => self.partition.as_deref().is_some_and(|state| state != "member"),
        }
    }
}

/// Whether a path is this directory or below it.
#[must_use]
pub fn is_within(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_lines_are_parsed() {
        let mounts = parse_mountinfo(
            "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 master:1 - cgroup cgroup rw,cpuset,noprefix\n\
             41 31 0:38 /a /mnt/with\\040space ro,nosuid - cgroup2 cgroup2 rw,nsdelegate\n\
             garbage\n1 2 3 - x\n",
        );
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].controllers(), ["cpuset"]);
        assert!(mounts[0].has("noprefix") && !mounts[0].has("ro"));
        assert_eq!(
            (mounts[1].path.as_str(), mounts[1].root.as_str()),
            ("/mnt/with space", "/a")
        );
        assert!(mounts[1].has("ro"));
    }

    #[test]
    fn the_controllers_of_a_mount_are_parsed() {
        let check = |line: &str, expected: &[&str]| {
            assert_eq!(parse_mounts(line)[0].controllers(), expected, "of {line}");
        };
        check(
            "cgroup /c cgroup rw,nosuid,nodev,noexec,relatime,xattr,name=systemd 0 0",
            &["name=systemd"],
        );
        check("cgroup /c cgroup rw,net_cls,net_prio 0 0", &["net_cls", "net_prio"]);
        check("none /dev/cpuset cpuset rw 0 0", &["cpuset"]);
        check(
            "cgroup /c cgroup rw,relatime,cpuset,release_agent=/x,clone_children 0 0",
            &["cpuset"],
        );
    }

    #[test]
    fn octal_escapes_in_mount_paths_are_decoded() {
        let check = |text: &str, expected: &str| assert_eq!(unescape(text), expected);
        check("a\\040b\\011c", "a b\tc");
        check("a\\04", "a\\04");
        check("\\999", "\\999");
        check("\\777", "\\777");
        check("", "");
    }
}
