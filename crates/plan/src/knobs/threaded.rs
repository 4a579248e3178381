//! v2: makes a partition accept single threads while the rest of their process stays outside.
//!
//! Threads of one process may be in different cgroups only below one domain cgroup (`cgroup_attach_permissions`). The
//! root can be that domain, and a child of it with `threaded` in `cgroup.type` accepts single threads. The word can
//! only be written to an empty cgroup and cannot be undone, so it disappears with the cgroup.

use super::{Knob, Presence};
use crate::{Change, Plan, PlanContext, ReadbackComparison, RefusalPolicy, UndoMethod};
use machine::Version;

pub(super) const KNOB: Knob = Knob {
    name: "threaded",
    aliases: &["--threaded", "cgroup.type"],
    files: &["/sys/fs/cgroup/NAME/cgroup.type"],
    what: "on cgroup v2: makes the partition's cgroup threaded, so that single threads of a process can be placed in \
         it (`move --tid`, `move --thread`) while the others stay outside",
    isolation: "threaded: single threads, and whole processes as before. An empty partition becomes threaded \
         automatically when `move` moves the first single thread in",
    since: "4.14",
    needs: "cgroup v2; on v1 every cpuset accepts single threads",
    usual: "threaded",
    side_effects: "no memory or I/O controller works inside, and no cgroup with them can be created below; a process \
         with a thread inside counts as a whole in the root cgroup, outside the limits of its own slice",
    verify: "cgroup.type reads `threaded`; cgroup.threads lists the threads inside, because cgroup.procs of such a \
         cgroup cannot be read",
    plan,
    ..Knob::PLAIN
};

fn plan(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let Some(hierarchy) = scene.hierarchy() else {
        return Presence::Absent;
    };
    if hierarchy.version == Version::V1 {
        return Presence::Here;
    }
    let path = format!("{}/cgroup.type", scene.intent.cgroup_path(hierarchy));
    let (before, policy) = (Some("domain".to_owned()), (RefusalPolicy::Fatal, UndoMethod::WithSet));
    let change = Change::write(&path, before, knob.usual, ReadbackComparison::Text, policy);
    let why = "then single threads can be placed in the partition";
    plan.changes.push(change.of_knob(knob.name, why));
    Presence::Here
}
