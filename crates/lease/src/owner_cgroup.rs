//! Finds the cgroup of an owner in the mounted hierarchies.

use crate::owner_absence::OwnerAbsence;
use machine::{Cgroups, OrderBy, Version};
use root::{DirectoryEntryType, Root};

/// Maximum number of cgroups that are searched; no machine has more.
const MAX_CGROUPS: usize = 65_536;

/// The directory of a cgroup, given its path in a hierarchy or in the file system.
pub(crate) fn by_path(root: &Root, cgroups: &Cgroups, path: &str) -> Result<String, OwnerAbsence> {
    let path = path.trim_end_matches('/');
    if path.split('/').any(|part| matches!(part, ".." | ".")) {
        return Err(OwnerAbsence::Relative);
    }
    let mounts = hierarchies(cgroups);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let path = &*match parts.is_empty() {
        true => String::new(),
        false => format!("/{}", parts.join("/")),
    };
    if path.is_empty() || mounts.contains(&path) {
        return Err(OwnerAbsence::RootCgroup);
    }
    let path = format!("/{}", path.trim_start_matches('/'));
    let is_below = |mount: &&str| path.strip_prefix(*mount).is_some_and(|rest| rest.starts_with('/'));
    let candidates: Vec<String> = match mounts.iter().any(is_below) {
        true => vec![path],
        false => mounts.iter().map(|mount| format!("{mount}{path}")).collect(),
    };
    let mut found = candidates
        .into_iter()
        .filter(|dir| matches!(root.entries(dir), Ok(Some(_))));
    found.next().ok_or(OwnerAbsence::NoPath)
}

/// The directory of the only cgroup with such a name that is not below another one, in the first hierarchy that has one.
/// The cgroups of user managers are searched last: a unit of the system has precedence.
pub(crate) fn by_name(root: &Root, cgroups: &Cgroups, is_it: &dyn Fn(&str) -> bool) -> Result<String, OwnerAbsence> {
    for mount in hierarchies(cgroups) {
        let mut found = search(root, mount, is_it);
        let user = format!("{mount}/user.slice/");
        if found.iter().any(|path| !path.starts_with(&user)) {
            found.retain(|path| !path.starts_with(&user));
        }
        match (found.pop(), found.len()) {
            (None, _) => {}
            (Some(path), 0) => return Ok(path),
            (Some(path), others) => {
                let count = others + 1;
                return Err(OwnerAbsence::Several { count, path });
            }
        }
    }
    Err(OwnerAbsence::NoName)
}

/// Whether a directory is the cgroup of a container: `ID`, `libpod-ID.scope`, `crio-ID`, `cri-containerd-ID.scope`. Its
/// monitor `libpod-conmon-ID.scope` is another one.
pub(crate) fn is_of_container(dir: &str, id: &str) -> bool {
    let name = dir.strip_suffix(".scope").unwrap_or(dir);
    let (engine, last) = name.rsplit_once('-').unwrap_or(("", name));
    last.len() <= 64 && last.starts_with(id) && !engine.ends_with("conmon")
}

/// The mounted hierarchies: cgroup v2 and systemd's own first, because they have every unit and container.
fn hierarchies(cgroups: &Cgroups) -> Vec<&str> {
    let rank = |(version, _, controllers): &&(Version, String, Vec<String>)| match version {
        Version::V2 => 0,
        Version::V1 if controllers.iter().any(|one| one == "name=systemd") => 1,
        Version::V1 if controllers.iter().any(|one| one == "cpuset") => 2,
        Version::V1 => 3,
    };
    let mut mounts: Vec<_> = cgroups.mounts.iter().collect();
    mounts.order_by_key(rank);
    mounts.into_iter().map(|(_, path, _)| path.as_str()).collect()
}

fn search(root: &Root, mount: &str, is_it: &dyn Fn(&str) -> bool) -> Vec<String> {
    let (mut found, mut open, mut seen) = (Vec::new(), vec![mount.to_owned()], 0);
    while let Some(dir) = open.pop() {
        seen += 1;
        if seen > MAX_CGROUPS {
            break;
        }
        // A cgroup that is removed during the search has no entries.
        for entry in root.entries(&dir).ok().flatten().unwrap_or_default() {
            if entry.kind != DirectoryEntryType::Dir {
                continue;
            }
            let path = format!("{dir}/{}", entry.name);
            match is_it(&entry.name) {
                true => found.push(path),
                false => open.push(path),
            }
        }
    }
    found
}
