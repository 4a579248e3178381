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

/// The differences in one line.
#[must_use]
pub fn diff_verdict(diff: &Diff) -> String {
    let of_level = |level| diff.changes.iter().filter(|change| change.level == level).count();
    match (diff.changes.len(), of_level(Level::Error)) {
        (0, _) => "No relevant change.\n".to_owned(),
        (all, 0) => {
            let all = counted(all, "change");
            match of_level(Level::Warning) {
                0 => format!("{all}, none of which affects the isolated CPUs or removes isolation.\n"),
                may => format!("{all}, {may} of which may affect the isolated CPUs.\n"),
            }
        }
        (all, here) => {
            let all = counted(all, "change");
            format!("{all}, {here} of which affect the isolated CPUs or remove isolation.\n")
        }
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
        "No CPU is isolated in either of them; select the relevant CPUs with --cpus".to_owned()
    } else {
        format!("Isolated: CPU {}", diff.isolated)
    };
    text.wrapped(0, 0, &isolated);
    if diff.changes.is_empty() {
        writeln!(text, "No relevant change.");
    }
    let groups = [
        (
            Level::Error,
            "Affects the isolated CPUs, or removes isolation",
            TextRole::Bad,
        ),
        (Level::Warning, "May affect them", TextRole::Warning),
        (Level::Info, "Other changes", TextRole::Quiet),
    ];
    for (level, head, role) in groups {
        let of_level = || diff.changes.iter().filter(|change| change.level == level);
        let count = of_level().count();
        if count == 0 {
            continue;
        }
        let head = format!("{head}: {count}");
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
        writeln!(text, "  and {more} more of this kind (-v shows all of them)");
    }
}
