//! Formats the changes of a plan, one knob after the other: before and after, the reason, and how each is undone.

use super::KnobDetail;
use crate::style::{COLUMNS, Style, TextRole, counted, cut, safe, wrap};
use plan::{Action, Change, ChangeKind, KNOBS, UndoMethod};
use std::fmt::Write as _;

/// The heading above the changes of a knob.
pub(super) struct Title<'a> {
    pub(super) name: &'a str,
    pub(super) because: &'a str,
}

/// The changes of one knob.
pub(super) fn knob(text: &mut String, title: &Title, changes: &[&Change], length: KnobDetail, style: Style) {
    const MAX_LISTED: usize = 12;
    let Title { name, because } = *title;
    let title = safe(&name.replace('_', " "));
    let _ = writeln!(
        text,
        "\n{}  {}{because}",
        style.paint(TextRole::Head, &title),
        counted(changes.len(), "change")
    );
    if let Some(knob) = KNOBS.iter().find(|knob| knob.name == name) {
        let _ = writeln!(text, "  {}", style.paint(TextRole::Quiet, &wrap(knob.what, 2, COLUMNS)));
    }
    let shown = if length == KnobDetail::Whole {
        changes.len()
    } else {
        MAX_LISTED
    };
    let own_undo: Vec<&&Change> = changes.iter().filter(|change| !is_removed_with_set(change)).collect();
    let same_undo = own_undo
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.undo == b.undo));
    for change in changes.iter().take(shown) {
        one(text, change, style);
        if !same_undo && !is_removed_with_set(change) {
            let _ = writeln!(
                text,
                "      {}",
                style.paint(
                    TextRole::Quiet,
                    &wrap(&format!("undo: {}", safe(&change.undo)), 6, COLUMNS)
                )
            );
        }
        if change.kind == ChangeKind::Boot {
            let _ = writeln!(text, "      {}", style.paint(TextRole::Warning, "at the next boot"));
        }
    }
    if changes.len() > shown {
        let _ = writeln!(
            text,
            "  and {} more of the same kind (-v shows all of them, --json too)",
            changes.len() - shown
        );
    }
    if same_undo && let Some(first) = own_undo.first() {
        let _ = writeln!(
            text,
            "  {}",
            style.paint(
                TextRole::Quiet,
                &wrap(&format!("undo: {}", safe(&first.undo)), 2, COLUMNS)
            )
        );
    }
}

/// One change: two or three lines, or one for a file of a newly created cgroup.
fn one(text: &mut String, change: &Change, style: Style) {
    let why = safe(&change.why);
    if is_removed_with_set(change) {
        let file = change.target.rsplit('/').next().unwrap_or_default();
        let line = format!("{} <- {}", safe(file), value(&change.after));
        let _ = writeln!(text, "      {}", wrap(&format!("{line}  ({why})"), 9, COLUMNS));
        return;
    }
    let target = safe(&change.target);
    let step = match (&change.before, &change.action) {
        (_, Action::MakeSet { .. } | Action::StartSlice { .. } | Action::GiveFile { .. } | Action::BanCpus { .. }) => {
            value(&change.after)
        }
        (None, _) => format!("(unknown) -> {}", value(&change.after)),
        (Some(before), _) => format!("{} -> {}", value(before), value(&change.after)),
    };
    if target.chars().count() + step.chars().count() + 4 <= COLUMNS {
        let _ = writeln!(text, "  {target}  {step}");
    } else {
        let _ = writeln!(
            text,
            "  {}\n      {}",
            wrap(&target, 4, COLUMNS),
            wrap(&step, 9, COLUMNS)
        );
    }
    let _ = writeln!(
        text,
        "      {}",
        style.paint(TextRole::Quiet, &wrap(&format!("because {why}"), 6, COLUMNS))
    );
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
