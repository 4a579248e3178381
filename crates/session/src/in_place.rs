//! Finds the cgroup of a program that becomes an isolated partition where it is.

use lease::{LeaseOwner, OwnerIdentity};
use machine::{Hierarchy, Machine, Version, is_within};
use plan::{Finding, FindingId, Intent};
use root::{Failure, Root, Status};

/// Where the partition of a program is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartitionPlace {
    /// In the program's cgroup, at this path below the mount of the cpuset hierarchy.
    InPlace(String),
    /// In a cgroup of its own, because the kernel has no other kind.
    OwnCgroup,
}

/// Finds the cgroup of `pid:N`, `unit:NAME`, `cgroup:PATH`, `container:ID` or `domain:NAME`.
///
/// # Errors
/// Another form, nothing of that name, and the root cgroup.
pub(crate) fn place_of(owner: &str, machine: &Machine, root: &Root) -> Result<PartitionPlace, Failure> {
    let found = find(owner, machine, root)?;
    if found.identity == OwnerIdentity::Manual {
        return Err(Failure::usage(
            "`manual` has no cgroup",
            "a partition in place needs the cgroup of a program",
            "write pid:N, unit:NAME, cgroup:PATH, container:ID or domain:NAME",
        ));
    }
    let Some(hierarchy) = machine.cgroups.cpuset.as_ref() else {
        return Ok(PartitionPlace::OwnCgroup);
    };
    let cgroup = match &found.identity {
        OwnerIdentity::Manual => None,
        OwnerIdentity::Process(key) => {
            machine::tasks::cgroup_of(root, key.tid, hierarchy.version).map(|cgroup| domain_of(cgroup, root, hierarchy))
        }
        OwnerIdentity::Cgroup { path, .. } => path.strip_prefix(&hierarchy.mount).map(str::to_owned),
    };
    let refused = |why: &str, next: &str| {
        Err(Failure::usage(
            format!("{} cannot be isolated where it is", report::safe(owner)),
            why,
            next,
        ))
    };
    const START_IT: &str = "start it in a cgroup, for example with systemd-run; or leave out --in-place";
    let Some(cgroup) = cgroup.filter(|_| machine.has_remote_partitions()) else {
        return match machine.has_remote_partitions() {
            true => refused(
                "its cgroup is not in the hierarchy with the cpuset controller",
                START_IT,
            ),
            false => Ok(PartitionPlace::OwnCgroup),
        };
    };
    if cgroup == "/" {
        return refused("it is in the root cgroup, which everything else is in too", START_IT);
    }
    if cgroup.split('/').any(|part| part == "..") {
        return refused(
            "its cgroup is outside the part of the tree that is visible here",
            START_IT,
        );
    }
    let init = machine::tasks::cgroup_of(root, 1, hierarchy.version);
    if init.is_some_and(|init| is_within(&init, &cgroup)) {
        return refused(
            "process 1 is in that cgroup, and has to run on the other CPUs",
            START_IT,
        );
    }
    Ok(PartitionPlace::InPlace(cgroup))
}

fn find(owner: &str, machine: &Machine, root: &Root) -> Result<LeaseOwner, Failure> {
    LeaseOwner::find(owner, root, &machine.cgroups).map_err(|error| match error.status {
        Status::Unable => Failure::unable(
            format!("there is no program {}", report::safe(owner)),
            error.why,
            "it has to run now, in a cgroup of its own",
        ),
        _ => error,
    })
}

/// The cgroup of a whole process: above a threaded cgroup, which has only some of its threads (the vCPUs of libvirt).
fn domain_of(mut cgroup: String, root: &Root, hierarchy: &Hierarchy) -> String {
    while apply::threads::is_threaded(root, &hierarchy.dir(&cgroup)) {
        let above = cgroup.rfind('/').unwrap_or_default();
        cgroup.truncate(above);
    }
    if cgroup.is_empty() { "/".to_owned() } else { cgroup }
}

/// The cgroup of a program for an intent, below the mount; or the finding that the partition is a cgroup of its own.
///
/// # Errors
/// As [`place_of`].
pub(crate) fn place_or_finding(
    owner: &str,
    intent: &Intent,
    machine: &Machine,
    root: &Root,
) -> Result<(Option<String>, Option<Finding>), Failure> {
    Ok(match place_of(owner, machine, root)? {
        PartitionPlace::InPlace(cgroup) => (Some(cgroup), None),
        PartitionPlace::OwnCgroup => {
            let hierarchy = machine.cgroups.cpuset.as_ref();
            (
                None,
                hierarchy.map(|hierarchy| own_cgroup_finding(owner, intent, hierarchy)),
            )
        }
    })
}

/// Says that the partition of a program is a cgroup of its own, and what differs.
pub(crate) fn own_cgroup_finding(owner: &str, intent: &Intent, hierarchy: &Hierarchy) -> Finding {
    let path = intent.cgroup_path(hierarchy);
    let (why, differs) = match hierarchy.version {
        Version::V1 => (
            "cgroup v1 has no such partitions",
            "the program keeps its other limits there",
        ),
        Version::V2 => (
            "that needs Linux 6.11 or later",
            "there, the memory and I/O limits of its cgroup do not apply",
        ),
    };
    let message = format!(
        "the cgroup of {} cannot be the partition: {why}. The partition is {path}; {differs}",
        report::safe(owner)
    );
    let fix = format!(
        "bring it there: `quietcore move --into {} --pid PID`, or start it with `quietcore run --partition {}`",
        intent.name, intent.name
    );
    Finding::warning(FindingId::PARTITION_IN_PLACE, report::safe(owner), message).fix(fix)
}
