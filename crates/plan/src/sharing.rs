//! Finds the cpusets of other owners whose tasks may still run on the isolated CPUs after a plan.
//!
//! A plan narrows the cpusets of other owners, but leaves a set that has no other CPU. A headline that promises
//! exclusive CPUs must mention these sets.
//!
//! Sources: on v1 a set runs on its own list, and `cpuset1_validate_change` refuses a parent that is smaller than its
//! child. On v2 a set runs on the part of its list that the parent has; if that is empty, on all CPUs of the parent
//! (`compute_effective_cpumask` and its callers in `kernel/cgroup/cpuset.c`).

use crate::{Action, Change, PlanContext};
use machine::{CpuSet, Hierarchy, Partition, Version};

/// Paths, below the cpuset mount, of the sets of other owners whose tasks may run on the isolated CPUs after these
/// changes. Empty without a cpuset controller.
pub(crate) fn shared_with(scene: &PlanContext, changes: &[Change]) -> Vec<String> {
    let Some(hierarchy) = scene.hierarchy() else {
        return Vec::new();
    };
    // A partition with an exclusive list takes its CPUs from every other set.
    if hierarchy.version == Version::V2 && scene.intent.in_place.is_some() {
        return Vec::new();
    }
    let holds = |set: &&Partition| {
        set.name != "/"
            && !scene.is_or_will_be_ours(&set.name)
            && set.cpus.as_ref().is_some_and(|cpus| cpus.intersects(scene.isolated()))
    };
    let sets = hierarchy.sets.iter().filter(holds);
    sets.filter(|set| allowed(scene, hierarchy, changes, &set.name).intersects(scene.isolated()))
        .map(|set| set.name.clone())
        .collect()
}

/// The CPUs on which the tasks of a set may run after these changes.
pub(crate) fn allowed(scene: &PlanContext, hierarchy: &Hierarchy, changes: &[Change], name: &str) -> CpuSet {
    let list = |name: &str| {
        let set = hierarchy.sets.iter().find(|set| set.name == name)?;
        written(hierarchy, changes, name).or_else(|| set.cpus.clone())
    };
    if hierarchy.version == Version::V1 && !hierarchy.v2_mode {
        return list(name).unwrap_or_default();
    }
    // A partition takes its CPUs from the root, unless a sibling set holds them too.
    let top = name.match_indices('/').nth(1).map_or(name, |(at, _)| &name[..at]);
    let beside = list(top).unwrap_or_default();
    let mut allowed = scene.housekeeping.or(&beside.and(scene.isolated()));
    let ends = name.match_indices('/').skip(1).map(|(at, _)| at);
    for end in ends.chain([name.len()]) {
        let own = list(&name[..end]).unwrap_or_default().and(&allowed);
        if !own.is_empty() {
            allowed = own;
        }
    }
    allowed
}

/// The list that these changes write to a set.
fn written(hierarchy: &Hierarchy, changes: &[Change], name: &str) -> Option<CpuSet> {
    let file = format!("{}{name}/{}cpus", hierarchy.mount, hierarchy.prefix);
    changes.iter().rev().find_map(|change| match &change.action {
        Action::Write { path, value, .. } if *path == file => CpuSet::parse_list(value).ok(),
        _ => None,
    })
}
