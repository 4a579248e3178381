//! Formats `diff`: what changed, grouped by importance for the isolated CPUs.

use crate::KnobDetail;
use crate::plan::SchemaDocument;
use crate::report_text::ReportText;
use crate::style::{Style, TextRole, counted, safe};
use plan::diff::{Diff, MachineDifference};
use plan::{FindingId, Level};
use serde::Serialize;

/// The schema of the document.
pub const DIFF_SCHEMA: &str = "quietcore.diff/1";

/// The JSON document `quietcore.diff/1`.
#[must_use]
pub fn diff_json<'a>(diff: &'a Diff) -> impl Serialize + 'a {
    SchemaDocument {
        schema: DIFF_SCHEMA,
        content: diff,
    }
}

/// Changes of one sort that are printed; the rest is only counted.
const MAX_PER_SORT: usize = 4;

/// Formats a comparison of two machines for a terminal.
#[must_use]
pub fn diff_text(diff: &Diff, length: KnobDetail, style: Style) -> String {
    let mut text = ReportText::new(style);
    if !diff.different_machines.is_empty() {
        text.painted(TextRole::Bad, "These are probably two different machines:");
        for why in &diff.different_machines {
            text.wrapped(2, 2, &safe(why));
        }
        writeln!(text);
    }
    let isolated = if diff.isolated.is_empty() {
        "No CPU is isolated in either; --cpus names those that matter".to_owned()
    } else {
        format!("Isolated: CPU {}", diff.isolated)
    };
    text.wrapped(0, 0, &isolated);
    if diff.changes.is_empty() {
        writeln!(text, "Nothing changed that could matter.");
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
        writeln!(text, "\n{}", style.paint(role, &head));
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
    text.into_string()
}

fn sort(text: &mut ReportText, alike: &[&MachineDifference], length: KnobDetail) {
    let shown = match length {
        KnobDetail::Whole => alike.len(),
        // Omitting one line would save nothing, because a line must say so.
        KnobDetail::Short if alike.len() == MAX_PER_SORT + 1 => alike.len(),
        KnobDetail::Short => MAX_PER_SORT,
    };
    for change in alike.iter().take(shown) {
        text.wrapped(2, 4, &safe(&change.message));
    }
    if alike.len() > shown {
        let more = alike.len() - shown;
        writeln!(text, "  and {more} more of this sort (-v shows all of them)");
    }
}
