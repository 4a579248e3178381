//! Plans changes to kernel files that hold one set of CPUs: the isolated ones are removed from it.

use super::value_file::{ValueFile, change};
use super::{Knob, Presence};
use crate::{Change, Plan, PlanContext, ReadbackComparison};
use machine::CpuSet;

/// One file with a set of CPUs.
pub(super) struct MaskFile<'a> {
    /// The knob that it belongs to.
    pub knob: &'a Knob,
    /// Which of several files of the knob; empty for the only one.
    pub part: &'a str,
    /// The file.
    pub path: &'a str,
    /// The reason.
    pub why: &'a str,
}

/// The change that removes the isolated CPUs from a set; `None` if the set does not contain them or is unknown. A set
/// that would become empty gets the housekeeping CPUs.
pub(super) fn without_isolated(scene: &PlanContext, now: Option<&CpuSet>, file: &MaskFile) -> Option<Change> {
    let now = now.filter(|now| now.intersects(scene.isolated()))?;
    let rest = now.minus(scene.isolated());
    let rest = if rest.is_empty() { &scene.housekeeping } else { &rest };
    let text: fn(&CpuSet, u32) -> String = match file.knob.compare {
        ReadbackComparison::Mask => CpuSet::to_mask,
        _ => |set, _| set.to_string(),
    };
    let width = scene
        .machine
        .topology
        .possible
        .as_ref()
        .and_then(CpuSet::last)
        .map_or(1, |cpu| cpu.0 + 1);
    let value = text(rest, width);
    let value = ValueFile {
        knob: file.knob,
        part: file.part,
        path: file.path,
        value: &value,
        why: file.why,
    };
    Some(change(&value, &text(now, width)))
}

/// As [`without_isolated`], with the set read from the settings.
pub(super) fn narrow(scene: &PlanContext, plan: &mut Plan, file: &MaskFile) -> Presence {
    let Some(text) = scene.settings.get(file.path) else {
        return Presence::Absent;
    };
    let now = file.knob.compare.cpus(text);
    plan.changes.extend(without_isolated(scene, now.as_ref(), file));
    Presence::Here
}
