//! Shows the causes of interruptions: every interrupt line, IPI and softirq that the counters name, and every thread that ran.

use super::Pane;
use crate::rates::short;
use crate::row::{PaneRow, Tone, name, piece};
use crate::{DisplayData, IsolatedThread, ViewState};
use machine::{CpuSet, MapEntries, OrderBy};
use observe::CounterIncrease;
use std::collections::BTreeMap;

pub(super) const PANE: Pane = Pane {
    name: "culprits",
    what: "what interrupts: interrupt lines, IPIs, softirqs, threads",
    sorts: &["rate", "class", "name"],
    head,
    rows,
    empty: "nothing was counted in this sample",
};

fn head(_: &DisplayData, width: usize) -> String {
    let name_width = room(width);
    format!("{:>7}  {:name_width$} {:8} class", "per s", "interruption", "CPUs")
}

/// The width of the culprit's name.
fn room(width: usize) -> usize {
    width.saturating_sub(42).clamp(16, 60)
}

struct CulpritRow {
    class: &'static str,
    name: String,
    count: u64,
    cpus: CpuSet,
}

fn rows<'a>(now: &'a DisplayData<'a>, view: &ViewState, sort: usize, width: usize) -> Vec<PaneRow<'a>> {
    let scope = now.scope(view.scope);
    let mut found: BTreeMap<String, CulpritRow> = BTreeMap::new();
    for one in now.activities().iter().filter(|one| scope.contains(one.cpu)) {
        let counted = one
            .interrupts
            .iter()
            .map(|line| (line, ""))
            .chain(one.softirqs.iter().map(|line| (line, "softirq ")));
        for (line, kind) in counted {
            let culprit = found
                .entry(format!("{kind}{}", line.name))
                .or_insert_with(|| CulpritRow {
                    class: line.class.row().name,
                    name: culprit_name(line, kind),
                    count: 0,
                    cpus: CpuSet::new(),
                });
            culprit.count = culprit.count.saturating_add(line.count);
            culprit.cpus.insert(one.cpu);
        }
    }
    threads(now, &scope, &mut found);
    let mut found: Vec<(String, CulpritRow)> = found.into_iter().collect();
    found.order_by(|(_, a), (_, b)| match sort {
        1 => a.class.cmp(b.class).then(b.count.cmp(&a.count)),
        2 => a.name.cmp(&b.name),
        _ => b.count.cmp(&a.count),
    });
    let row = |(key, one): (String, CulpritRow)| {
        let cpu = if one.cpus.len() == 1 { one.cpus.first() } else { None };
        PaneRow::new(key, cpu, move || {
            vec![
                piece(format!("{:>7}", short(now.rate(one.count))), Tone::Plain),
                piece(format!("  {}", name(&one.name, room(width))), Tone::Plain),
                piece(format!(" {} ", name(&one.cpus.to_string(), 8)), Tone::Quiet),
                piece(one.class, Tone::Plain),
            ]
        })
    };
    found.into_iter().map(row).collect()
}

fn culprit_name(line: &CounterIncrease, kind: &str) -> String {
    if line.name.parse::<u32>().is_ok() {
        return format!("irq {} {}", line.name, line.what);
    }
    if line.what.is_empty() {
        return format!("{kind}{}", line.name);
    }
    format!("{kind}{} {}", line.name, line.what)
}

/// Only for threads that may run nowhere else is it known where they ran.
fn threads(now: &DisplayData, scope: &CpuSet, found: &mut BTreeMap<String, CulpritRow>) {
    let known = now.scene.threads.iter();
    let known: BTreeMap<u32, &IsolatedThread> = known.map(|thread| (thread.tid, thread)).into_map();
    for one in now.ran().iter().filter(|one| one.times > 0) {
        let Some(thread) = known.get(&one.tid) else {
            continue;
        };
        let Some(allowed) = thread.allowed.as_ref().filter(|allowed| allowed.is_subset(scope)) else {
            continue;
        };
        let culprit = CulpritRow {
            class: super::threads::class(thread.place),
            name: format!("{} ({})", thread.comm, thread.tid),
            count: one.times,
            cpus: allowed.clone(),
        };
        found.insert(format!("thread {}", one.tid), culprit);
    }
}
