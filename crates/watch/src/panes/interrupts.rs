//! Shows interrupts that may arrive on isolated CPUs, or did: their rate there, and their affinity.

use super::Pane;
use crate::rates::short;
use crate::row::{PaneRow, StyledText, Tone, name, piece};
use crate::{DisplayData, ViewState, WatchedInterrupt};
use machine::CpuSet;
use machine::OrderBy;
use std::collections::BTreeMap;

pub(super) const PANE: Pane = Pane {
    name: "interrupts",
    what: "device interrupts that may arrive on these CPUs, or did",
    sorts: &["rate", "number", "name"],
    head,
    rows,
    empty: "no interrupt may arrive on these CPUs, or they could not be read",
};

fn head(_: &DisplayData, width: usize) -> String {
    let room = room(width);
    format!(
        "{:>7} {:>6}  {:room$} {:8} {:9}",
        "per s", "irq", "name", "allowed", "effective"
    )
}

/// The width of the device name.
fn room(width: usize) -> usize {
    width.saturating_sub(45).clamp(12, 60)
}

fn rows<'a>(now: &'a DisplayData<'a>, view: &ViewState, sort: usize, width: usize) -> Vec<PaneRow<'a>> {
    let scope = now.scope(view.scope);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let here = now.activities().iter().filter(|one| scope.contains(one.cpu));
    for line in here.flat_map(|one| &one.interrupts) {
        let count = counts.entry(line.name.as_str()).or_default();
        *count = count.saturating_add(line.count);
    }
    let count = |irq: u32| counts.get(irq.to_string().as_str()).copied().unwrap_or(0);
    let touches = |one: &WatchedInterrupt| {
        let sets = [&one.affinity, &one.effective];
        sets.into_iter().flatten().any(|set| set.intersects(&scope))
    };
    let counted = now.scene.interrupts.iter().map(|one| (one, count(one.irq)));
    let mut found: Vec<(&WatchedInterrupt, u64)> = counted.filter(|(one, count)| *count > 0 || touches(one)).collect();
    found.order_by(|(a, first), (b, second)| match sort {
        1 => a.irq.cmp(&b.irq),
        2 => a.name.cmp(&b.name),
        _ => second.cmp(first).then(a.irq.cmp(&b.irq)),
    });
    found
        .into_iter()
        .map(|(one, count)| row(now, one, count, width))
        .collect()
}

fn row<'a>(now: &'a DisplayData<'a>, one: &'a WatchedInterrupt, count: u64, width: usize) -> PaneRow<'a> {
    let cpu = one
        .effective
        .as_ref()
        .filter(|set| set.len() == 1)
        .and_then(CpuSet::first);
    PaneRow::new(one.irq.to_string(), cpu, move || pieces(now, one, count, width))
}

fn pieces(now: &DisplayData, one: &WatchedInterrupt, count: u64, width: usize) -> StyledText {
    let set = |set: Option<&CpuSet>| set.map_or("-".to_owned(), CpuSet::to_string);
    let managed = match one.managed {
        Some(true) => "managed",
        _ if one.is_fixed => "fixed",
        Some(false) => "",
        None => "?",
    };
    let arrives = one
        .effective
        .as_ref()
        .is_some_and(|set| set.intersects(&now.scene.isolated));
    let rate = format!("{:>7} {:>6}  ", short(now.rate(count)), one.irq);
    let effective = format!(" {}", name(&set(one.effective.as_ref()), 9));
    vec![
        piece(rate, Tone::Plain),
        piece(name(&one.name, room(width)), Tone::Plain),
        piece(format!(" {}", name(&set(one.affinity.as_ref()), 8)), Tone::Quiet),
        piece(effective, if arrives { Tone::Warning } else { Tone::Plain }),
        piece(format!(" {managed}"), Tone::Quiet),
    ]
}
