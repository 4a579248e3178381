//! Shows the causes of interruptions: every interrupt line, IPI and softirq that the counters name, and every thread that ran.

use super::Pane;
use crate::rates::short;
use crate::row::{Row, Tone, name, piece};
use crate::{Now, Thread, View};
use machine::CpuSet;
use observe::Counted;
use std::collections::BTreeMap;

pub(super) const PANE: Pane = Pane {
    name: "culprits",
    what: "who interrupts: interrupt lines, IPIs, softirqs, threads",
    sorts: &["rate", "class", "name"],
    head,
    rows,
    empty: "nothing was counted in this moment",
};

fn head(_: &Now, width: usize) -> String {
    let who = room(width);
    format!("{:>7}  {:who$} {:8} class", "per s", "who", "CPUs")
}

/// The width of the culprit's name.
fn room(width: usize) -> usize {
    width.saturating_sub(42).clamp(16, 60)
}

struct Culprit {
    class: &'static str,
    who: String,
    count: u64,
    cpus: CpuSet,
}

fn rows<'a>(now: &'a Now<'a>, view: &View, sort: usize, width: usize) -> Vec<Row<'a>> {
    let scope = now.scope(view.scope);
    let mut found: BTreeMap<String, Culprit> = BTreeMap::new();
    let cpus = now
        .last()
        .map(|moment| moment.activity.cpus.as_slice())
        .unwrap_or_default();
    for one in cpus.iter().filter(|one| scope.contains(one.cpu)) {
        let counted = one
            .interrupts
            .iter()
            .map(|line| (line, ""))
            .chain(one.softirqs.iter().map(|line| (line, "softirq ")));
        for (line, kind) in counted {
            let culprit = found
                .entry(format!("{kind}{}", line.name))
                .or_insert_with(|| Culprit {
                    class: line.class.row().name,
                    who: who(line, kind),
                    count: 0,
                    cpus: CpuSet::new(),
                });
            culprit.count = culprit.count.saturating_add(line.count);
            culprit.cpus.insert(one.cpu);
        }
    }
    threads(now, &scope, &mut found);
    let mut found: Vec<(String, Culprit)> = found.into_iter().collect();
    match sort {
        1 => found.sort_by(|(_, a), (_, b)| a.class.cmp(b.class).then(b.count.cmp(&a.count))),
        2 => found.sort_by(|(_, a), (_, b)| a.who.cmp(&b.who)),
        _ => found.sort_by_key(|(_, one)| std::cmp::Reverse(one.count)),
    }
    let row = |(key, one): (String, Culprit)| {
        let cpu = if one.cpus.len() == 1 {
            one.cpus.first()
        } else {
            None
        };
        Row::new(key, cpu, move || {
            vec![
                piece(format!("{:>7}", short(now.rate(one.count))), Tone::Plain),
                piece(format!("  {}", name(&one.who, room(width))), Tone::Plain),
                piece(format!(" {} ", name(&one.cpus.to_string(), 8)), Tone::Quiet),
                piece(one.class, Tone::Plain),
            ]
        })
    };
    found.into_iter().map(row).collect()
}

fn who(line: &Counted, kind: &str) -> String {
    if line.name.parse::<u32>().is_ok() {
        return format!("irq {} {}", line.name, line.what);
    }
    if line.what.is_empty() {
        return format!("{kind}{}", line.name);
    }
    format!("{kind}{} {}", line.name, line.what)
}

/// Only for threads that may run nowhere else is it known where they ran.
fn threads(now: &Now, scope: &CpuSet, found: &mut BTreeMap<String, Culprit>) {
    let ran = now.last().map(|moment| moment.ran.as_slice()).unwrap_or_default();
    let known = now.scene.threads.iter();
    let known: BTreeMap<u32, &Thread> = known.map(|thread| (thread.tid, thread)).collect();
    for one in ran.iter().filter(|one| one.times > 0) {
        let Some(thread) = known.get(&one.tid) else {
            continue;
        };
        let Some(allowed) = thread.allowed.as_ref().filter(|allowed| allowed.is_subset(scope)) else {
            continue;
        };
        let culprit = Culprit {
            class: super::threads::class(thread.place),
            who: format!("{} ({})", thread.comm, thread.tid),
            count: one.times,
            cpus: allowed.clone(),
        };
        found.insert(format!("thread {}", one.tid), culprit);
    }
}
