//! v2: gives away the root cgroup's list of tasks, so that the owner of a partition can bring in tasks from elsewhere.
//!
//! The kernel does not check the owner of the moved process (`cgroup_attach_permissions`); only the cpuset controller
//! refuses tasks with more capabilities than the mover has (`cap_task_setscheduler`). So this gives access to the tasks
//! of every unprivileged user, and needs an explicit request.

use super::declare::owner;
use super::owner::owner_change;
use super::{Knob, Presence};
use crate::parameters::ParameterCost;
use crate::{Finding, FindingId, Plan, PlanContext, UndoMethod};
use machine::Version;

pub(super) const KNOB: Knob = Knob {
    name: "owner_ancestor",
    files: &["/sys/fs/cgroup/cgroup.procs"],
    what: "on cgroup v2: the owner of the partition may also write cgroup.procs of the root cgroup, which is needed to \
         move in tasks from other places",
    isolation: "with --owner, lets an unprivileged user move running programs into a v2 partition",
    needs: "cgroup v2 and --owner; on v1 the owner needs nothing else",
    price: ParameterCost::Security,
    side_effects: "that user can also move tasks of other users between all cgroups that the user may write: into the \
         partition, and from any slice with its limits into the root",
    verify: "ls -l /sys/fs/cgroup/cgroup.procs",
    plan,
    ..Knob::PLAIN
};

fn plan(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let given = scene.intent.with.get("owner").and_then(Option::as_deref);
    let (Some(hierarchy), Some(owner)) = (scene.hierarchy(), given.and_then(owner)) else {
        return Presence::Absent;
    };
    if hierarchy.version == Version::V1 {
        return Presence::Absent;
    }
    let path = format!("{}/cgroup.procs", hierarchy.mount);
    let why = "the kernel checks it when a process moves in from another cgroup";
    plan.changes
        .push(owner_change(knob, &path, owner, UndoMethod::Restore, why));
    let message = format!(
        "user {} can also move tasks of other users, if they have no more capabilities than the user's own tasks",
        owner.0
    );
    plan.findings.push(
        Finding::warning(FindingId::OWNER_ANCESTOR, &path, message)
            .fix("leave it out if the users of this machine do not trust each other"),
    );
    Presence::Here
}
