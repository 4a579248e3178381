//! Shows threads on isolated CPUs: how often they run there, where else they may, and why they are there.

use super::Pane;
use crate::rates::{per_second, short};
use crate::row::{PaneRow, StyledText, Tone, name, piece};
use crate::{DisplayData, IsolatedThread, PresenceReason, ThreadRuntime, ViewState};
use machine::{CpuSet, MapEntries, OrderBy};
use std::cmp::Ordering;
use std::collections::BTreeMap;

pub(super) const PANE: Pane = Pane {
    name: "threads",
    what: "what ran last on these CPUs or may run nowhere else; runs and time on all CPUs",
    sorts: &["runs", "place", "CPU", "name"],
    head,
    rows,
    empty: "no thread uses these CPUs, or they could not be read",
};

fn head(_: &DisplayData, _: usize) -> String {
    format!(
        "{:>7} {:>6}  {:6} {:>4} {:16} {:8} {:8} {:>8}",
        "runs/s", "busy", "place", "CPU", "name", "allowed", "policy", "tid"
    )
}

/// The class of a thread on an isolated CPU, named like the classes of interruptions.
pub(super) fn class(place: PresenceReason) -> &'static str {
    match place {
        PresenceReason::Stray => "another program ran",
        PresenceReason::Kernel | PresenceReason::Fixed => "kernel thread ran",
        PresenceReason::Inside => "its own thread ran",
    }
}

fn place(place: PresenceReason) -> (&'static str, Tone) {
    match place {
        PresenceReason::Stray => ("STRAY", Tone::Bad),
        PresenceReason::Kernel => ("kernel", Tone::Warning),
        PresenceReason::Fixed => ("fixed", Tone::Quiet),
        PresenceReason::Inside => ("inside", Tone::Good),
    }
}

fn rows<'a>(now: &'a DisplayData<'a>, view: &ViewState, sort: usize, _: usize) -> Vec<PaneRow<'a>> {
    let scope = now.scope(view.scope);
    let ran: BTreeMap<u32, ThreadRuntime> = now.ran().iter().map(|one| (one.tid, *one)).into_map();
    let touches = |thread: &&IsolatedThread| {
        let on = thread.cpu.is_some_and(|cpu| scope.contains(cpu));
        on || thread
            .allowed
            .as_ref()
            .is_some_and(|allowed| !allowed.is_empty() && allowed.is_subset(&scope))
    };
    let mut found: Vec<(&IsolatedThread, Option<ThreadRuntime>)> = now
        .scene
        .threads
        .iter()
        .filter(touches)
        .map(|thread| (thread, ran.get(&thread.tid).copied()))
        .collect();
    let times = |one: &Option<ThreadRuntime>| one.map_or(0, |one| one.times);
    found.order_by(|(a, first), (b, second)| {
        let order = match sort {
            1 => a.place.cmp(&b.place),
            2 => a.cpu.cmp(&b.cpu),
            3 => a.comm.cmp(&b.comm),
            _ => Ordering::Equal,
        };
        let order = order.then_with(|| times(second).cmp(&times(first)));
        order.then_with(|| (a.place, a.tid).cmp(&(b.place, b.tid)))
    });
    found.into_iter().map(|(thread, one)| row(now, thread, one)).collect()
}

fn row<'a>(now: &'a DisplayData<'a>, thread: &'a IsolatedThread, ran: Option<ThreadRuntime>) -> PaneRow<'a> {
    PaneRow::new(thread.tid.to_string(), thread.cpu, move || pieces(now, thread, ran))
}

fn pieces(now: &DisplayData, thread: &IsolatedThread, ran: Option<ThreadRuntime>) -> StyledText {
    let (word, tone) = place(thread.place);
    let runs = ran.and_then(|one| now.rate(one.times));
    let busy = ran.and_then(|one| per_second(one.ran_ns, now.duration_ns()));
    let busy = busy.map_or("-".to_owned(), |ns| format!("{:.1}%", (ns / 1e7).min(100.0)));
    let cpu = thread.cpu.map_or("-".to_owned(), |cpu| cpu.0.to_string());
    let allowed = thread.allowed.as_ref().map_or("-".to_owned(), CpuSet::to_string);
    let policy = format!(" {} {:>8}", name(&thread.policy, 8), thread.tid);
    vec![
        piece(format!("{:>7} {busy:>6}", short(runs)), Tone::Plain),
        piece(format!("  {word:6}"), tone),
        piece(format!(" {cpu:>4} {} ", name(&thread.comm, 16)), Tone::Plain),
        piece(name(&allowed, 8), Tone::Plain),
        piece(policy, Tone::Quiet),
    ]
}
