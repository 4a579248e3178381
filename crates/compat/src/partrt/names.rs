//! Maps the partition names of partrt's users. One is the partition itself (`rt`), the other is everything that is not
//! isolated (`nrt`): on v1 the set that contains it, on v2 the rest of the tree.

use apply::{Journal, TaskOrigins};
use machine::{CpuSet, Hierarchy, Machine, Version};
use plan::{Intent, housekeeping_set_path, partition_path};
use root::Failure;
use session::partition::{self, ActivePartition};
use session::{ChangeLock, Session};

/// The default name of the real-time partition.
pub const RT: &str = "rt";
/// The default name of everything else.
pub const NRT: &str = "nrt";

/// The meaning of a name.
#[derive(Clone, Debug)]
pub enum PartrtTarget {
    /// An active partition.
    Partition(ActivePartition),
    /// Everything outside the partitions: these CPUs.
    Rest(CpuSet),
}

impl PartrtTarget {
    /// Its CPUs.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        match self {
            PartrtTarget::Partition(partition) => &partition.cpus,
            PartrtTarget::Rest(cpus) => cpus,
        }
    }
}

/// The reason of a journal's layer, for the history; it contains the user's name for everything else.
pub fn reason(rest: &str) -> String {
    format!("{REASON}{rest}")
}

const REASON: &str = "partrt create, with everything else in ";

/// The name of everything else in such a reason.
pub fn rest_of(reason: &str) -> Option<&str> {
    reason.strip_prefix(REASON)
}

/// The names of everything else while these partitions are active, the displayed one first; none if there are no
/// partitions. On v1 it is the name of its directory; later users may have given it other names.
pub fn of_rest(version: Version, in_force: &[(Intent, String)]) -> Vec<String> {
    let directory = in_force.first().and_then(|(intent, _)| match version {
        Version::V1 => Some(intent.housekeeping.as_ref().map_or(NRT, |name| name.as_str())),
        Version::V2 => None,
    });
    let given = in_force.iter().filter_map(|(_, reason)| rest_of(reason));
    let mut names: Vec<String> = directory.into_iter().chain(given).map(str::to_owned).collect();
    if names.is_empty() && !in_force.is_empty() {
        names.push(NRT.to_owned());
    }
    names
}

/// The place with this name; `None` if there is none.
///
/// # Errors
/// A journal that cannot be read.
pub fn find(
    session: &Session,
    changing: &ChangeLock,
    machine: &Machine,
    name: &str,
) -> Result<Option<PartrtTarget>, Failure> {
    if let Some(partition) = partition::partition_in_force(changing, machine, name)? {
        return Ok(Some(PartrtTarget::Partition(partition)));
    }
    let in_force = session.in_force_because();
    let version = machine
        .cgroups
        .cpuset
        .as_ref()
        .map_or(Version::V2, |hierarchy| hierarchy.version);
    let taken = CpuSet::union(in_force.iter().map(|(intent, _)| &intent.cpus));
    let rest = machine.topology.online.minus(&taken);
    let is_rest = of_rest(version, &in_force).iter().any(|known| known == name);
    Ok(is_rest.then_some(PartrtTarget::Rest(rest)))
}

/// The partition of ours that a task is in.
///
/// # Errors
/// A journal that cannot be read.
pub fn around(
    changing: &ChangeLock,
    machine: &Machine,
    tid: u32,
) -> Result<Option<(String, ActivePartition)>, Failure> {
    let session = changing.session;
    let root = session.root();
    let Some(hierarchy) = &machine.cgroups.cpuset else {
        return Ok(None);
    };
    let cgroup = machine::tasks::cgroup_of(root, tid, hierarchy.version).unwrap_or_default();
    let path = format!("{}{cgroup}", hierarchy.mount);
    for intent in session.in_force() {
        let name = intent.name.as_str();
        let partition = partition::partition_in_force(changing, machine, name)?;
        if let Some(partition) = partition.filter(|partition| partition.path == path) {
            return Ok(Some((name.to_owned(), partition)));
        }
    }
    Ok(None)
}

/// The target for a process that shall run with everything else; `None` if it does already.
///
/// # Errors
/// A journal that cannot be read.
pub fn way_out(changing: &ChangeLock, machine: &Machine, pid: u32) -> Result<Option<ActivePartition>, Failure> {
    let session = changing.session;
    let root = session.root();
    let inside = around(changing, machine, pid)?;
    let (Some(hierarchy), Some(journal)) = (&machine.cgroups.cpuset, Journal::open(changing.state())?) else {
        return Ok(None);
    };
    let layers = journal.layers();
    let live: Vec<_> = layers.iter().filter(|layer| layer.is_live()).collect();
    let taken = apply::isolated(&live);
    let path = match (hierarchy.version, inside) {
        (Version::V1, _) => {
            let partition = live.iter().find(|layer| layer.is_partition());
            let path = partition.and_then(|layer| layer.intent.housekeeping_path(hierarchy));
            let Some(path) = path else { return Ok(None) };
            path
        }
        (Version::V2, None) => return Ok(None),
        (Version::V2, Some((_, inside))) => {
            let Some(task) = machine::tasks::read_one(root, pid) else {
                return Ok(None);
            };
            let ground = changing.move_context(hierarchy, &taken);
            let homes = TaskOrigins::read(journal.records());
            homes.of(&ground, &task, &inside.path, &hierarchy.mount).0
        }
    };
    let cgroup = machine::tasks::cgroup_of(root, pid, hierarchy.version).unwrap_or_default();
    if path == format!("{}{cgroup}", hierarchy.mount) {
        return Ok(None);
    }
    Ok(Some(ActivePartition {
        path,
        cpus: machine.topology.online.minus(&taken),
        reserved_cpus: taken,
        in_place: None,
        housekeeping: None,
        version: hierarchy.version,
        arguments: String::new(),
    }))
}

