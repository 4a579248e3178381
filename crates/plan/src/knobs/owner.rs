//! Lets a user other than root put tasks into the partition: the `perm` section of cgconfig.
//!
//! Only the lists of tasks change owner, not the directory: a user who could create cgroups inside would prevent undo from
//! removing the partition. On v1 the kernel lets users move only their own tasks (`cgroup1_procs_write`). On v2 it checks only
//! the files (`cgroup_procs_write_permission`): the list of the partition and that of the nearest common ancestor.

use super::declare::owner;
use super::{Knob, KnobValueKind, Presence};
use crate::{Action, Change, Finding, FindingId, Plan, PlanContext, UndoMethod, partition_path};
use machine::Version;

pub(super) const KNOB: Knob = Knob {
    name: "owner",
    aliases: &["--owner"],
    files: &["/sys/fs/cgroup/NAME/cgroup.procs", "/sys/fs/cgroup/NAME/tasks"],
    what: "who besides root may put tasks into the partition; --owner USER:GROUP gives the numbers by name",
    isolation: "v1: the owner moves their own tasks in, from anywhere. v2: only from a cgroup below which both places are and \
                whose cgroup.procs they may write too; the partition is below the root, so see owner_ancestor",
    takes: KnobValueKind::Owner,
    usual: "0",
    side_effects: "a user who may put tasks in may disturb those that are there; moving out needs write access there too",
    verify: "ls -l of cgroup.procs and, on v1, tasks of the partition; both belong to root again with the partition gone",
    peers: &["cgconfig perm", "systemd Delegate="],
    plan,
    ..Knob::PLAIN
};

fn plan(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let Some(hierarchy) = scene.hierarchy() else {
        return Presence::Absent;
    };
    let Some((uid, gid)) = owner(scene.value_of(knob)).filter(|owner| *owner != (0, None)) else {
        return Presence::Here;
    };
    let names = match hierarchy.version {
        Version::V1 => ["tasks", "cgroup.procs"],
        Version::V2 => ["cgroup.procs", "cgroup.threads"],
    };
    let dir = partition_path(hierarchy, scene.intent.name.as_str());
    for name in names {
        let (path, why) = (format!("{dir}/{name}"), "its owner may put tasks into the partition");
        plan.changes
            .push(owner_change(knob, &path, (uid, gid), UndoMethod::WithSet, why));
    }
    if hierarchy.version == Version::V2 && !scene.intent.with.contains_key("owner_ancestor") {
        let message = format!(
            "on cgroup v2 who moves a process must be allowed to write cgroup.procs of the nearest cgroup above both places \
             too, which is {} here: so user {uid} cannot bring in what runs elsewhere, only what is started there stays",
            hierarchy.mount
        );
        plan.findings.push(
            Finding::warning(FindingId::OWNER_INSIDE_ONLY, &dir, message).fix(format!(
                "start the first program as root: `quietcore run --user {uid} -- PROGRAM`, its children stay inside; or \
                 `--with owner_ancestor`, which lets that user move other people's tasks too"
            )),
        );
    }
    Presence::Here
}

/// The change that gives a file to the owner.
pub(super) fn owner_change(
    knob: &Knob,
    path: &str,
    (uid, gid): (u32, Option<u32>),
    undo: UndoMethod,
    why: &str,
) -> Change {
    let after = match gid {
        Some(gid) => format!("belongs to {uid}:{gid}, the group may write"),
        None => format!("belongs to {uid}"),
    };
    let back = match undo {
        UndoMethod::Restore => "give it its former owner and permissions",
        UndoMethod::WithSet => "goes with the cgroup",
    };
    let action = Action::GiveFile {
        path: path.to_owned(),
        uid,
        gid,
        undo,
    };
    Change::new(path, &after, back, action).of_knob(knob.name, why)
}
