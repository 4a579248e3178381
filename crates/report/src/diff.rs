//! Formats `diff`: what changed, grouped by importance for the isolated CPUs.

use crate::KnobDetail;
use crate::style::{COLUMNS, Style, TextRole, counted, safe, wrap};
use plan::diff::{Diff, MachineDifference};
use plan::{FindingId, Level};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The schema of the document.
pub const DIFF_SCHEMA: &str = "quietcore.diff/1";

#[derive(Serialize)]
struct DiffDocument<'a> {
    schema: &'static str,
    #[serde(flatten)]
    diff: &'a Diff,
}

/// Writes the JSON document `quietcore.diff/1`.
///
/// # Errors
/// Errors of `out`.
pub fn diff_json(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    let document = DiffDocument {
        schema: DIFF_SCHEMA,
        diff,
    };
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// Changes of one sort that are printed; the rest is only counted.
const MAX_PER_SORT: usize = 4;

/// Formats a comparison of two machines for a terminal.
#[must_use]
pub fn diff_text(diff: &Diff, length: KnobDetail, style: Style) -> String {
    let mut text = String::new();
    if !diff.different_machines.is_empty() {
        let head = "These are probably two different machines:";
        let _ = writeln!(text, "{}", style.paint(TextRole::Bad, head));
        for why in &diff.different_machines {
            let _ = writeln!(text, "  {}", wrap(&safe(why), 2, COLUMNS));
        }
        text.push('\n');
    }
    let isolated = if diff.isolated.is_empty() {
        "No CPU is isolated in either; --cpus names those that matter".to_owned()
    } else {
        format!("Isolated: CPU {}", diff.isolated)
    };
    let _ = writeln!(text, "{}", wrap(&isolated, 0, COLUMNS));
    if diff.changes.is_empty() {
        let _ = writeln!(text, "Nothing changed that could matter.");
        return text;
    }
    let groups = [
        (
            Level::Error,
            "Reaches the isolated CPUs, or takes isolation away",
            TextRole::Bad,
        ),
        (Level::Warning, "May matter to them", TextRole::Warning),
        (Level::Info, "Elsewhere", TextRole::Quiet),
    ];
    for (level, head, role) in groups {
        let of_level = || diff.changes.iter().filter(|change| change.level == level);
        let count = of_level().count();
        if count == 0 {
            continue;
        }
        let head = format!("{head}: {}", counted(count, "change"));
        let _ = writeln!(text, "\n{}", style.paint(role, &head));
        let mut ids: Vec<FindingId> = Vec::new();
        for change in of_level() {
            if !ids.contains(&change.id) {
                ids.push(change.id);
            }
        }
        for id in ids {
            let alike: Vec<&MachineDifference> = of_level().filter(|change| change.id == id).collect();
            sort(&mut text, &alike, length);
        }
    }
    text
}

fn sort(text: &mut String, alike: &[&MachineDifference], length: KnobDetail) {
    let shown = match length {
        KnobDetail::Whole => alike.len(),
        // Omitting one line would save nothing, because a line must say so.
        KnobDetail::Short if alike.len() == MAX_PER_SORT + 1 => alike.len(),
        KnobDetail::Short => MAX_PER_SORT,
    };
    for change in alike.iter().take(shown) {
        let _ = writeln!(text, "  {}", wrap(&safe(&change.message), 4, COLUMNS));
    }
    if alike.len() > shown {
        let _ = writeln!(
            text,
            "  and {} more of this sort (-v shows all of them)",
            alike.len() - shown
        );
    }
}
