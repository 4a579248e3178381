//! Plans changes to kernel files that hold one value, from the actual to the intended value.

use super::{Knob, Presence};
use crate::{Action, Change, ChangeKind, Plan, PlanContext, RefusalPolicy, UndoMethod};

/// One file with a value.
pub(super) struct ValueFile<'a> {
    /// The knob that it belongs to.
    pub knob: &'a Knob,
    /// Which of several files of the knob: a disk, a CPU; empty for the only one.
    pub part: &'a str,
    /// The file.
    pub path: &'a str,
    /// What it should hold.
    pub value: &'a str,
    /// The reason.
    pub why: &'a str,
}

/// Adds the change unless the file already holds the value.
pub(super) fn set(scene: &PlanContext, plan: &mut Plan, file: &ValueFile) -> Presence {
    let Some(now) = scene.settings.get(file.path) else {
        return Presence::Absent;
    };
    if !file.knob.compare.same(now, file.value) {
        plan.changes.push(change(file, now));
    }
    Presence::Here
}

/// As [`set`], for a knob with one file.
pub(super) fn set_text(scene: &PlanContext, plan: &mut Plan, knob: &Knob, path: &str, why: &str) -> Presence {
    let value = scene.value_of(knob);
    set(
        scene,
        plan,
        &ValueFile {
            knob,
            part: "",
            path,
            value,
            why,
        },
    )
}

/// Whether a value was explicitly requested, so that it is set whatever the current one is.
pub(super) fn is_requested(scene: &PlanContext, knob: &Knob) -> bool {
    scene.intent.with.get(knob.name).is_some_and(Option::is_some)
}

/// The change that writes a value.
pub(super) fn change(file: &ValueFile, now: &str) -> Change {
    let ValueFile {
        knob,
        part,
        path,
        value,
        why,
    } = *file;
    Change {
        id: match part {
            "" => knob.name.to_owned(),
            part => format!("{}/{part}", knob.name),
        },
        target: path.to_owned(),
        kind: ChangeKind::Runtime,
        before: Some(now.to_owned()),
        after: value.to_owned(),
        why: why.to_owned(),
        undo: "write the former value".to_owned(),
        action: Action::Write {
            path: path.to_owned(),
            value: value.to_owned(),
            compare: knob.compare,
            on_refusal: RefusalPolicy::Report,
            undo: UndoMethod::Restore,
        },
    }
}
