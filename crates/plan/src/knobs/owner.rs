//! Lets a user other than root put tasks into the partition: the `perm` section of cgconfig.
//!
//! Only the lists of tasks change owner, not the directory: a user who could create cgroups inside would prevent undo from
//! removing the partition. On v1 the kernel lets users move only their own tasks (`cgroup1_procs_write`). On v2 it checks only
//! the files (`cgroup_procs_write_permission`): the list of the partition and that of the nearest common ancestor.

use super::declare::owner;
use super::{Knob, KnobValueKind, Presence};
use crate::{Action, Change, Finding, FindingId, Plan, PlanContext, UndoMethod};
use machine::Version;

pub(super) const KNOB: Knob = Knob {
    name: "owner",
    aliases: &["--owner"],
    files: &["/sys/fs/cgroup/NAME/cgroup.procs", "/sys/fs/cgroup/NAME/tasks"],
    what: "a user besides root who may put tasks into the partition; --owner USER:GROUP accepts names",
    isolation: "v1: the owner moves their own tasks in, from anywhere. v2: the owner also needs write permission for \
         cgroup.procs of the nearest cgroup above both places; the partition is below the root, so see owner_ancestor",
    takes: KnobValueKind::Owner,
    usual: "0",
    side_effects: "a user who may put tasks in may disturb those that are there; moving tasks out needs write access \
         to the other place too",
    verify: "ls -l of cgroup.procs and, on v1, tasks of the partition; both belong to root again when the partition \
         ends",
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
    let dir = scene.intent.cgroup_path(hierarchy);
    for name in names {
        let (path, why) = (format!("{dir}/{name}"), "lets its owner put tasks into the partition");
        plan.changes
            .push(owner_change(knob, &path, (uid, gid), UndoMethod::WithSet, why));
    }
    if hierarchy.version == Version::V2 && !scene.intent.with.contains_key("owner_ancestor") {
        let message = format!(
            "on cgroup v2, moving a process needs write permission for cgroup.procs of the nearest cgroup above both \
             places, which is {} here: so user {uid} cannot move in what runs elsewhere; only children of programs in \
             the partition stay inside",
            hierarchy.mount
        );
        plan.findings.push(
            Finding::warning(FindingId::OWNER_INSIDE_ONLY, &dir, message).fix(format!(
                "start the first program as root: `quietcore run --user {uid} -- PROGRAM`, its children stay inside; \
                 or `--with owner_ancestor`, which also lets that user move tasks of other users"
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
        Some(gid) => format!("belongs to {uid}:{gid}, and the group may write"),
        None => format!("belongs to {uid}"),
    };
    let back = match undo {
        UndoMethod::Restore => "restore its former owner and permissions",
        UndoMethod::WithSet => "removed with the cgroup",
    };
    let action = Action::GiveFile {
        path: path.to_owned(),
        uid,
        gid,
        undo,
    };
    Change::new(path, &after, back, action).of_knob(knob.name, why)
}
