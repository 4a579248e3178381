//! Files of the kernel that hold one mask of CPUs: the isolated ones are taken out of it.

use crate::{Action, Change, ChangeKind, Compare, OnRefusal, Scene, Undo};
use machine::CpuSet;

/// One file with a mask.
pub(super) struct MaskFile<'a> {
    /// Name of the knob, which is the change's too.
    pub knob: &'a str,
    /// The file.
    pub path: &'a str,
    /// Because.
    pub why: &'a str,
}

/// The change that takes the isolated CPUs out of a mask, or `None` where they are not in it (or where the machine
/// does not tell). A mask that would become empty gets the housekeeping CPUs.
pub(super) fn without_isolated(scene: &Scene, now: Option<&CpuSet>, file: &MaskFile) -> Option<Change> {
    let now = now.filter(|now| now.intersects(scene.isolated()))?;
    let rest = now.minus(scene.isolated());
    let rest = if rest.is_empty() {
        &scene.housekeeping
    } else {
        &rest
    };
    let width = scene
        .machine
        .topology
        .possible
        .as_ref()
        .and_then(CpuSet::last)
        .map_or(1, |cpu| cpu.0 + 1);
    Some(Change {
        id: file.knob.to_owned(),
        target: file.path.to_owned(),
        kind: ChangeKind::Runtime,
        before: Some(now.to_mask(width)),
        after: rest.to_mask(width),
        why: file.why.to_owned(),
        undo: "write the former mask".to_owned(),
        action: Action::Write {
            path: file.path.to_owned(),
            value: rest.to_mask(width),
            compare: Compare::Mask,
            on_refusal: OnRefusal::Report,
            undo: Undo::Restore,
        },
    })
}
