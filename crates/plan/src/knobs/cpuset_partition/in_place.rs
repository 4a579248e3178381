//! Makes the cgroup of another program an isolated partition where it is, so that its memory and I/O limits keep holding.
//!
//! From 6.11 on (with restrictions from 6.7 on) a cgroup below cgroups that are no partitions can be one ("remote partition",
//! `kernel/cgroup/cpuset.c: remote_partition_enable`): it and every cgroup above list its CPUs in `cpuset.cpus.exclusive`. The
//! cgroups above may contain several, so each only adds its CPUs there.

use super::{make_partition, of_knob, partition_words};
use crate::{Change, Finding, FindingId, Plan, PlanContext, ReadbackComparison, RefusalPolicy, UndoMethod, by_hand};
use machine::{CpuSet, Hierarchy, Partition, is_within};

/// Plans the partition in the cgroup at this path below the mount.
pub(super) fn plan(scene: &PlanContext, hierarchy: &Hierarchy, cgroup: &str, plan: &mut Plan) {
    if let Some(finding) = obstacle(scene, hierarchy, cgroup) {
        plan.findings.push(finding);
        return;
    }
    for above in cgroups_above(cgroup) {
        let list = exclusive_list(hierarchy, above, scene.isolated());
        plan.changes.push(of_knob(
            list,
            "a partition below needs its CPUs in the list of every cgroup above",
        ));
        let control = format!("{}/cgroup.subtree_control", hierarchy.dir(above));
        plan.changes
            .push(enable_controller(&control, "child cgroups get cpuset files only then"));
    }
    let before = hierarchy.set(cgroup).and_then(|set| set.cpus_exclusive.as_ref());
    let before = before.map(ToString::to_string);
    let cpus = scene.isolated().to_string();
    let file = hierarchy.file(cgroup, "cpus.exclusive");
    let own = by_hand::write(&file, before, &cpus, ReadbackComparison::List, UndoMethod::Restore);
    plan.changes.extend([
        of_knob(own, super::ISOLATED),
        make_partition(hierarchy.file(cgroup, "cpus.partition"), partition_words(scene)),
    ]);
}

/// Enables the cpuset controller for the children of a cgroup.
pub(super) fn enable_controller(control: &str, why: &str) -> Change {
    let enable = by_hand::write(control, None, "+cpuset", ReadbackComparison::Word, UndoMethod::Restore);
    of_knob(enable, why)
}

/// The exclusive list of a cgroup above, with the CPUs of the partition added.
fn exclusive_list(hierarchy: &Hierarchy, above: &str, isolated: &CpuSet) -> Change {
    let now = hierarchy.set(above).and_then(|set| set.cpus_exclusive.as_ref());
    let list = Change::write(
        &hierarchy.file(above, "cpus.exclusive"),
        now.map(ToString::to_string),
        &isolated.to_string(),
        ReadbackComparison::Includes,
        (RefusalPolicy::Fatal, UndoMethod::Restore),
    );
    Change {
        after: now.map_or_else(|| isolated.clone(), |now| now.or(isolated)).to_string(),
        undo: "remove the CPUs from the list again".to_owned(),
        ..list
    }
}

/// The cgroups above one, without the root, the highest first.
fn cgroups_above(cgroup: &str) -> impl Iterator<Item = &str> {
    cgroup.match_indices('/').skip(1).map(|(end, _)| &cgroup[..end])
}

/// A partition of another owner, where no second one can be.
fn obstacle(scene: &PlanContext, hierarchy: &Hierarchy, cgroup: &str) -> Option<Finding> {
    let foreign = ["owner", "owner_ancestor", "threaded"];
    if let Some(knob) = foreign.into_iter().find(|knob| scene.intent.with.contains_key(*knob)) {
        let message =
            format!("{knob} changes a cgroup that belongs to another program, which decides who and what is inside");
        let finding = Finding::error(FindingId::PARTITION_IN_PLACE, cgroup, message);
        return Some(finding.fix(format!("leave out {knob} or --in-place")));
    }
    let is_line = |other: &str| is_within(other, cgroup) || is_within(cgroup, other);
    let mut places = scene
        .in_force
        .iter()
        .filter_map(|other| Some((&other.name, other.in_place.as_deref()?)));
    if let Some((name, place)) = places.find(|(_, place)| is_line(place)) {
        let message =
            format!("the cgroup {place} is partition {name}, and {cgroup} would be another one in the same place");
        let finding = Finding::error(FindingId::PARTITION_IN_PLACE, cgroup, message);
        return Some(finding.fix(format!("undo it first: `quietcore undo --partition {name}`")));
    }
    let is_taken = |set: &&Partition| {
        let is_self = set.name == cgroup;
        let is_above = cgroups_above(cgroup).any(|above| set.name == above);
        let is_below = !is_self && is_within(&set.name, cgroup);
        let is_valid = matches!(set.partition.as_deref(), Some("isolated" | "root"));
        // With these CPUs it is this partition, planned again.
        let has_them = set.assigned_cpus().is_some_and(|cpus| scene.isolated().is_subset(cpus));
        let is_other = !scene.is_active && !has_them;
        is_valid && (is_above || is_below || is_self && is_other)
    };
    let set = hierarchy.sets.iter().find(is_taken)?;
    let message = format!(
        "the cgroup {} is a partition already, and {cgroup} would be another one in the same place",
        set.name
    );
    let fix = "undo that partition with the program that made it; or leave out --in-place";
    Some(Finding::error(FindingId::PARTITION_IN_PLACE, cgroup, message).fix(fix))
}
