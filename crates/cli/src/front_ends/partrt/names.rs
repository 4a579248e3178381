//! The names that partrt's users know partitions by. On v1 and v2 alike one is the partition itself (`rt`), the other
//! is everything that is not isolated (`nrt`): on v1 quietcore's housekeeping set, on v2 the rest of the tree.

use crate::CommandError;
use crate::changing::{self, Changing};
use crate::placement::{self, Partition};
use apply::{Ground, Homes, Journal};
use machine::{CpuSet, Hierarchy, Machine, Version};
use plan::{housekeeping_set_path, partition_path};
use root::Root;

/// How the real-time partition is called unless the user says otherwise.
pub const RT: &str = "rt";
/// How everything else is called.
pub const NRT: &str = "nrt";

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Place {
    /// A partition in force.
    Partition(Partition),
    /// Everything that no partition has: these CPUs.
    Rest(CpuSet),
}

impl Place {
    /// Its CPUs.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        match self {
            Place::Partition(partition) => &partition.cpus,
            Place::Rest(cpus) => cpus,
        }
    }
}

/// Why a journal's layer was made, for the history; it keeps the name that the user gave to everything else.
#[must_use]
pub fn reason(rest: &str) -> String {
    format!("{REASON}{rest}")
}

const REASON: &str = "partrt create, with everything else in ";

/// The name of everything else, out of such a reason.
#[must_use]
pub fn rest_of(reason: &str) -> Option<&str> {
    reason.strip_prefix(REASON)
}

/// The name of everything else, as the layers in force tell by their reasons.
#[must_use]
pub fn rest_name(reasons: &[String]) -> &str {
    reasons.iter().find_map(|reason| rest_of(reason)).unwrap_or(NRT)
}

/// The place of a name; `None` where nothing is called so.
///
/// # Errors
/// A journal that cannot be read.
pub fn find(changing: &Changing, machine: &Machine, name: &str) -> Result<Option<Place>, CommandError> {
    if let Some(partition) = placement::partition_in_force(changing, machine, name)? {
        return Ok(Some(Place::Partition(partition)));
    }
    let Some(journal) = Journal::open(&changing.state)? else {
        return Ok(None);
    };
    let layers = journal.layers();
    let live: Vec<_> = layers.iter().filter(|layer| layer.is_live()).collect();
    let reasons: Vec<String> = live.iter().map(|layer| layer.reason.to_owned()).collect();
    let rest = machine.topology.online.minus(&apply::isolated(&live));
    Ok((!live.is_empty() && name == rest_name(&reasons)).then_some(Place::Rest(rest)))
}

/// The partition of ours that a task is in.
///
/// # Errors
/// A journal that cannot be read.
pub fn around(
    changing: &Changing,
    root: &Root,
    machine: &Machine,
    tid: u32,
) -> Result<Option<(String, Partition)>, CommandError> {
    let Some(hierarchy) = &machine.cgroups.cpuset else {
        return Ok(None);
    };
    let cgroup = machine::tasks::cgroup_of(root, tid, hierarchy.version).unwrap_or_default();
    let path = format!("{}{cgroup}", hierarchy.mount);
    for intent in changing::in_force() {
        let name = intent.name.as_str();
        let partition = placement::partition_in_force(changing, machine, name)?;
        if let Some(partition) = partition.filter(|partition| partition.path == path) {
            return Ok(Some((name.to_owned(), partition)));
        }
    }
    Ok(None)
}

/// Where a process goes that shall run with everything else; `None` where it does already.
///
/// # Errors
/// A journal that cannot be read.
pub fn way_out(
    changing: &Changing,
    root: &Root,
    machine: &Machine,
    pid: u32,
) -> Result<Option<Partition>, CommandError> {
    let inside = around(changing, root, machine, pid)?;
    let (Some(hierarchy), Some(journal)) = (&machine.cgroups.cpuset, Journal::open(&changing.state)?) else {
        return Ok(None);
    };
    let layers = journal.layers();
    let live: Vec<_> = layers.iter().filter(|layer| layer.is_live()).collect();
    let taken = apply::isolated(&live);
    let path = match (hierarchy.version, inside) {
        (Version::V1, _) => {
            let partition = live.iter().find(|layer| layer.is_partition());
            let path = partition.and_then(|layer| layer.intent.housekeeping_path(hierarchy));
            path.unwrap_or_else(|| housekeeping_set_path(hierarchy))
        }
        (Version::V2, None) => return Ok(None),
        (Version::V2, Some((_, inside))) => {
            let Some(task) = machine::tasks::read_one(root, pid) else {
                return Ok(None);
            };
            let ground = Ground {
                system: &changing.host,
                hierarchy,
                isolated: &taken,
            };
            let homes = Homes::read(journal.records());
            homes.of(&ground, &task, &inside.path, &hierarchy.mount).0
        }
    };
    let cgroup = machine::tasks::cgroup_of(root, pid, hierarchy.version).unwrap_or_default();
    if path == format!("{}{cgroup}", hierarchy.mount) {
        return Ok(None);
    }
    Ok(Some(Partition {
        path,
        cpus: machine.topology.online.minus(&taken),
        taken,
        housekeeping: None,
        version: hierarchy.version,
    }))
}

