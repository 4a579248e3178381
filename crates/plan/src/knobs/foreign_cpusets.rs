//! Cpusets of other owners that hold CPUs to be isolated: narrowed in place, never flattened.
//!
//! On v1 such a set with load balancing would join the isolated CPUs to its scheduling domain again; on v2 it
//! makes our partition invalid ("not exclusive").

use super::{Knob, Presence, Taken};
use crate::{Action, Change, ChangeKind, Compare, Finding, Level, OnRefusal, Plan, Profile, Scene, Undo};
use machine::{Hierarchy, Partition, Version, tenants};

pub(super) const KNOB: Knob = Knob {
    name: "foreign_cpusets",
    what: "cpusets that containers, virtual machines or services made and that hold the isolated CPUs",
    since: "any kernel with cpusets",
    taken: Taken::From(Profile::Minimal),
    needed: "a cpuset that holds the same CPUs makes the partition invalid, or joins them to its scheduling domain",
    stops: &["task"],
    side_effects: "tasks of those sets lose the isolated CPUs until undo; a set that has no other CPU stops the plan, with \
                   the command by which its owner moves it",
    verify: "cpuset.effective_cpus (v1) or cpuset.cpus.effective (v2) of each set",
    peers: &["cset"],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &Scene, plan: &mut Plan) -> Presence {
    let Some(hierarchy) = scene.hierarchy().filter(|hierarchy| !hierarchy.read_only) else {
        return Presence::Absent;
    };
    // Children first: the kernel refuses a parent that is smaller than its child (validate_change).
    for set in hierarchy.sets.iter().rev().filter(|set| set.name != "/") {
        if scene.is_ours(hierarchy, &set.name) {
            continue;
        }
        let Some(cpus) = set.cpus.as_ref().filter(|cpus| cpus.intersects(scene.isolated())) else {
            continue;
        };
        let rest = cpus.minus(scene.isolated());
        if rest.is_empty() {
            plan.findings.push(pinned(scene, &set.name, cpus));
            continue;
        }
        plan.changes.push(narrow(hierarchy, set, &rest));
    }
    Presence::Here
}

/// A set that somebody put onto the wanted CPUs alone. Whoever is known to have done so on purpose has to give them up
/// first.
fn pinned(scene: &Scene, set: &str, cpus: &machine::CpuSet) -> Finding {
    match tenants::tenant(set) {
        Some(tenant) => Finding::new(
            Level::Error,
            "foreign-cpuset",
            set,
            format!(
                "{} has no CPU but {cpus}, and cannot run without one",
                tenant.name()
            ),
        )
        .fix(format!(
            "{}; or isolate other CPUs",
            tenant.command(&scene.housekeeping.to_string())
        )),
        None => Finding::new(
            Level::Warning,
            "foreign-cpuset",
            set,
            format!("the cpuset {set} has no CPU but {cpus}, so it is left alone and keeps running there"),
        )
        .fix("stop what runs in it, or isolate other CPUs"),
    }
}

fn narrow(hierarchy: &Hierarchy, set: &Partition, rest: &machine::CpuSet) -> Change {
    let path = format!("{}{}/{}cpus", hierarchy.mount, set.name, hierarchy.prefix);
    let why = match hierarchy.version {
        Version::V1 => "a set with load balancing would join the isolated CPUs to its scheduling domain",
        Version::V2 => "a sibling that holds the same CPUs makes the partition invalid",
    };
    let why = match tenants::tenant(&set.name) {
        Some(tenant) => format!("{}: {why}", tenant.name()),
        None => why.to_owned(),
    };
    Change {
        id: format!("foreign_cpusets{}", set.name),
        target: path.clone(),
        kind: ChangeKind::Runtime,
        before: set.cpus.as_ref().map(ToString::to_string),
        after: rest.to_string(),
        why,
        undo: "write the former list".to_owned(),
        action: Action::Write {
            path,
            value: rest.to_string(),
            compare: Compare::List,
            on_refusal: OnRefusal::Fatal,
            undo: Undo::Restore,
        },
    }
}
