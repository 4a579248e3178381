//! Narrows the cpusets of other owners that hold CPUs to be isolated, and keeps their structure.
//!
//! On v1 such a set with load balancing would join the isolated CPUs to its scheduling domain again. On v2 it makes our
//! partition invalid ("not exclusive").

use super::{Knob, KnobUse, Presence};
use crate::{Change, Finding, FindingId, Plan, PlanContext, Profile, RefusalPolicy, partition_path, sharing};
use machine::{CpuSet, Hierarchy, Partition, Version, cgroup_owners};

pub(super) const KNOB: Knob = Knob {
    name: "foreign_cpusets",
    what: "cpusets of containers, virtual machines or services that contain the isolated CPUs",
    since: "any kernel with cpusets",
    usage: KnobUse::From(Profile::Minimal),
    needed: "a cpuset with the same CPUs makes the partition invalid, or joins them to its scheduling domain",
    stops: &["task"],
    side_effects: "tasks of those sets lose the isolated CPUs until undo; a set without other CPUs stops the plan, \
         which then shows the owner's command to move it",
    verify: "cpuset.effective_cpus (v1) or cpuset.cpus.effective (v2) of each set",
    peers: &["cset"],
    plan,
    ..Knob::PLAIN
};

fn plan(_: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let Some(hierarchy) = scene.hierarchy().filter(|hierarchy| !hierarchy.read_only) else {
        return Presence::Absent;
    };
    // Children first: the kernel refuses a parent that is smaller than its child (validate_change).
    let mut children: Vec<(&str, CpuSet)> = Vec::new();
    let mut pinned_sets = Vec::new();
    let in_place = match hierarchy.version {
        Version::V1 => None,
        Version::V2 => scene.intent.in_place.as_deref(),
    };
    for set in hierarchy.sets.iter().rev().filter(|set| set.name != "/") {
        if scene.is_ours(hierarchy, &set.name) || (scene.is_active && scene.is_or_will_be_ours(&set.name)) {
            continue;
        }
        // Its own cgroup of before, if the active partition of that name was not in place.
        let was_own = || hierarchy.dir(&set.name) == partition_path(hierarchy, scene.intent.name.as_str());
        if in_place.is_some_and(|own| is_in_line(&set.name, own) || (scene.is_active && was_own())) {
            continue;
        }
        let Some(cpus) = set.cpus.as_ref().filter(|cpus| cpus.intersects(scene.isolated())) else {
            continue;
        };
        let mut rest = cpus.minus(scene.isolated());
        if rest.is_empty() {
            pinned_sets.push((&set.name, cpus));
            rest = cpus.clone();
        } else if hierarchy.version == Version::V1 && !hierarchy.v2_mode {
            // That applies to v1 only; on v2 a child is limited by its parent.
            let inside = children.iter().filter(|(name, _)| is_below(name, &set.name));
            rest = inside.fold(rest, |all, (_, cpus)| all.or(cpus)).and(cpus);
        }
        // A partition with an exclusive list takes its CPUs from the other sets without a write.
        if rest != *cpus && in_place.is_none() {
            plan.changes.push(narrow(hierarchy, set, &rest));
        }
        children.push((&set.name, rest));
    }
    for (set, cpus) in pinned_sets {
        let allowed = sharing::allowed(scene, hierarchy, &plan.changes, set);
        let finding = pinned(scene, set, cpus, &allowed);
        // The kernel refuses an exclusive list that would leave such a sibling no CPU (`cpus_excl_conflict`).
        let is_beside = in_place.is_some_and(|own| set.rsplit_once('/').is_some_and(|(above, _)| is_below(own, above)));
        plan.findings.push(match is_beside {
            true => Finding::error(
                FindingId::FOREIGN_CPUSET,
                set,
                format!("the cpuset {set} contains only CPU {cpus}, and is beside the program or a cgroup above it: the kernel refuses to take these CPUs"),
            )
            .fix("give it other CPUs, or isolate other CPUs"),
            false => finding,
        });
    }
    Presence::Here
}

/// Whether a set is the other one, above it or inside it.
fn is_in_line(set: &str, other: &str) -> bool {
    set == other || is_below(set, other) || is_below(other, set)
}

/// Whether a set is inside another one.
fn is_below(set: &str, parent: &str) -> bool {
    set.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'))
}

/// A set that has only CPUs to be isolated. A known owner configured that deliberately and has to release them first.
/// The tasks of the set may run on `allowed` after the changes.
fn pinned(scene: &PlanContext, set: &str, cpus: &CpuSet, allowed: &CpuSet) -> Finding {
    if let Some(tenant) = cgroup_owners::cgroup_owner(set) {
        let why = format!(
            "{} contains only CPU {cpus}, and cannot run without a CPU",
            tenant.name()
        );
        let command = tenant.command(&scene.housekeeping.to_string());
        return Finding::error(FindingId::FOREIGN_CPUSET, set, why).fix(format!("{command}; or isolate other CPUs"));
    }
    if scene.is_or_will_be_ours(set) {
        let why =
            format!("the cpuset {set} already exists, with CPU {cpus}; `apply` creates a set of this name and stops");
        return Finding::warning(FindingId::FOREIGN_CPUSET, set, why)
            .fix("remove it with the tool that made it, or choose another name with --partition");
    }
    let (message, fix) = match allowed.intersects(scene.isolated()) {
        true => (
            format!("the cpuset {set} contains only CPU {cpus}, so it is left alone and continues to run there"),
            "stop what runs in it, or isolate other CPUs",
        ),
        false => (
            format!(
                "the cpuset {set} contains only CPU {cpus}; until undo the kernel runs its tasks on CPU {allowed} of \
                 its parent"
            ),
            "isolate other CPUs if these tasks need their own",
        ),
    };
    Finding::warning(FindingId::FOREIGN_CPUSET, set, message).fix(fix)
}

fn narrow(hierarchy: &Hierarchy, set: &Partition, rest: &CpuSet) -> Change {
    let path = format!("{}{}/{}cpus", hierarchy.mount, set.name, hierarchy.prefix);
    let why = match hierarchy.version {
        Version::V1 => "a cpuset with load balancing would join the isolated CPUs to its scheduling domain",
        Version::V2 => "a sibling with the same CPUs makes the partition invalid",
    };
    let why = match cgroup_owners::cgroup_owner(&set.name) {
        Some(tenant) => format!("{}: {why}", tenant.name()),
        None => why.to_owned(),
    };
    Change {
        id: format!("{}{}", KNOB.name, set.name),
        ..Change::of_list(&path, set.cpus.as_ref(), rest, RefusalPolicy::Fatal, why)
    }
}