/// Every partition at the top of the tree with its CPUs, by name as partrt shows them. `reasons` are those of the
/// layers in force.
#[must_use]
pub fn all(machine: &Machine, reasons: &[String]) -> Vec<(String, String)> {
    let Some(hierarchy) = &machine.cgroups.cpuset else {
        return Vec::new();
    };
    let rest = rest_name(reasons);
    let mut rows = Vec::new();
    let mut taken: Option<CpuSet> = None;
    for set in &hierarchy.sets {
        let Some(name) = set
            .name
            .strip_prefix('/')
            .filter(|name| !name.is_empty() && !name.contains('/'))
        else {
            continue;
        };
        let Some(cpus) = &set.cpus else { continue };
        match shown(hierarchy, name) {
            Shown::Own(own) => {
                taken = Some(taken.unwrap_or_default().or(cpus));
                rows.push((own.to_owned(), cpus.to_string()));
            }
            Shown::Rest => rows.push((rest.to_owned(), cpus.to_string())),
            // On v2 every slice and service has the files, and nearly none has CPUs of its own.
            Shown::Foreign if hierarchy.version == Version::V2 && cpus.is_empty() => {}
            Shown::Foreign => rows.push((name.to_owned(), cpus.to_string())),
        }
    }
    if let Some(taken) = taken.filter(|_| hierarchy.version == Version::V2) {
        rows.push((rest.to_owned(), machine.topology.online.minus(&taken).to_string()));
    }
    rows.sort();
    rows
}

enum Shown<'a> {
    Own(&'a str),
    Rest,
    Foreign,
}

/// What a directory at the top of the tree is to partrt's users.
fn shown<'a>(hierarchy: &Hierarchy, name: &'a str) -> Shown<'a> {
    let path = format!("{}/{name}", hierarchy.mount);
    match hierarchy.version {
        Version::V1 if path == housekeeping_set_path(hierarchy) => Shown::Rest,
        Version::V1 => Shown::Foreign,
        Version::V2 => {
            let before = partition_path(hierarchy, "");
            path.strip_prefix(&before).map_or(Shown::Foreign, |own| {
                Shown::Own(name.get(name.len() - own.len()..).unwrap_or(name))
            })
        }
    }
}

/// The directory that `create` would make under a name, or that it counts as taken.
#[must_use]
pub fn directory(hierarchy: &Hierarchy, name: &str, rest: &str) -> String {
    match hierarchy.version {
        Version::V1 if name == rest => housekeeping_set_path(hierarchy),
        _ => partition_path(hierarchy, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Cgroups, Partition as Set};

    fn machine(version: Version, sets: &[(&str, &str)]) -> Machine {
        let set = |(name, cpus): &(&str, &str)| Set {
            name: (*name).to_owned(),
            version,
            cpus: CpuSet::parse_list(cpus).ok().or(Some(CpuSet::new())),
            effective_cpus: None,
            mems: None,
            cpu_exclusive: None,
            sched_load_balance: None,
            partition: None,
            cpus_exclusive: None,
        };
        let fixture = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/machines/4x86-2p2c-v1-6.1.tar.gz"
        );
        let mut machine = Machine::read(&Root::open(std::path::Path::new(fixture)).unwrap());
        machine.topology.online = CpuSet::range(0, 3);
        machine.cgroups = Cgroups {
            cpuset: Some(Hierarchy {
                version,
                mount: "/sys/fs/cgroup".to_owned(),
                prefix: "cpuset.".to_owned(),
                read_only: false,
                v2_mode: false,
                sets: sets.iter().map(set).collect(),
            }),
            mounts: Vec::new(),
            owners: Vec::new(),
        };
        machine
    }

    fn rows(machine: &Machine, reasons: &[&str]) -> String {
        let reasons: Vec<String> = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        let rows = all(machine, &reasons);
        let rows: Vec<String> = rows.iter().map(|(name, cpus)| format!("{name}={cpus}")).collect();
        rows.join(" ")
    }

    #[test]
    fn the_names_of_partrt_stand_for_our_sets() {
        let v1 = machine(
            Version::V1,
            &[
                ("/", "0-3"),
                ("/rt", "2-3"),
                ("/rt/inner", "2"),
                ("/housekeeping", "0-1"),
                ("/docker", ""),
            ],
        );
        assert_eq!(rows(&v1, &["apply"]), "docker= nrt=0-1 rt=2-3");
        assert_eq!(
            rows(&v1, &["apply", &reason("other")]),
            "docker= other=0-1 rt=2-3"
        );
        let v2 = machine(
            Version::V2,
            &[
                ("/", ""),
                ("/quietcore-rt", "3"),
                ("/quietcore-fast", "2"),
                ("/system.slice", ""),
                ("/mine", "1"),
            ],
        );
        assert_eq!(rows(&v2, &[]), "fast=2 mine=1 nrt=0-1 rt=3");
        assert_eq!(
            rows(&machine(Version::V2, &[("/", ""), ("/system.slice", "")]), &[]),
            ""
        );
    }

    #[test]
    fn the_reason_keeps_the_name() {
        assert_eq!(rest_of(&reason("other")), Some("other"));
        assert_eq!(rest_of("apply"), None);
    }
}
