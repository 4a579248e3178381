//! Formats the changes of a plan, one knob after the other: before and after, the reason, and how each is undone.

use crate::report_text::ReportText;
use crate::style::{COLUMNS, TextRole, counted, cut, safe};
use plan::{Action, Change, ChangeKind, KNOBS, UndoMethod};

/// The changes of one knob.
pub(super) fn knob(text: &mut ReportText, (name, because): (&str, &str), changes: &[&Change]) {
    let title = text.paint(TextRole::Head, &safe(&name.replace('_', " ")));
    writeln!(text, "\n{title}  {}{because}", counted(changes.len(), "change"));
    if let Some(knob) = KNOBS.iter().find(|knob| knob.name == name) {
        text.wrapped_as(TextRole::Quiet, 2, 2, knob.what);
    }
    let own_undo: Vec<&&Change> = changes.iter().filter(|change| !is_removed_with_set(change)).collect();
    let same_undo = own_undo
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.undo == b.undo));
    for change in changes {
        one(text, change);
        if !same_undo && !is_removed_with_set(change) {
            let undo = format!("undo: {}", safe(&change.undo));
            text.wrapped_as(TextRole::Quiet, 6, 6, &undo);
        }
        if change.kind == ChangeKind::Boot {
            text.wrapped_as(TextRole::Warning, 6, 6, "at the next boot");
        }
    }
    if same_undo && let Some(first) = own_undo.first() {
        let undo = format!("undo: {}", safe(&first.undo));
        text.wrapped_as(TextRole::Quiet, 2, 2, &undo);
    }
}

/// What all changes of a knob do to their files (`f -> 7`); `None` where they differ or the text is long.
pub(super) fn common_step(changes: &[&Change]) -> Option<String> {
    const WIDTH: usize = 34;
    let (first, rest) = changes.split_first()?;
    let is_same = |other: &&Change| (&other.before, &other.after) == (&first.before, &first.after);
    let step = step(first);
    (rest.iter().all(is_same) && step.chars().count() <= WIDTH).then_some(step)
}

/// A change's value before and after.
fn step(change: &Change) -> String {
    match (&change.before, &change.action) {
        (_, Action::MakeSet { .. } | Action::StartSlice { .. } | Action::GiveFile { .. } | Action::BanCpus { .. }) => {
            value(&change.after)
        }
        (None, _) => format!("(unknown) -> {}", value(&change.after)),
        (Some(before), _) => format!("{} -> {}", value(before), value(&change.after)),
    }
}

/// One change: two or three lines, or one for a file of a newly created cgroup.
fn one(text: &mut ReportText, change: &Change) {
    let why = safe(&change.why);
    if is_removed_with_set(change) {
        let file = change.target.rsplit('/').next().unwrap_or_default();
        let line = format!("{} <- {}  ({why})", safe(file), value(&change.after));
        text.wrapped(6, 9, &line);
        return;
    }
    let target = safe(&change.target);
    let step = step(change);
    if target.chars().count() + step.chars().count() + 4 <= COLUMNS {
        writeln!(text, "  {target}  {step}");
    } else {
        text.wrapped(2, 4, &target);
        text.wrapped(6, 9, &step);
    }
    text.wrapped_as(TextRole::Quiet, 6, 6, &format!("reason: {why}"));
}

/// Whether a change writes a file of a cgroup, and disappears together with it.
fn is_removed_with_set(change: &Change) -> bool {
    matches!(
        change.action,
        Action::Write {
            undo: UndoMethod::WithSet,
            ..
        } | Action::GiveFile {
            undo: UndoMethod::WithSet,
            ..
        }
    )
}

/// A value read from a file; an empty one is shown as such.
fn value(value: &str) -> String {
    let value = value.trim();
    if value.is_empty() {
        "(empty)".to_owned()
    } else {
        cut(&safe(value), 200)
    }
}