/// Every partition at the top of the tree with its CPUs, under the names that partrt displays.
pub fn all(machine: &Machine, in_force: &[(Intent, String)]) -> Vec<(String, String)> {
    let Some(hierarchy) = &machine.cgroups.cpuset else {
        return Vec::new();
    };
    let rest = of_rest(hierarchy.version, in_force).into_iter().next();
    let rest = rest.unwrap_or_else(|| NRT.to_owned());
    let mut rows = Vec::new();
    let mut taken: Option<CpuSet> = None;
    for set in &hierarchy.sets {
        let name = set.name.strip_prefix('/').unwrap_or_default();
        let (Some(cpus), false) = (&set.cpus, name.is_empty() || name.contains('/')) else {
            continue;
        };
        match display_name(hierarchy, name) {
            // On v2 cset's front end creates a set for the rest; it reserves no CPUs.
            NameDisplay::Own(own) if is_housekeeping(own, in_force) => rows.push((own.to_owned(), cpus.to_string())),
            NameDisplay::Own(own) => {
                taken = Some(taken.unwrap_or_default().or(cpus));
                rows.push((own.to_owned(), cpus.to_string()));
            }
            NameDisplay::Rest => rows.push((rest.clone(), cpus.to_string())),
            // On v2 every slice and service has the files, but almost none has CPUs of its own.
            NameDisplay::Foreign if hierarchy.version == Version::V2 && cpus.is_empty() => {}
            NameDisplay::Foreign => rows.push((name.to_owned(), cpus.to_string())),
        }
    }
    if let Some(taken) = taken.filter(|_| hierarchy.version == Version::V2) {
        rows.push((rest, machine.topology.online.minus(&taken).to_string()));
    }
    rows.sort_unstable();
    rows
}

fn is_housekeeping(name: &str, in_force: &[(Intent, String)]) -> bool {
    let mut given = in_force.iter().filter_map(|(intent, _)| intent.housekeeping.as_ref());
    given.any(|known| known.as_str() == name)
}

enum NameDisplay<'a> {
    Own(&'a str),
    Rest,
    Foreign,
}

/// The meaning of a top-level directory for partrt's users. On v1 other directories keep their names.
fn display_name<'a>(hierarchy: &Hierarchy, name: &'a str) -> NameDisplay<'a> {
    let path = format!("{}/{name}", hierarchy.mount);
    match hierarchy.version {
        Version::V1 if path == housekeeping_set_path(hierarchy) => NameDisplay::Rest,
        Version::V1 => NameDisplay::Foreign,
        Version::V2 => {
            let own = path.strip_prefix(&partition_path(hierarchy, "")).map(str::len);
            own.and_then(|length| name.get(name.len() - length..))
                .map_or(NameDisplay::Foreign, NameDisplay::Own)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Cgroups, Partition as Set};
    use plan::{PartitionName, Profile};

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
        let mut machine = Machine::read(&root::Root::open(std::path::Path::new(fixture)).unwrap());
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

    /// An active partition: the directory name of everything else, and the reason of its layer.
    fn made(housekeeping: Option<&str>, reason: &str) -> (Intent, String) {
        let mut intent = Intent::new(PartitionName::default(), CpuSet::range(2, 3), Profile::Minimal);
        intent.housekeeping = housekeeping.map(|name| PartitionName::new(name).unwrap());
        (intent, reason.to_owned())
    }

    fn rows(machine: &Machine, in_force: &[(Intent, String)]) -> String {
        let rows = all(machine, in_force);
        let rows: Vec<String> = rows.iter().map(|(name, cpus)| format!("{name}={cpus}")).collect();
        rows.join(" ")
    }

    #[test]
    fn names_of_partrt_are_mapped_to_own_sets() {
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
        assert_eq!(rows(&v1, &[made(None, "apply")]), "docker= nrt=0-1 rt=2-3");
        let named = machine(Version::V1, &[("/", "0-3"), ("/rt", "2-3"), ("/other", "0-1")]);
        assert_eq!(rows(&named, &[made(Some("other"), "")]), "other=0-1 rt=2-3");
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
            rows(&v2, &[made(None, &reason("other"))]),
            "fast=2 mine=1 other=0-1 rt=3"
        );
        let cset = machine(Version::V2, &[("/quietcore-user", "3"), ("/quietcore-system", "0-2")]);
        assert_eq!(rows(&cset, &[made(Some("system"), "")]), "nrt=0-2 system=0-2 user=3");
        assert_eq!(
            rows(&machine(Version::V2, &[("/", ""), ("/system.slice", "")]), &[]),
            ""
        );
    }

    #[test]
    fn the_remaining_set_has_its_directory_name_and_given_names() {
        let of = |version, in_force: &[(Intent, String)]| of_rest(version, in_force).join(" ");
        let later = reason("other");
        assert_eq!(of(Version::V1, &[]), "");
        assert_eq!(of(Version::V1, &[made(None, "apply")]), "nrt");
        assert_eq!(
            of(Version::V1, &[made(Some("rest"), ""), made(Some("rest"), &later)]),
            "rest other"
        );
        assert_eq!(of(Version::V2, &[]), "");
        assert_eq!(of(Version::V2, &[made(None, "apply")]), "nrt");
        assert_eq!(of(Version::V2, &[made(None, "apply"), made(None, &later)]), "other");
    }

    #[test]
    fn the_reason_stores_the_name() {
        assert_eq!(rest_of(&reason("other")), Some("other"));
        assert_eq!(rest_of("apply"), None);
    }
}
