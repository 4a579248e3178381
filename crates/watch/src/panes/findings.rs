//! Shows the findings of `check`, the worst first; `f` shows evidence and fix of one.

use super::Pane;
use crate::row::{PaneRow, Tone, name, piece};
use crate::{DisplayData, ObservedFinding, ViewState};
use machine::OrderBy;
use plan::Level;
use std::cmp::Ordering;

pub(super) const PANE: Pane = Pane {
    name: "findings",
    what: "what `check` finds, checked continuously; f shows the fix",
    sorts: &["level", "layer", "id"],
    head,
    rows,
    empty: "no findings",
};

fn head(_: &DisplayData, _: usize) -> String {
    format!("{:8} {:24} what", "level", "id")
}

/// The key that identifies a finding across moments.
pub(crate) fn key(seen: &ObservedFinding) -> String {
    format!("{}:{}", seen.id, seen.subject)
}

/// The name of a level.
pub(crate) fn level(level: Level) -> (&'static str, Tone) {
    match level {
        Level::Error => ("ERROR", Tone::Bad),
        Level::Warning => ("warning", Tone::Warning),
        Level::Info => ("note", Tone::Quiet),
    }
}

fn rows<'a>(now: &'a DisplayData<'a>, _: &ViewState, sort: usize, width: usize) -> Vec<PaneRow<'a>> {
    let mut found: Vec<&ObservedFinding> = now.scene.findings.iter().collect();
    found.order_by(|a, b| {
        let order = match sort {
            1 => a.layer.cmp(&b.layer),
            2 => a.id.cmp(&b.id),
            _ => Ordering::Equal,
        };
        order.then(b.level.cmp(&a.level))
    });
    let row = |seen: &'a ObservedFinding| {
        let (word, tone) = level(seen.level);
        let cpu = if seen.cpus.len() == 1 { seen.cpus.first() } else { None };
        PaneRow::new(key(seen), cpu, move || {
            let what = format!("{}: {}", seen.subject, seen.message);
            vec![
                piece(format!("{word:8} "), tone),
                piece(format!("{} ", name(&seen.id, 24)), Tone::Plain),
                piece(name(&what, width.saturating_sub(34)), Tone::Plain),
            ]
        })
    };
    found.into_iter().map(row).collect()
}
