//! Makes the cgroup of the selected tasks the partition, instead of moving them.

use super::owners::Owners;
use super::selection::{Children, MoveSelection};
use super::{MoveOptions, no_match};
use crate::{Session, resize};
use machine::Version;
use root::Failure;

/// Makes the cgroup of the tasks the partition. They are all in one.
pub(super) fn hand_over(session: &Session, options: &MoveOptions, name: &str) -> Result<(), Failure> {
    let (root, machine) = (session.root(), session.machine());
    let owners = Owners::new(root, options.user.as_deref())?;
    let chosen = options.selection.choose(root, &owners, Children::CreatedDuringMove);
    let version = machine
        .cgroups
        .cpuset
        .as_ref()
        .map_or(Version::V2, |hierarchy| hierarchy.version);
    let cgroup = |one: &MoveSelection| machine::tasks::cgroup_of(root, one.leader, version);
    let Some(first) = chosen.first() else {
        return Err(no_match(options));
    };
    if let Some(other) = chosen.iter().find(|other| cgroup(other) != cgroup(first)) {
        return Err(Failure::usage(
            "the tasks are in several cgroups",
            format!("processes {} and {} are in different ones", first.leader, other.leader),
            "choose those of one cgroup; or leave out --in-place",
        ));
    }
    resize::hand_over(session, name, first.leader)?;
    session.refresh();
    Ok(())
}
