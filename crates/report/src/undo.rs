//! Renders what an undo did: what is active now, what was left alone, and which files were removed.

use apply::installed::InstalledPath;
use apply::{Force, UndoOutcome};

/// What an undo leaves active, and the files that it removed.
#[derive(Default)]
pub struct UndoRemainder {
    /// Names of the partitions that are still active.
    pub active: Vec<String>,
    /// The files.
    pub removed: Vec<InstalledPath>,
}

/// The verdict, what needs attention, the changes that were undone (`entries`), and the files.
#[must_use]
pub fn undo_text(undone: &UndoOutcome, entries: &str, force: Force, remaining: &UndoRemainder) -> String {
    let files: String = remaining
        .removed
        .iter()
        .map(|one| format!("{}  {}\n", one.path, one.outcome))
        .collect();
    let verdict = undo_verdict(undone, force, remaining);
    if !undone.was_in_force && undone.equal() && !remaining.active.is_empty() {
        return verdict;
    }
    let mut attention = String::new();
    for note in &undone.notes {
        attention.push_str(&format!("note: {note}\n"));
    }
    let label = match is_kept(undone, force) {
        true => "kept",
        false => "left alone",
    };
    for line in undone.left_alone() {
        attention.push_str(&format!("{label}: {line}\n"));
    }
    for line in &undone.failed {
        attention.push_str(&format!("not undone: {line}\n"));
    }
    let sections = [verdict, attention, format!("{entries}{files}")];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    sections.join("\n")
}

/// Whether the user wants to keep all that other programs changed, and nothing else remains.
fn is_kept(undone: &UndoOutcome, force: Force) -> bool {
    force == Force::Keep && !undone.is_open(force)
}

/// What is active now, as one line.
#[must_use]
pub fn undo_verdict(undone: &UndoOutcome, force: Force, remaining: &UndoRemainder) -> String {
    let left = remaining.active.join(", ");
    if !undone.was_in_force && undone.equal() {
        return match (left.is_empty(), remaining.removed.is_empty()) {
            (true, true) => "Nothing is active; nothing to undo.\n".to_owned(),
            (true, false) => "Nothing was active; files that quietcore left were removed or restored.\n".to_owned(),
            (false, _) => format!("Nothing of that was active; still active: {left}.\n"),
        };
    }
    if undone.equal() && !left.is_empty() {
        let names = undone.undone_partitions.join(", ");
        return format!("Partition {names} is undone; still active: {left}.\n");
    }
    let line = match (undone.equal(), undone.notes.len()) {
        (true, 0) => "Everything is as it was before.\n",
        (true, 1) => "Everything is as it was before, except for one note.\n",
        (true, notes) => return format!("Everything is as it was before, except for {notes} notes.\n"),
        (false, _) if is_kept(undone, force) => {
            "What other programs changed is kept. Everything else is as it was before.\n"
        }
        (false, _) if !undone.is_open(Force::No) => "Everything else is as it was before.\n",
        (false, _) => {
            "Not everything is as before. `quietcore undo --force` restores it, `undo --skip-changed` leaves it.\n"
        }
    };
    match left.as_str() {
        "" => line.to_owned(),
        left => format!("{} Still active: {left}.\n", line.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_line_agrees_with_the_details() {
        let undone = |notes: &[&str], tasks: &[&str], failed: &[&str]| UndoOutcome {
            was_in_force: true,
            notes: notes.iter().map(ToString::to_string).collect(),
            tasks: tasks.iter().map(ToString::to_string).collect(),
            failed: failed.iter().map(ToString::to_string).collect(),
            ..UndoOutcome::default()
        };
        for (undone, end) in [
            (undone(&[], &[], &[]), "Everything is as it was before.\n"),
            (undone(&["a worker is wider"], &[], &[]), "except for one note.\n"),
            (
                undone(&[], &["a task is elsewhere"], &[]),
                "Everything else is as it was before.\n",
            ),
            (
                undone(&[], &["a task is elsewhere"], &["a file stays"]),
                "`undo --skip-changed` leaves it.\n",
            ),
            (
                undone(&["a worker is wider"], &[], &["a file stays"]),
                "`undo --skip-changed` leaves it.\n",
            ),
        ] {
            let message = undo_text(&undone, "", Force::No, &UndoRemainder::default());
            assert!(message.lines().next().unwrap().ends_with(end.trim_end()), "{message}");
            let quiet = undo_verdict(&undone, Force::No, &UndoRemainder::default());
            assert!(message.starts_with(&quiet) && quiet.lines().count() == 1, "{quiet}");
        }
    }

    #[test]
    fn removed_files_are_something_that_was_undone() {
        let removed = apply::installed::InstalledPath {
            path: "/etc/quietcore.toml.bak".to_owned(),
            outcome: "kept",
        };
        let mut remainder = UndoRemainder::default();
        let line = |remainder: &UndoRemainder| undo_verdict(&UndoOutcome::default(), Force::No, remainder);
        assert_eq!(line(&remainder), "Nothing is active; nothing to undo.\n");
        remainder.removed.push(removed);
        assert_eq!(
            line(&remainder),
            "Nothing was active; files that quietcore left were removed or restored.\n"
        );
        remainder.active.push("net".to_owned());
        assert_eq!(line(&remainder), "Nothing of that was active; still active: net.\n");
        let drifted = UndoOutcome {
            was_in_force: true,
            tasks: vec!["a task is elsewhere".to_owned()],
            ..UndoOutcome::default()
        };
        assert_eq!(
            undo_verdict(&drifted, Force::No, &remainder),
            "Everything else is as it was before. Still active: net.\n"
        );
    }

    #[test]
    fn what_is_kept_is_named_and_nothing_more_is_asked() {
        let undone = UndoOutcome {
            was_in_force: true,
            drift: vec!["/proc/irq/24/smp_affinity_list: `1` now".to_owned()],
            ..UndoOutcome::default()
        };
        let message = undo_text(&undone, "", Force::Keep, &UndoRemainder::default());
        assert!(message.contains("\n\nkept: /proc/irq/24"), "{message}");
        assert!(
            message.contains("is kept") && !message.contains("Not everything"),
            "{message}"
        );
        let message = undo_text(&undone, "", Force::No, &UndoRemainder::default());
        assert!(
            message.contains("left alone: /proc") && message.contains("`undo --skip-changed` leaves it"),
            "{message}"
        );
    }
}
